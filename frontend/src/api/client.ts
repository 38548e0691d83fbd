import { ApiError } from './api-error.ts'
import { serviceAddress } from '../base-path.ts'

export type QueryValue = string | number | boolean | null | undefined

export interface RequestOptions {
  /** Parameters of the address; null, undefined and empty ones are left out. */
  readonly query?: Readonly<Record<string, QueryValue>>
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** A response with its body and the headers `Link`, `ETag` and `Location`. */
export interface ApiAnswer<T> {
  readonly status: number
  readonly headers: Headers
  readonly body: T
}

/** The service's interface with the session cookie; every refusal is thrown as an `ApiError`. */
export const api = {
  get: <T>(path: string, options: RequestOptions = {}): Promise<T> => bodyOf<T>('GET', path, options),
  post: <T>(path: string, body?: unknown, options: RequestOptions = {}): Promise<T> =>
    bodyOf<T>('POST', path, { ...options, body }),
  put: <T>(path: string, body?: unknown, options: RequestOptions = {}): Promise<T> =>
    bodyOf<T>('PUT', path, { ...options, body }),
  del: <T = undefined>(path: string, options: RequestOptions = {}): Promise<T> => bodyOf<T>('DELETE', path, options),
  /** The whole answer, where its status or headers matter. */
  send,
}

type SendOptions = RequestOptions & { readonly body?: unknown }

async function bodyOf<T>(method: string, path: string, options: SendOptions): Promise<T> {
  return (await send<T>(method, path, options)).body
}

const ordersUnderWay = new Map<string, Promise<ApiAnswer<unknown>>>()

/** Identical requests that are already running, for example after a double click, share one response. */
async function send<T>(method: string, path: string, options: SendOptions = {}): Promise<ApiAnswer<T>> {
  if (method === 'GET') return sendOnce<T>(method, path, options)
  const { query, headers, body } = options
  const order = JSON.stringify([method, path, query, headers, body])
  const known = ordersUnderWay.get(order)
  if (known) return known as Promise<ApiAnswer<T>>
  const answer = sendOnce<T>(method, path, options)
  ordersUnderWay.set(order, answer)
  try {
    return await answer
  } finally {
    ordersUnderWay.delete(order)
  }
}

async function sendOnce<T>(method: string, path: string, options: SendOptions): Promise<ApiAnswer<T>> {
  const response = await fetchAnswer(method, path, options)
  if (!response.ok) throw await toApiError(response)
  return { status: response.status, headers: response.headers, body: (await readBody(response)) as T }
}

/** Fetches below the session cookie without reading the body; throws an `ApiError` when no answer comes. */
export async function fetchAnswer(
  method: string,
  path: string,
  { query = {}, headers = {}, signal, body }: SendOptions,
): Promise<Response> {
  const json = body === undefined ? {} : { 'Content-Type': 'application/json' }
  try {
    return await fetch(serviceAddress(withQuery(path, query)), {
      method,
      credentials: 'same-origin',
      headers: { Accept: 'application/json', ...json, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError(0, { code: 'NETWORK', detail: 'Can’t reach the server.' }, error)
  }
}

/** The error for an unsuccessful response. */
export async function toApiError(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined)
  if (typeof body === 'object' && body !== null && 'code' in body && 'detail' in body) {
    return new ApiError(response.status, body as { code: string; detail: string })
  }
  return new ApiError(response.status, { code: 'NO_PROBLEM', detail: `The service answered ${response.status}.` })
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text()
  return text === '' ? undefined : (JSON.parse(text) as unknown)
}

/** An address with its parameters; null, undefined and empty ones are left out. */
export function withQuery(path: string, query: Readonly<Record<string, QueryValue>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '')
  if (given.length === 0) return path
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`
}
