import { fetchAnswer, type RequestOptions, toApiError } from './client.ts'
import { ApiError } from './api-error.ts'
import { delay } from './delay.ts'
import { readServerEvents, type ServerEvent } from './server-events.ts'

export interface EventStreamOptions extends RequestOptions {
  readonly method?: 'GET' | 'POST'
  readonly body?: unknown
  readonly signal: AbortSignal
  readonly onEvent: (event: ServerEvent) => void
  /** Called when the stream is cut off and about to be opened again, and when it is open again. */
  readonly onConnection?: (open: boolean) => void
  /** Whether to open the stream again, from the last event on, when it is cut off; default true. */
  readonly reconnect?: boolean
  /** Whether a stream that the service ends is complete; default true. If false, it is opened again. */
  readonly endsItself?: boolean
}

const RETRY_MS = { first: 500, longest: 15_000 } as const

/**
 * Reads server-sent events until the stream ends or is aborted; a stream that breaks is opened again with `Last-Event-ID`.
 * Throws `ApiError` when the service refuses it.
 */
export async function readEventStream(path: string, options: EventStreamOptions): Promise<void> {
  const { signal, onEvent, onConnection, endsItself = true } = options
  let lastId: string | undefined
  let wait: number = RETRY_MS.first
  while (!signal.aborted) {
    try {
      const stream = await openStream(path, options, lastId)
      onConnection?.(true)
      for await (const event of readServerEvents(stream)) {
        wait = RETRY_MS.first
        lastId = event.id ?? lastId
        onEvent(event)
      }
      if (endsItself) return
    } catch (error) {
      if (signal.aborted) return
      if (!canReconnect(error, options)) throw error
    }
    onConnection?.(false)
    await delay(wait, signal)
    wait = Math.min(wait * 2, RETRY_MS.longest)
  }
}

async function openStream(
  path: string,
  { method = 'GET', body, query, headers, signal }: EventStreamOptions,
  lastId: string | undefined,
): Promise<ReadableStream<Uint8Array>> {
  const response = await fetchAnswer(method, path, {
    signal,
    ...(query ? { query } : {}),
    ...(body === undefined ? {} : { body }),
    headers: { Accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'Last-Event-ID': lastId }), ...headers },
  })
  if (!response.ok || response.body === null) throw await toApiError(response)
  return response.body
}

function canReconnect(error: unknown, { reconnect = true }: EventStreamOptions): boolean {
  return reconnect && !isRefusal(error)
}

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429
}
