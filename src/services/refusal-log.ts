import type { Caller } from '../domain/roles.ts'
import type { InTransaction } from '../storage/transactions.ts'
import type { AuditRecorder } from './audit-service.ts'
import type { Logger } from './logger.ts'

/** A request that was answered with an error. */
export interface RefusedRequest {
  readonly caller: Caller | undefined
  readonly requestId: string
  readonly method: string
  /** Without the query, which may hold anything. */
  readonly path: string
  readonly status: number
  readonly code: string | undefined
  /** What was thrown, if anything. */
  readonly error: unknown
}

/** Records refusals. They have no effect that they could share a transaction with. */
export interface RefusalLog {
  /** Resolves when the entry is durable. Does not reject: a log that cannot be written is no reason to let anyone in. */
  record(request: RefusedRequest): Promise<void>
}

export interface RefusalLogDeps {
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly log: Logger
}

const MAX_PATH_LENGTH = 500
const MAX_BATCH = 500

/** A refusal log that writes all refusals of a moment in one transaction, so that a flood of them costs few. */
export function createRefusalLog({ inTransaction, audit, log }: RefusalLogDeps): RefusalLog {
  const waiting: RefusedRequest[] = []
  let writing: Promise<void> = Promise.resolve()

  async function writeWaiting(): Promise<void> {
    const batch = waiting.splice(0, MAX_BATCH)
    if (batch.length === 0) return
    try {
      await inTransaction(async (tx) => {
        for (const request of batch) {
          const { caller, requestId, status, code, method, path } = request
          await audit.record(tx, {
            caller,
            requestId,
            action: status >= 500 ? 'request.fail' : 'request.refuse',
            objectType: 'request',
            objectId: path.slice(0, MAX_PATH_LENGTH),
            outcome: status >= 500 ? 'failed' : 'refused',
            details: { method, status, code: code ?? null },
          })
        }
      })
    } catch (error) {
      log.error('refusals could not be recorded', { request_ids: batch.map(({ requestId }) => requestId), error })
    }
  }

  return {
    async record(request) {
      if (audit.isSettled(request.error)) return
      waiting.push(request)
      const turn = writing.then(writeWaiting)
      writing = turn
      await turn
    },
  }
}
