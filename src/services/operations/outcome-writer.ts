import type { RequestContext } from '../../domain/audit.ts'
import { backOffMs } from '../../iceberg/back-off.ts'
import { sleep } from '../../iceberg/sleep.ts'
import { DatabaseError } from '../../storage/database-error.ts'
import type { OperationOutcome } from '../../storage/stores/operations/operation-store.ts'
import type { Logger } from '../logger.ts'
import type { OperationLedger } from './ledger.ts'

/** An outcome that is to be written. */
export interface EndedOperation {
  readonly id: string
  readonly outcome: OperationOutcome
  /** Undefined when the service itself settles it. */
  readonly context: RequestContext | undefined
}

/** Writes outcomes of operations of this process, also when the database ends connections: nobody else would end them. */
export interface OutcomeWriter {
  /**
   * Resolves when the outcome is in the ledger. Rejects with the error of the database after six attempts, and goes on in
   * the background.
   */
  write(ended: EndedOperation): Promise<void>
  /** Writes in the background; an operation that is not in the ledger is left out. */
  writeLater(ended: EndedOperation): void
  /** Ends the attempts in the background; the next start of the service settles what is left. */
  close(): Promise<void>
}

const BACK_OFF = { firstMs: 200, maxMs: 5000 }
const ATTEMPTS = 6

/** A writer into the ledger. */
export function createOutcomeWriter({
  ledger,
  log,
}: {
  readonly ledger: OperationLedger
  readonly log: Logger
}): OutcomeWriter {
  const closing = new AbortController()
  const later = new Set<Promise<void>>()

  // does nothing when an attempt before this one has succeeded
  const attempt = ({ id, outcome, context }: EndedOperation): Promise<boolean> => ledger.finish(id, outcome, context)

  async function untilWritten(ended: EndedOperation): Promise<void> {
    for (let failures = 1; !closing.signal.aborted; failures += 1) {
      try {
        await attempt(ended)
        return
      } catch (error) {
        if (!(error instanceof DatabaseError)) {
          log.error('the outcome of an operation cannot be written', { operation_id: ended.id, error })
          return
        }
        await sleep(backOffMs(BACK_OFF, failures), closing.signal)
      }
    }
  }

  function writeLater(ended: EndedOperation): void {
    const written = untilWritten(ended).finally(() => later.delete(written))
    later.add(written)
  }

  return {
    async write(ended) {
      for (let failures = 1; ; failures += 1) {
        try {
          await attempt(ended)
          return
        } catch (error) {
          const isPassing = error instanceof DatabaseError && (error.code === 'CANNOT_OPEN' || error.code === 'BUSY')
          if (!isPassing || failures >= ATTEMPTS) {
            if (error instanceof DatabaseError) writeLater(ended)
            throw error
          }
          log.warn('the outcome of an operation was not written; trying again', { operation_id: ended.id, error })
          await sleep(backOffMs(BACK_OFF, failures))
        }
      }
    },
    writeLater,
    async close() {
      closing.abort()
      await Promise.all(later)
    },
  }
}
