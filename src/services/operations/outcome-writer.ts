import type { RequestContext } from '../../domain/audit.ts'
import { backOffMs } from '../../iceberg/back-off.ts'
import { sleep } from '../../iceberg/sleep.ts'
import { DatabaseError, type DatabaseErrorCode } from '../../storage/database-error.ts'
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
   * Resolves when the outcome is in the ledger. Rejects with the `DatabaseError` after six attempts, or at once with one that
   * does not pass by itself, and goes on in the background.
   */
  write(ended: EndedOperation): Promise<void>
  /** Writes in the background; an operation that is not in the ledger is left out. */
  writeLater(ended: EndedOperation): void
  /** Ends the attempts in the background; the next start of the service settles what is left. */
  close(): Promise<void>
}

const BACK_OFF = { firstMs: 200, maxMs: 5000 }

/** Which errors of the database are followed by another attempt. */
interface Patience {
  readonly codes: ReadonlySet<DatabaseErrorCode>
  readonly attempts: number
  readonly signal?: AbortSignal
}

const AT_ONCE: Patience = { codes: new Set(['CANNOT_OPEN', 'BUSY']), attempts: 6 }
/** What an operator ends, such as a full disk, may take long. */
const IN_BACKGROUND: Patience = {
  codes: new Set([...AT_ONCE.codes, 'FULL', 'READ_ONLY']),
  attempts: Number.POSITIVE_INFINITY,
}

interface OutcomeWriterDeps {
  readonly ledger: OperationLedger
  readonly log: Logger
}

/** A writer into the ledger. */
export function createOutcomeWriter({ ledger, log }: OutcomeWriterDeps): OutcomeWriter {
  const closing = new AbortController()
  const later = new Set<Promise<void>>()

  async function repeat({ id, outcome, context }: EndedOperation, patience: Patience): Promise<void> {
    const { codes, attempts, signal } = patience
    for (let failures = 1; signal?.aborted !== true; failures += 1) {
      try {
        await ledger.finish(id, outcome, context) // does nothing when an attempt before this one has succeeded
        return
      } catch (error) {
        const isPassing = error instanceof DatabaseError && codes.has(error.code)
        if (!isPassing || failures >= attempts) throw error
        log.warn('the outcome of an operation was not written; trying again', { operation_id: id, error })
        await sleep(backOffMs(BACK_OFF, failures), signal)
      }
    }
  }

  function writeLater(ended: EndedOperation): void {
    const written = repeat(ended, { ...IN_BACKGROUND, signal: closing.signal })
      .catch((error: unknown) =>
        log.error('the outcome of an operation cannot be written', { operation_id: ended.id, error }),
      )
      .finally(() => later.delete(written))
    later.add(written)
  }

  return {
    async write(ended) {
      try {
        await repeat(ended, AT_ONCE)
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
