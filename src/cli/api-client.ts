import { sentenceOf } from '../schemas/issues.ts'
import { CommandError } from './errors.ts'

export interface ApiClientOptions {
  /** Address of the service with its base path, without `/api`. */
  readonly server: string
  readonly token: string | undefined
  /** Default: over the network. */
  readonly fetch?: (request: Request) => Promise<Response>
}

export type Query = Readonly<Record<string, string | undefined>>

/** An answer of the service that is not an error. */
export interface ApiAnswer {
  readonly status: number
  readonly body: unknown
  /** The version of the resource, for `If-Match`. */
  readonly etag: string | undefined
  /** The token of the next page of a bare array (docs/api.md#lists). */
  readonly nextToken: string | undefined
}

/** Calls the API of a service. Refusals and failures are a {@link CommandError} with the code of the service. */
export interface ApiClient {
  readonly server: string
  readonly token: string | undefined
  get<T>(path: string, query?: Query): Promise<T>
  send(method: Method, path: string, options?: SendOptions): Promise<ApiAnswer>
  /** The data of server-sent events, until the stream ends. */
  events(path: string, query?: Query): AsyncIterable<unknown>
  /** The text of an answer, piece by piece. */
  text(path: string, query?: Query): AsyncIterable<string>
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export interface SendOptions {
  readonly query?: Query
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** The address of a service as paths follow it: with the path below which a proxy or BASE_PATH serves. */
export function baseAddress(server: string): string {
  return server.replace(/\/+$/, '')
}

/** An {@link ApiClient} over `fetch`. */
export function createApiClient({ server, token, fetch: send = fetch }: ApiClientOptions): ApiClient {
  const base = baseAddress(server)
  const request = async (method: Method, path: string, { query, body, headers }: SendOptions): Promise<Response> => {
    const request = new Request(new URL(base + path + searchText(query)).href, {
      method,
      redirect: 'error', // the token is for this server
      headers: {
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const response = await reach(send, request, server)
    if (!response.ok) throw await problemOf(response, token)
    return response
  }
  return {
    server: base,
    token,
    async get<T>(path: string, query?: Query) {
      return (await json(await request('GET', path, { ...(query && { query }) }))) as T
    },
    async send(method, path, options = {}) {
      const response = await request(method, path, options)
      const body = response.status === 204 ? undefined : await json(response)
      const etag = response.headers.get('etag') ?? undefined
      return { status: response.status, body, etag, nextToken: nextToken(response.headers.get('link')) }
    },
    async *events(path, query = {}) {
      const response = await request('GET', path, { query, headers: { Accept: 'text/event-stream' } })
      yield* eventData(textOf(response))
    },
    async *text(path, query = {}) {
      yield* textOf(await request('GET', path, { query }))
    },
  }
}

function searchText(query: Query = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}

function nextToken(link: string | null): string | undefined {
  const path = /<([^>]*)>; *rel="next"/.exec(link ?? '')?.[1]
  return path === undefined
    ? undefined
    : (new URL(path, 'http://localhost').searchParams.get('page_token') ?? undefined)
}

async function reach(
  send: (request: Request) => Promise<Response>,
  request: Request,
  server: string,
): Promise<Response> {
  try {
    return await send(request)
  } catch {
    throw new CommandError(`no answer from ${server}: start it with "lockhouse serve", or name another with --server`)
  }
}

async function json(response: Response): Promise<unknown> {
  const text = await response.text().catch(cut)
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandError('the answer is not JSON: is the address that of a Lockhouse service?')
  }
}

/** The text of an answer, piece by piece. */
async function* textOf({ body }: Response): AsyncGenerator<string> {
  if (body === null) return
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    while (true) {
      const { done, value } = await reader.read().catch(cut)
      if (done) break
      yield decoder.decode(value as Uint8Array, { stream: true })
    }
  } finally {
    await reader.cancel().catch(() => undefined) // the reader of this text has enough
  }
}

function cut(): never {
  throw new CommandError('the connection was cut before the answer was complete')
}

/** The parts of a problem document (docs/api.md#errors) that are shown; another server may answer without them. */
interface Problem {
  readonly code?: string
  readonly detail?: string
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
}

async function problemOf(response: Response, token: string | undefined): Promise<CommandError> {
  if (response.status === 401 && token === undefined) {
    return new CommandError(
      'set LOCKHOUSE_TOKEN, use --token-file, or sign in with "lockhouse login"',
      'UNAUTHENTICATED',
    )
  }
  const { code, detail, errors = [] } = (await response.json().catch(() => ({}))) as Problem
  const summary = detail ?? response.statusText
  // the summary is mostly the first of the errors
  const others = errors.filter(({ path, message }) => !(summary.includes(path) && summary.includes(message)))
  const message = [summary, ...others.map((error) => sentenceOf(error, 'the request'))].join('; ')
  return new CommandError(message, code ?? String(response.status))
}

/** The JSON of each `data:` line (WHATWG HTML, server-sent events). */
async function* eventData(stream: AsyncIterable<string>): AsyncGenerator {
  let rest = ''
  for await (const piece of stream) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('data:')) yield JSON.parse(line.slice('data:'.length))
    }
  }
}
