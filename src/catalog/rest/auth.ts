import { IcebergError } from '../../iceberg/errors.ts'
import type { JsonObject } from '../../iceberg/json/lossless-json.ts'
import { answerJson, NoTokenError } from './errors.ts'
import { exchange, type RestExchange } from './exchange.ts'
import { isToken, type RestAuthSettings } from './settings.ts'

/** Bearer tokens for one catalog. */
export interface RestTokens {
  /** The token to send now, undefined for none. Throws {@link NoTokenError} when a new one is needed but cannot be obtained. */
  current(): Promise<string | undefined>
  /** A replacement for `refused`, which the catalog rejected; undefined when there is no other. */
  replace(refused: string | undefined): Promise<string | undefined>
  /** Secrets to redact: the current and recent tokens. */
  secrets(): readonly string[]
}

type Credential = NonNullable<RestAuthSettings['credential']>

interface Token {
  readonly text: string
  /** When a new one is requested. */
  readonly renewAtMs: number
}

const TIMEOUT_MS = 30_000
const MAX_BYTES = 65_536

/** How long before expiry a token is renewed, or a tenth of its lifetime when that is shorter. */
const RENEW_BEFORE_MS = 60_000

/** Old tokens are kept for redaction, only as long as a response could repeat them. */
const MAX_REMEMBERED = 8

/**
 * Tokens from the settings, or by OAuth2 client credentials (RFC 6749, section 4.4); renewed before they expire. A configured
 * token is used first. The credential is sent only to the token endpoint.
 */
export function createRestTokens(
  { token, credential }: RestAuthSettings,
  cut: Pick<RestExchange, 'signal'> = {},
): RestTokens {
  let held: Token | undefined = token === undefined ? undefined : { text: token, renewAtMs: Infinity }
  let asked: Promise<Token> | undefined
  const remembered: string[] = []

  /** Concurrent callers share one request. */
  async function renew(client: Credential): Promise<string> {
    asked ??= askForToken(client, cut).finally(() => {
      asked = undefined
    })
    held = await asked
    if (!remembered.includes(held.text)) remembered.unshift(held.text)
    remembered.length = Math.min(remembered.length, MAX_REMEMBERED)
    return held.text
  }

  return {
    async current() {
      if (credential === undefined || (held !== undefined && Date.now() < held.renewAtMs)) return held?.text
      return renew(credential)
    },
    async replace(refused) {
      if (credential === undefined) return undefined
      if (held !== undefined && held.text !== refused) return held.text
      return renew(credential)
    },
    secrets: () => remembered,
  }
}

async function askForToken(credential: Credential, cut: Pick<RestExchange, 'signal'>): Promise<Token> {
  try {
    const answer = await exchange({ ...tokenRequest(credential), ...cut })
    if (answer.status === 200) return readToken(answerJson(answer))
    const advice = 'check extra_props.credential, scope and oauth2-server-uri'
    throw new NoTokenError(`it answered with status ${answer.status}; ${advice}`)
  } catch (cause) {
    if (cause instanceof NoTokenError) throw cause
    const detail = cause instanceof IcebergError ? cause.message.replace(/\.$/, '') : 'the request failed'
    throw new NoTokenError(detail, { cause })
  }
}

function tokenRequest({ clientId, clientSecret, scope, tokenUri }: Credential): RestExchange {
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_secret: clientSecret, scope })
  if (clientId !== undefined) form.set('client_id', clientId)
  return {
    method: 'POST',
    url: tokenUri,
    headers: { Accept: 'application/json', 'Content-Type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
  }
}

function readToken({ access_token: text, token_type: type, expires_in: seconds }: JsonObject): Token {
  if (typeof text !== 'string' || !isToken(text)) throw new NoTokenError('its response has no valid access_token')
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    throw new NoTokenError('its token is not a bearer token')
  if (typeof seconds !== 'number') return { text, renewAtMs: Infinity }
  const lifeMs = seconds * 1000
  return { text, renewAtMs: Date.now() + lifeMs - Math.min(RENEW_BEFORE_MS, lifeMs / 10) }
}
