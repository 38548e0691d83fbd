import type { RequestContext } from '../../domain/audit.ts'
import type { EventType } from '../../domain/event-type.ts'
import type { IdSource } from '../../domain/ids.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type { LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { InTransaction, Tx } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { EventWriter } from '../events/event-log.ts'

/** Dependencies of the services for definitions, versions and approvals. */
export interface LifecycleDeps {
  /** For reading; changes create their own stores in a transaction. */
  readonly stores: LifecycleStores
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  readonly newId: IdSource
  readonly now: () => Date
}

/** One change, for the audit log and the event log. */
export interface LifecycleChange {
  /** Undefined: the service itself. */
  readonly context: RequestContext | undefined
  readonly action: `${string}.${string}`
  readonly event: EventType
  readonly objectType: 'definition' | 'version' | 'approval'
  readonly objectId: string
  /** Readable by every Auditor. */
  readonly data: { readonly [key: string]: StoredJson }
  /** For the audit log only. */
  readonly details?: { readonly [key: string]: StoredJson }
}

/** Records a change in the audit log and the event log, in the transaction of the change. */
export async function recordChange(
  { audit, events }: Pick<LifecycleDeps, 'audit' | 'events'>,
  tx: Tx,
  change: LifecycleChange,
): Promise<void> {
  const { context, action, event: type, objectType, objectId, data, details } = change
  await audit.record(tx, {
    caller: context?.caller,
    requestId: context?.requestId,
    channel: context ? context.channel : 'system',
    action,
    objectType,
    objectId,
    details: { ...data, ...details },
  })
  await events.append(tx, { type, objectType, objectId, data })
}
