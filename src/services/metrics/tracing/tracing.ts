import type { Attributes, Span } from '@opentelemetry/api'

/** What a span says when its work has ended. */
export interface SpanEnd {
  readonly name?: string
  readonly attributes?: Attributes
  readonly isError?: boolean
}

/** A span of finished work. */
export interface FinishedSpan {
  readonly name: string
  readonly seconds: number
  readonly attributes: Attributes
  readonly isError?: boolean
}

export interface SpanOptions<T> {
  readonly name: string
  /** W3C Trace Context of the caller, for the span of a request. */
  readonly traceparent?: string | undefined
  readonly isRequest?: boolean
  /** Only as a part of other work: alone it would say nothing. */
  readonly isPart?: boolean
  readonly end?: (result: T) => SpanEnd
}

/** OpenTelemetry traces. Attributes never have names of users, SQL or values of rows. */
export interface Tracing {
  /** Runs work in a span; spans within it become its children. */
  span<T>(options: SpanOptions<T>, work: () => Promise<T>): Promise<T>
  /** Adds a span of work that has just ended. */
  record(span: FinishedSpan): void
  /** Sends what waits, for 2 seconds at most. */
  close(): Promise<void>
}

/** Traces nothing. */
export const NO_TRACING: Tracing = {
  span: (_, work) => work(),
  record: () => undefined,
  close: async () => undefined,
}

export interface TracingOptions {
  /** Base address of the collector; traces go to `/v1/traces` below it, as OTLP over HTTP in JSON. */
  readonly endpoint: string
  readonly serviceName: string
  readonly version: string
}

const EXPORT_TIMEOUT_MS = 2000
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/**
 * Opens tracing; loads the libraries only now. Spans wait in a bounded queue and are dropped when the collector does not
 * take them, so that it never delays the service.
 */
export async function openTracing({ endpoint, serviceName, version }: TracingOptions): Promise<Tracing> {
  const { api, provider, contexts } = await openProvider({ endpoint, serviceName, version })
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api
  const tracer = provider.getTracer('lockhouse', version)
  const finish = (span: Span, { name, attributes = {}, isError = false }: SpanEnd, endTime?: number): void => {
    if (name !== undefined) span.updateName(name)
    span.setAttributes(attributes)
    if (isError) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(endTime)
  }
  return {
    async span({ name, traceparent, isRequest = false, isPart = false, end }, work) {
      const active = contexts.active()
      if (isPart && trace.getSpan(active) === undefined) return work()
      const parent = isRequest ? remoteContext(traceparent) : active
      const span = tracer.startSpan(name, { kind: isRequest ? SpanKind.SERVER : SpanKind.INTERNAL }, parent)
      try {
        const result = await contexts.with(trace.setSpan(parent, span), work)
        finish(span, end?.(result) ?? {})
        return result
      } catch (error) {
        finish(span, { isError: true })
        throw error
      }
    },
    record({ name, seconds, attributes, isError = false }) {
      const endTime = Date.now()
      const span = tracer.startSpan(name, { startTime: endTime - seconds * 1000 }, contexts.active())
      finish(span, { attributes, isError }, endTime)
    },
    async close() {
      const limit = Promise.withResolvers<void>()
      const timer = setTimeout(limit.resolve, EXPORT_TIMEOUT_MS)
      await Promise.race([provider.shutdown().catch(() => undefined), limit.promise])
      clearTimeout(timer)
      contexts.disable()
    },
  }

  /** The caller's span as parent (W3C Trace Context, level 1); a malformed header counts as absent. */
  function remoteContext(traceparent: string | undefined) {
    const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? []
    if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT
    const remote = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
    return api.isSpanContextValid(remote) ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT
  }
}

/** Loads the libraries; the exporter sends what the bounded queue of the processor holds. */
async function openProvider({ endpoint, serviceName, version }: TracingOptions) {
  const api = await import('@opentelemetry/api')
  const { BasicTracerProvider, BatchSpanProcessor } = await import('@opentelemetry/sdk-trace-base')
  const { resourceFromAttributes } = await import('@opentelemetry/resources')
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http')
  const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks')
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  })
  const processor = new BatchSpanProcessor(exporter, {
    exportTimeoutMillis: EXPORT_TIMEOUT_MS,
    scheduledDelayMillis: 1000,
  })
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
    spanProcessors: [processor],
  })
  return { api, provider, contexts: new AsyncLocalStorageContextManager().enable() }
}
