import type { RequestContext } from '../../domain/audit.ts'
import type { OperationOutcome } from '../../storage/stores/operations/operation-store.ts'
import type { Logger } from '../logger.ts'
import { AT_ONCE, IN_BACKGROUND, type RepeatOptions, repeatWrite } from '../../storage/repeat-write.ts'
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
   * Resolves when the outcome is in the ledger. Rejects with the `DatabaseError` after six attempts, or at once with one that
   * does not pass by itself, and goes on in the background.
   */
  write(ended: EndedOperation): Promise<void>
  /** Writes in the background; an operation that is not in the ledger is left out. */
  writeLater(ended: EndedOperation): void
  /** Ends the attempts in the background; the next start of the service settles what is left. */
  close(): Promise<void>
}

interface OutcomeWriterDeps {
  readonly ledger: OperationLedger
  readonly log: Logger
}

/** A writer into the ledger. */
export function createOutcomeWriter({ ledger, log }: OutcomeWriterDeps): OutcomeWriter {
  const closing = new AbortController()
  const later = new Set<Promise<void>>()

  function repeat({ id, outcome, context }: EndedOperation, options: RepeatOptions): Promise<void> {
    const onFailure = (error: unknown): void =>
      log.warn('the outcome of an operation was not written; trying again', { operation_id: id, error })
    return repeatWrite(() => ledger.finish(id, outcome, context), { ...options, onFailure })
  }

  function writeLater(ended: EndedOperation): void {
    const written = repeat(ended, { patience: IN_BACKGROUND, signal: closing.signal })
      .catch((error: unknown) =>
        log.error('the outcome of an operation cannot be written', { operation_id: ended.id, error }),
      )
      .finally(() => later.delete(written))
    later.add(written)
  }

  return {
    async write(ended) {
      try {
        await repeat(ended, { patience: AT_ONCE })
      } catch (error) {
        writeLater(ended)
        throw error
      }
    },
    writeLater,
    async close() {
      closing.abort()
      await Promise.all(later)
    },
  }
}
