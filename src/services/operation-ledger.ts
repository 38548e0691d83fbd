import type { RequestContext } from '../domain/audit.ts'
import type { OperationRecord } from '../storage/operation-record.ts'
import { createOperationStore, type OperationOutcome } from '../storage/operation-store.ts'
import type { InTransaction } from '../storage/transactions.ts'
import type { AuditRecorder } from './audit-service.ts'
import type { EventWriter, NewEvent } from './event-log.ts'

export interface OperationLedgerDeps {
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  /** The process that runs what begins here. */
  readonly instanceId: number
}

export type NewOperation = Pick<OperationRecord, 'id' | 'kind' | 'table' | 'request' | 'createdAt'>

/** The beginnings and ends of operations: ledger, audit log and event log together or not at all. */
export interface OperationLedger {
  begin(operation: NewOperation, context: RequestContext): Promise<void>
  /** Without a context: the service settles what a dead process left. False when it had ended before. */
  finish(id: string, outcome: OperationOutcome, context?: RequestContext): Promise<boolean>
  /** Records that somebody asks a running operation to stop. */
  cancel(operation: OperationRecord, context: RequestContext): Promise<void>
  /** Marks the error of a finished operation: it is in the audit log already. */
  recorded(error: unknown): void
}

/** A ledger over the state database. */
export function createOperationLedger({
  inTransaction,
  audit,
  events,
  instanceId,
}: OperationLedgerDeps): OperationLedger {
  return {
    begin: (operation, context) =>
      inTransaction(async (tx) => {
        const { caller, requestId } = context
        const begun = { ...operation, state: 'running' as const, requestedBy: caller.user, requestId, instanceId }
        await createOperationStore(tx).insert(begun)
        await audit.record(tx, { ...context, ...entry(operation), action: 'operation.begin', outcome: 'begun' })
        await events.append(tx, announce('operation.started', operation, 'running'))
      }),
    finish: (id, outcome, context) =>
      inTransaction(async (tx) => {
        const operations = createOperationStore(tx)
        const operation = await operations.find(id)
        if (!operation || !(await operations.finish(id, outcome))) return false
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
        return true
      }),
    cancel: (operation, context) =>
      inTransaction((tx) => audit.record(tx, { ...context, ...entry(operation), action: 'operation.cancel' })),
    recorded: (error) => audit.settled(error),
  }
}

/** What the audit log says of an operation. */
function entry({ id, kind, table }: NewOperation) {
  return { objectType: 'operation', objectId: id, details: { operation: kind, table } }
}

/** What the event log says of an operation. */
function announce(type: `operation.${string}`, { id, kind, table }: NewOperation, state: string): NewEvent {
  return { type, objectType: 'operation', objectId: id, data: { id, operation: kind, table, state } }
}
