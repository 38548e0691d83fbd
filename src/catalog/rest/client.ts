import { stringifyJson, type JsonObject } from '../../iceberg/json/lossless-json.ts'
import { createRestTokens } from './auth.ts'
import { restError } from './errors.ts'
import { exchange, type RestAnswer } from './exchange.ts'
import { type RestSettings, secretsOf } from './settings.ts'
import { type RestSigning, sendSigned, signingAdvice } from './signing.ts'
import { backOffMs } from '../../lib/back-off.ts'
import { sleep } from '../../lib/sleep.ts'

export interface RestLimits {
  /** Timeout of a read request, ms. */
  readonly readMs: number
  /** Timeout of a write request, ms: servers write files before they respond. */
  readonly changeMs: number
  /** Max size of a response with table metadata, and of all others. */
  readonly tableBytes: number
  readonly listBytes: number
  /** Retries of a read request when the server is busy. */
  readonly retries: number
  /** Max wait for a server's `Retry-After`, ms; also the max of our own waits. */
  readonly retryWaitMs: number
  /** Aborts all requests of the client. */
  readonly signal?: AbortSignal
}

const LIMITS: RestLimits = {
  readMs: 60_000,
  changeMs: 180_000,
  tableBytes: 256 * 2 ** 20,
  listBytes: 32 * 2 ** 20,
  retries: 3,
  retryWaitMs: 10_000,
}

/** Iceberg REST specification, parameter `data-access`; a configured header of this name replaces it. */
const DELEGATION = 'X-Iceberg-Access-Delegation'

export interface RestRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'DELETE'
  /** From the root of the origin, encoded, with its query: `/v1/config?warehouse=w`. */
  readonly path: string
  readonly body?: JsonObject
  /** Sends `If-None-Match`; 304 is then a valid response. */
  readonly entityTag?: string
  /** Asks for credentials for the files of the table. */
  readonly delegates?: boolean
  /** Whether the response contains table metadata. */
  readonly answersTable?: boolean
}

/**
 * Requests to one REST catalog, with credential and headers. Read requests are retried while the server is busy;
 * write requests only once after 401 or 419, when the server has certainly changed nothing. Errors: `RestError` for an
 * error response, `NoAnswerError`, `IO_FAILED` when there is no token.
 */
export interface RestClient {
  request(request: RestRequest): Promise<RestAnswer>
}

/** A client of the catalog that the settings name; the token never leaves its origin, as no redirect is followed. */
export function createRestClient(
  settings: RestSettings,
  limits: Partial<RestLimits> = {},
  lentSecrets: () => readonly string[] = () => [],
): RestClient {
  const bounds: RestLimits = { ...LIMITS, ...limits }
  const cut = bounds.signal === undefined ? {} : { signal: bounds.signal }
  const tokens = createRestTokens(settings.auth, cut)
  const { origin } = new URL(settings.uri)
  const { signing } = settings

  async function once(request: RestRequest, token: string | undefined): Promise<RestAnswer> {
    const { method, path, body, answersTable = false } = request
    const unsigned = {
      method,
      url: origin + path,
      headers: headersOf(settings, request, token),
      ...(body === undefined ? {} : { body: stringifyJson(body) }),
    }
    const send = (headers: Readonly<Record<string, string>>): Promise<RestAnswer> =>
      exchange({
        ...unsigned,
        headers,
        timeoutMs: isReading(request) ? bounds.readMs : bounds.changeMs,
        maxBytes: answersTable ? bounds.tableBytes : bounds.listBytes,
        ...cut,
      })
    return signing === undefined ? send(unsigned.headers) : sendSigned(signing, unsigned, send)
  }

  async function authenticated(request: RestRequest): Promise<RestAnswer> {
    const token = await tokens.current()
    const answer = await once(request, token)
    if (answer.status !== 401 && answer.status !== 419) return answer
    const other = await tokens.replace(token)
    return other === undefined ? answer : once(request, other)
  }

  async function persistent(request: RestRequest): Promise<RestAnswer> {
    for (let attempt = 0; ; attempt++) {
      const answer = await authenticated(request)
      const waitMs = isBusy(answer) && isReading(request) ? waitBefore(answer, attempt, bounds) : undefined
      if (waitMs === undefined) return answer
      await sleep(waitMs)
    }
  }

  return {
    async request(request) {
      const answer = await persistent(request)
      if (answer.status >= 200 && answer.status < 300) return answer
      if (answer.status === 304 && request.entityTag !== undefined) return answer
      const known = [...secretsOf(settings), ...tokens.secrets(), ...lentSecrets()]
      const secrets = [...known, ...(await signingSecrets(signing))]
      throw restError(answer, {
        hide: (text) => hide(text, secrets),
        ...(signing === undefined ? {} : { advice: signingAdvice(answer) }),
      })
    },
  }
}

function headersOf(
  settings: RestSettings,
  { body, entityTag, delegates = false }: RestRequest,
  token: string | undefined,
): Record<string, string> {
  const isConfigured = Object.keys(settings.headers).some((name) => name.toLowerCase() === DELEGATION.toLowerCase())
  return {
    ...(delegates && !isConfigured ? { [DELEGATION]: 'vended-credentials' } : {}),
    ...settings.headers,
    Accept: 'application/json',
    'User-Agent': 'Lockhouse',
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(entityTag === undefined ? {} : { 'If-None-Match': entityTag }),
  }
}

async function signingSecrets(signing: RestSigning | undefined): Promise<readonly string[]> {
  const { secretAccessKey = '', sessionToken = '' } =
    (await signing?.credentials.current().catch(() => undefined)) ?? {}
  return [secretAccessKey, sessionToken]
}

function isReading({ method }: RestRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

function isBusy({ status }: RestAnswer): boolean {
  return status === 429 || status === 503
}

const FIRST_WAIT_MS = 200

/** How long to wait before the next attempt; undefined for no retry, also when `Retry-After` is too long. */
function waitBefore({ headers }: RestAnswer, attempt: number, limits: RestLimits): number | undefined {
  if (attempt >= limits.retries) return undefined
  const wanted = retryAfterMs(headers.get('retry-after'))
  if (wanted === undefined) return backOffMs({ firstMs: FIRST_WAIT_MS, maxMs: limits.retryWaitMs }, attempt + 1)
  return wanted <= limits.retryWaitMs ? wanted : undefined
}

/** Seconds or a date (RFC 9110, section 10.2.3), in ms from now. */
function retryAfterMs(text: string | null): number | undefined {
  if (text === null) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now())
}

function hide(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret.length > 0).reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}
