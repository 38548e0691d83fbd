import { ForbiddenAddressError } from '../../domain/network/forbidden-address.ts'
import type { AlertDeliveryOutcome } from '../../storage/stores/alerts/alert-delivery-store.ts'
import type { Reply } from './http-sender.ts'

/** Why a message cannot be sent, in words that may be shown. */
export class SendProblem extends Error {
  override readonly name = 'SendProblem'
}

/** After the last one a delivery has failed; about three days in total. */
export const RETRY_DELAYS_MS = [5, 30, 120, 600, 1800, 7200, 21_600, 43_200, 86_400, 86_400].map(
  (seconds) => seconds * 1000,
)

/** The longest delay that a receiver can ask for. */
const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000

interface AttemptAt {
  readonly now: Date
  /** The delay before the next attempt, ms; undefined after the last one. */
  readonly retryDelayMs: number | undefined
}

/** The outcome of an attempt, for a reply or an error. */
export function outcomeOf(reply: Reply | { readonly error: unknown }, at: AttemptAt): AlertDeliveryOutcome {
  const { now, retryDelayMs } = at
  const finishedAt = now.toISOString()
  if ('error' in reply) return next({ lastError: describeError(reply.error) }, at)
  const { status, retryAfterMs = 0 } = reply
  if (status >= 200 && status < 300) return { lastStatus: status, state: 'delivered', finishedAt }
  // 410: the receiver is gone permanently.
  if (status === 410) return { lastStatus: status, state: 'failed', finishedAt }
  const asked = Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)
  const delay = retryDelayMs === undefined ? undefined : Math.max(retryDelayMs, asked)
  return next({ lastStatus: status }, { now, retryDelayMs: delay })
}

function next(
  last: Pick<AlertDeliveryOutcome, 'lastStatus' | 'lastError'>,
  { now, retryDelayMs }: AttemptAt,
): AlertDeliveryOutcome {
  if (retryDelayMs === undefined) return { ...last, state: 'failed', finishedAt: now.toISOString() }
  const jitter = 1 + Math.random() * 0.2
  return { ...last, state: 'pending', nextAttemptAt: new Date(now.getTime() + retryDelayMs * jitter).toISOString() }
}

/** Uses our own text: the errors of runtimes differ and may contain addresses. */
function describeError(error: unknown): string {
  if (error instanceof ForbiddenAddressError || error instanceof SendProblem) return error.message
  if (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError'))
    return 'no reply in time'
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  return `the connection failed${code}`
}
