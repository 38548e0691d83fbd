import { sentenceOf } from '../schemas/issues.ts'
import { CommandError } from './errors.ts'

export interface ApiClientOptions {
  /** Address of the service with its base path, without `/api`. */
  readonly server: string
  readonly token: string | undefined
  /** Default: over the network. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** An answer of the service that is not an error. */
export interface ApiAnswer {
  readonly status: number
  readonly body: unknown
  readonly location: string | undefined
}

/** Calls the API of a service. Refusals and failures are a {@link CommandError} with the code of the service. */
export interface ApiClient {
  readonly server: string
  get<T>(path: string, query?: Readonly<Record<string, string | undefined>>): Promise<T>
  send(method: 'POST' | 'DELETE', path: string, options?: SendOptions): Promise<ApiAnswer>
  /** The data of server-sent events, until the stream ends. */
  events(path: string): AsyncIterable<unknown>
}

export interface SendOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** An {@link ApiClient} over `fetch`. */
export function createApiClient({ server, token, fetch: send = fetch }: ApiClientOptions): ApiClient {
  const base = server.replace(/\/+$/, '') // with the path below which a proxy or BASE_PATH serves
  const request = async (method: string, path: string, { body, headers }: SendOptions = {}): Promise<Response> => {
    const request = new Request(new URL(base + path).href, {
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
    server,
    async get<T>(path: string, query: Readonly<Record<string, string | undefined>> = {}) {
      const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)
      const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
      return (await json(await request('GET', path + search))) as T
    },
    async send(method, path, options) {
      const response = await request(method, path, options)
      const body = response.status === 204 ? undefined : await json(response)
      return { status: response.status, body, location: response.headers.get('location') ?? undefined }
    },
    async *events(path) {
      const response = await request('GET', path, { headers: { Accept: 'text/event-stream' } })
      if (response.body !== null) yield* eventData(response.body)
    },
  }
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
  try {
    return await response.json()
  } catch {
    throw new CommandError('the answer is not JSON: is the address that of a Lockhouse service?')
  }
}

/** The parts of a problem document (docs/api.md#errors) that are shown; another server may answer without them. */
interface Problem {
  readonly code?: string
  readonly detail?: string
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
}

async function problemOf(response: Response, token: string | undefined): Promise<CommandError> {
  if (response.status === 401 && token === undefined) {
    return new CommandError('set LOCKHOUSE_TOKEN, or use --token-file', 'UNAUTHENTICATED')
  }
  const { code, detail, errors = [] } = (await response.json().catch(() => ({}))) as Problem
  const sentences = errors.map((error) => sentenceOf(error, 'the request'))
  const message = [...new Set([detail ?? response.statusText, ...sentences])].join('; ')
  return new CommandError(`${code ?? response.status}: ${message}`, code)
}

/** The JSON of each `data:` line (WHATWG HTML, server-sent events). */
async function* eventData(stream: ReadableStream<Uint8Array>): AsyncGenerator {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('data:')) yield JSON.parse(line.slice('data:'.length))
    }
  }
}
