import type { RequestContext } from '../../domain/audit.ts'
import type { EventType } from '../../domain/event-type.ts'
import type { OperationRecord } from '../../storage/stores/operations/operation-record.ts'
import { createOperationStore, type OperationOutcome } from '../../storage/stores/operations/operation-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { EventWriter, NewEvent } from '../events/event-log.ts'

export interface OperationLedgerDeps {
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  /** The process that runs the operations begun here. */
  readonly instanceId: number
  /** Called with each operation that has ended, after it is stored. */
  readonly onFinished?: ((operation: NewOperation, outcome: OperationOutcome) => void) | undefined
}

export type NewOperation = Pick<OperationRecord, 'id' | 'kind' | 'table' | 'request' | 'createdAt'>

/** Begins and ends operations: the ledger, the audit log and the event log change together or not at all. */
export interface OperationLedger {
  begin(operation: NewOperation, context: RequestContext): Promise<void>
  /** Makes this process run an operation of an ended one; false when the operation has ended, or another one runs it. */
  adopt(operation: OperationRecord): Promise<boolean>
  /** Ends an operation of this process; false when it had ended before, or another process has taken it over. */
  finish(id: string, outcome: OperationOutcome, context: RequestContext | undefined): Promise<boolean>
  /** Ends what a dead process left; false when it had ended before. */
  settle(id: string, outcome: OperationOutcome): Promise<boolean>
  /** Records a request to cancel a running operation. */
  cancel(operation: OperationRecord, context: RequestContext): Promise<void>
  /** Marks the error of a finished operation as already recorded in the audit log. */
  recorded(error: unknown): void
}

/** A ledger over the state database. */
export function createOperationLedger({
  inTransaction,
  audit,
  events,
  instanceId,
  onFinished,
}: OperationLedgerDeps): OperationLedger {
  interface End {
    readonly outcome: OperationOutcome
    readonly context?: RequestContext | undefined
    /** Whose operation it must be. */
    readonly owner?: number
  }

  async function end(id: string, { outcome, context, owner }: End): Promise<boolean> {
    const finished = await inTransaction(async (tx) => {
      const operations = createOperationStore(tx)
      const operation = await operations.find(id)
      if (!operation || !(await operations.finish(id, outcome, owner))) return undefined
      const { objectType, objectId, details } = entry(operation)
      await audit.record(tx, {
        ...(context ?? { caller: undefined, channel: 'system' }),
        objectType,
        objectId,
        action: 'operation.finish',
        outcome: outcome.state === 'succeeded' ? 'done' : 'failed',
        details: { ...details, state: outcome.state, error: outcome.error?.code ?? null },
      })
      await events.append(tx, announce('operation.finished', operation, outcome.state))
      if (outcome.state === 'failed') await events.append(tx, failure(operation, outcome))
      return operation
    })
    if (finished !== undefined) onFinished?.(finished, outcome)
    return finished !== undefined
  }

  return {
    begin: (operation, context) =>
      inTransaction(async (tx) => {
        const { caller, requestId, group } = context
        const begun = {
          ...operation,
          state: 'running' as const,
          requestedBy: caller.user,
          requestId,
          instanceId,
          ...(group === undefined ? {} : { group }),
        }
        await createOperationStore(tx).insert(begun)
        await audit.record(tx, { ...context, ...entry(operation), action: 'operation.begin', outcome: 'begun' })
        await events.append(tx, announce('operation.started', operation, 'running'))
      }),
    adopt: (operation) => inTransaction((tx) => createOperationStore(tx).adopt(operation, instanceId)),
    finish: (id, outcome, context) => end(id, { outcome, context, owner: instanceId }),
    settle: (id, outcome) => end(id, { outcome }),
    cancel: (operation, context) =>
      inTransaction((tx) => audit.record(tx, { ...context, ...entry(operation), action: 'operation.cancel' })),
    recorded: (error) => audit.settled(error),
  }
}

/** The audit entry of an operation. */
function entry({ id, kind, table }: NewOperation) {
  return { objectType: 'operation', objectId: id, details: { operation: kind, table } }
}

/** The event of an operation that failed, with the reason. */
function failure(operation: NewOperation, { error }: OperationOutcome): NewEvent {
  const event = announce('operation.failed', operation, 'failed')
  return { ...event, data: { ...event.data, error: error ? { code: error.code, message: error.message } : null } }
}

/** The event of an operation. */
function announce(
  type: Extract<EventType, `operation.${string}`>,
  { id, kind, table }: NewOperation,
  state: string,
): NewEvent {
  return { type, objectType: 'operation', objectId: id, data: { id, operation: kind, table, state } }
}
