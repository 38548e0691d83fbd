import { createServer, type ServerResponse } from 'node:http'
import { once } from 'node:events'

/** A span as OTLP over HTTP writes it in JSON. */
export interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
}

/** A collector of traces on loopback, which can misbehave. */
export interface Collector {
  readonly endpoint: string
  readonly spans: SentSpan[]
  /** Bodies as they came. */
  readonly bodies: string[]
  mode: 'ok' | 'failing' | 'silent'
  close(): Promise<void>
}

/** Starts a {@link Collector}. */
export async function startCollector(): Promise<Collector> {
  const waiting: ServerResponse[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      collector.bodies.push(body)
      if (collector.mode === 'silent') return void waiting.push(response)
      if (collector.mode === 'ok') collector.spans.push(...spansOf(body))
      response.writeHead(collector.mode === 'ok' ? 200 : 500, { 'Content-Type': 'application/json' }).end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const collector: Collector = {
    endpoint: `http://127.0.0.1:${port}`,
    spans: [],
    bodies: [],
    mode: 'ok',
    async close() {
      for (const response of waiting) response.destroy()
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  return collector
}

function spansOf(body: string): readonly SentSpan[] {
  const parsed: { resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] } = JSON.parse(body)
  return parsed.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
}
