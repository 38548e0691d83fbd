/** One server-sent event; `data` is written as JSON. */
export interface ServerEvent {
  readonly event: string
  readonly data: unknown
  /** What a client that comes back sends as `Last-Event-ID`. */
  readonly id?: string
}

const KEEP_ALIVE_MS = 15_000

/**
 * Answers with server-sent events (WHATWG HTML, section 9.2), pulled from a generator only as fast as the client reads.
 * The generator's signal is aborted when the client goes away; quiet streams get a comment every 15 s.
 */
export function eventStream(
  clientSignal: AbortSignal,
  generate: (signal: AbortSignal) => AsyncGenerator<ServerEvent>,
): Response {
  const closed = new AbortController()
  const events = generate(AbortSignal.any([clientSignal, closed.signal]))
  const encoder = new TextEncoder()
  let keepAlive: ReturnType<typeof setInterval> | undefined
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      keepAlive = setInterval(() => controller.enqueue(encoder.encode(':\n\n')), KEEP_ALIVE_MS)
    },
    async pull(controller) {
      const next = await events.next()
      if (next.done) {
        clearInterval(keepAlive)
        controller.close()
        return
      }
      const { event, data, id } = next.value
      const line = id === undefined ? '' : `id: ${id}\n`
      controller.enqueue(encoder.encode(`${line}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
    },
    cancel() {
      clearInterval(keepAlive)
      closed.abort()
    },
  })
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' } })
}
