import { IcebergError } from './errors.ts'

/** Throws `CANCELLED` when the signal is aborted. `what` names the work, for the message. */
export function throwIfCancelled(signal: AbortSignal | undefined, what = 'the operation'): void {
  if (signal?.aborted === true) throw new IcebergError('CANCELLED', `${what} was cancelled`, { cause: signal.reason })
}
