/** One server-sent event; `data` is written as JSON. */
export interface ServerEvent {
  readonly event: string
  readonly data: unknown
  /** The value for `Last-Event-ID` on reconnect. */
  readonly id?: string
}

const KEEP_ALIVE_MS = 15_000

export interface EventStreamOptions {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** Whether the caller may still read this, checked during the stream; default: always. */
  readonly isAllowed?: () => Promise<boolean>
  /** How often a quiet stream gets a comment and the caller is checked; default 15 s. */
  readonly keepAliveMs?: number
}

/**
 * A response of server-sent events (WHATWG HTML, section 9.2), pulled from a generator only as fast as the client reads.
 * The generator's signal is aborted when the client disconnects or loses access.
 */
export function eventStream(
  { signal, isAllowed = async () => true, keepAliveMs = KEEP_ALIVE_MS }: EventStreamOptions,
  generate: (signal: AbortSignal) => AsyncGenerator<ServerEvent>,
): Response {
  const ended = new AbortController()
  const events = generate(AbortSignal.any([signal, ended.signal]))
  const encoder = new TextEncoder()
  let timer: ReturnType<typeof setInterval> | undefined
  const end = (): void => {
    clearInterval(timer)
    ended.abort()
  }
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const keepAlive = async (): Promise<void> => {
        const allowed = await isAllowed().catch(() => false)
        if (!allowed) end()
        else if (!ended.signal.aborted) controller.enqueue(encoder.encode(':\n\n'))
      }
      timer = setInterval(() => void keepAlive(), keepAliveMs)
    },
    async pull(controller) {
      const next = await events.next().catch((error: unknown) => {
        end() // or the next keep-alive would write into a stream that has failed
        throw error
      })
      if (next.done || ended.signal.aborted) {
        end()
        controller.close()
        return
      }
      const { event, data, id } = next.value
      const line = id === undefined ? '' : `id: ${id}\n`
      controller.enqueue(encoder.encode(`${line}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
    },
    cancel: end,
  })
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' } })
}
