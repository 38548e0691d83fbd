import { backOffMs } from '../lib/back-off.ts'
import { sleep } from '../lib/sleep.ts'
import { DatabaseError, type DatabaseErrorCode } from './database-error.ts'

/** Which errors of the state database are followed by another attempt, and how many attempts there are. */
export interface Patience {
  readonly codes: ReadonlySet<DatabaseErrorCode>
  readonly attempts: number
}

/** For writes that somebody waits for. */
export const AT_ONCE: Patience = { codes: new Set(['CANNOT_OPEN', 'BUSY']), attempts: 6 }

/** For writes in the background. What an operator ends, such as a full disk, may take long. */
export const IN_BACKGROUND: Patience = {
  codes: new Set([...AT_ONCE.codes, 'FULL', 'READ_ONLY']),
  attempts: Number.POSITIVE_INFINITY,
}

const BACK_OFF = { firstMs: 200, maxMs: 5000 }

export interface RepeatOptions {
  readonly patience: Patience
  /** Ends the attempts. */
  readonly signal?: AbortSignal | undefined
  /** Called with each error that is followed by another attempt. */
  readonly onFailure?: (error: unknown) => void
}

/**
 * Repeats a write to the state database until it succeeds or is ended. Rejects with the error of the last attempt, and at
 * once with one that does not pass by itself. The write must do nothing when an attempt before it has succeeded.
 */
export async function repeatWrite(
  write: () => Promise<unknown>,
  { patience, signal, onFailure }: RepeatOptions,
): Promise<void> {
  for (let failures = 1; signal?.aborted !== true; failures += 1) {
    try {
      await write()
      return
    } catch (error) {
      const isPassing = error instanceof DatabaseError && patience.codes.has(error.code)
      if (!isPassing || failures >= patience.attempts) throw error
      onFailure?.(error)
      await sleep(backOffMs(BACK_OFF, failures), signal)
    }
  }
}
