import type { RefusalLog } from '../services/audit/refusal-log.ts'
import type { Exchange } from './exchange.ts'

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Writes one audit entry per denial (docs/api.md#audit-log): for every request without the needed credential or role, and
 * for every refused unsafe request. Denials without a valid credential are aggregated, and rate-limited requests appear
 * only in the request log, so that they cannot fill the audit log. Responses of notebooks are not audited. Undefined when
 * there is nothing to write.
 */
export function auditRefusal(refusals: RefusalLog, exchange: Exchange, status: number): Promise<void> | undefined {
  if (status < 400 || status === 429 || exchange.relayed) return undefined
  const { method } = exchange
  const isDenied = status === 401 || status === 403
  if ((!isDenied && SAFE_METHODS.has(method)) || isPageLeftOpen(exchange, status)) return undefined
  const { caller, requestId, path, problemCode: code, error } = exchange
  return refusals.record({ caller, address: exchange.clientAddress, requestId, method, path, status, code, error })
}

/** Notebook pages poll their server every few seconds, also for days after their session has ended. */
function isPageLeftOpen({ method, path, isUpgrade }: Exchange, status: number): boolean {
  return status === 401 && method === 'GET' && path.startsWith('/notebook/') && !isUpgrade
}
