import type { IpNetwork } from '../domain/network/ip-address.ts'
import type { Logger } from '../services/logger.ts'
import type { MetricsService } from '../services/metrics/metrics-service.ts'
import type { Tracing } from '../services/metrics/tracing/tracing.ts'
import type { RefusalLog } from '../services/audit/refusal-log.ts'
import { auditRefusal } from './audit-refusals.ts'
import type { Fetch } from './base-path.ts'
import { Exchange } from './exchange.ts'
import { limitHeaders } from './header-limit.ts'
import { HeaderMap } from './connection/header-map.ts'
import { requireHost } from './request/require-host.ts'
import { addServiceHeaders, separateFromNotebooks } from './security-headers.ts'

export interface FrameDeps {
  /** Answers a request; handles its own errors. */
  readonly answer: (exchange: Exchange) => Response | Promise<Response>
  /** The response of an error that was thrown before. */
  readonly handleError: (error: Error, exchange: Exchange) => Response
  readonly log: Logger
  readonly newRequestId: () => string
  readonly trustedProxies: readonly IpNetwork[]
  readonly refusals: RefusalLog
  readonly metrics: Pick<MetricsService, 'request'>
  /** Undefined: no traces are sent. */
  readonly tracing: Tracing | undefined
  /** Whether notebooks are served on the origin of the service. */
  readonly sharesOriginWithNotebooks: boolean
}

const CALLER_SUPPLIED = /^[\w.-]{8,100}$/
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])

/**
 * Does what every request needs, whatever answers it: a request id (a valid `X-Request-Id` is kept), limits of headers and
 * host, the headers of every response, an audit entry for a refusal, a metric, a trace, one line in the log. One pass,
 * without waiting where nothing is waited for: as a chain of middlewares it would take longer than most answers.
 */
export function createFrame(deps: FrameDeps): Fetch {
  const { newRequestId, trustedProxies, tracing } = deps
  return (request, connection) => {
    const startedAt = performance.now()
    const headers = connection.headers ?? new HeaderMap(request.headers)
    const requestId = requestIdOf(headers, newRequestId)
    const exchange = new Exchange({ request, headers, connection, requestId, trustedProxies })
    if (tracing !== undefined) return traced(tracing, exchange, async () => respond(deps, exchange, startedAt))
    return respond(deps, exchange, startedAt)
  }
}

/**
 * A valid `X-Request-Id`. Behind an `Idempotency-Key` an id of this service follows it: the audit log must tell what this one
 * request did, and callers may use an id again.
 */
function requestIdOf(headers: HeaderMap, newRequestId: () => string): string {
  const given = headers.get('x-request-id')
  if (given === undefined || !CALLER_SUPPLIED.test(given)) return newRequestId()
  return headers.get('idempotency-key') === undefined ? given : `${given}.${newRequestId()}`
}

function respond(deps: FrameDeps, exchange: Exchange, startedAt: number): Response | Promise<Response> {
  const answered = answer(deps, exchange)
  if (!(answered instanceof Promise)) return finish(deps, exchange, { response: answered, startedAt })
  // a refusal without a caller needs it, and the client may disconnect before
  if (exchange.caller === undefined) void exchange.clientAddress
  return answered.then((response) => finish(deps, exchange, { response, startedAt }))
}

function answer(deps: FrameDeps, exchange: Exchange): Response | Promise<Response> {
  try {
    limitHeaders(exchange)
    requireHost(exchange)
  } catch (error) {
    if (error instanceof Error) return deps.handleError(error, exchange)
    throw error
  }
  return deps.answer(exchange)
}

interface Finished {
  readonly response: Response
  readonly startedAt: number
}

function finish(deps: FrameDeps, exchange: Exchange, { response, startedAt }: Finished): Response | Promise<Response> {
  const recorded = auditRefusal(deps.refusals, exchange, response.status)
  addServiceHeaders(exchange, response)
  if (deps.sharesOriginWithNotebooks && !exchange.relayed) separateFromNotebooks(response)
  if (recorded === undefined) return report(deps, exchange, { response, startedAt })
  return recorded.then(() => report(deps, exchange, { response, startedAt }))
}

/** Counts the request and logs it; probes that succeed come every few seconds, and are logged for debugging only. */
function report({ log, metrics }: FrameDeps, exchange: Exchange, { response, startedAt }: Finished): Response {
  const { method } = exchange
  const { status } = response
  const route = exchange.route ?? OTHER
  const ms = performance.now() - startedAt
  metrics.request({ method, route, status, seconds: ms / 1000 })
  const write = status < 400 && PROBES.has(route) ? log.debug : log.info
  write('request', {
    request_id: exchange.requestId,
    method,
    path: exchange.path,
    status,
    user: exchange.caller?.user,
    duration_ms: Math.round(ms * 10) / 10,
  })
  return response
}

const PROBES: ReadonlySet<string> = new Set(['/api/health', '/api/health/live', '/api/health/ready', '/metrics'])

/** The route of a request for a file of the page, or for nothing that exists. */
const OTHER = 'other'

/** Traces a request as a span of its route, and continues the trace of a caller (W3C Trace Context). */
function traced(tracing: Tracing, exchange: Exchange, work: () => Promise<Response>): Promise<Response> {
  const given = exchange.method
  const method = METHODS.has(given) ? given : '_OTHER'
  const end = ({ status }: Response) => {
    const route = exchange.route ?? OTHER
    return {
      name: `${method} ${route}`,
      attributes: { 'http.request.method': method, 'http.route': route, 'http.response.status_code': status },
      isError: status >= 500,
    }
  }
  return tracing.span({ name: method, traceparent: exchange.header('traceparent'), isRequest: true, end }, work)
}
