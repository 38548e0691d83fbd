import type { RequestContext } from '../../domain/audit.ts'
import type { IdSource } from '../../domain/ids.ts'
import type { Precondition } from '../../domain/precondition.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type { LifecycleStores } from '../../storage/lifecycle-stores.ts'
import type { InTransaction, Tx } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit-service.ts'
import type { EventWriter } from '../event-log.ts'

/** What the services of definitions, versions and approvals work with. */
export interface LifecycleDeps {
  /** For reading; what changes something makes its own in a transaction. */
  readonly stores: LifecycleStores
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  readonly newId: IdSource
  readonly now: () => Date
}

/** Who changes something, and what the caller demands of its state. */
export interface Demand {
  readonly context: RequestContext
  readonly precondition?: Precondition | undefined
}

/** An answer and the version of the resource that it shows, for `If-Match`. */
export interface Versioned<T> {
  readonly value: T
  readonly tag: string | number
}

/** One change, for the audit log and for those who follow the service. */
export interface LifecycleChange {
  readonly action: `${string}.${string}`
  readonly event: `${string}.${string}`
  readonly objectType: 'definition' | 'version' | 'approval'
  readonly objectId: string
  /** Readable by every Auditor. */
  readonly data: { readonly [key: string]: StoredJson }
  /** For the audit log only. */
  readonly details?: { readonly [key: string]: StoredJson }
}

/** Records a change, once in the audit log and once in the event log, in its transaction. */
export async function recordChange(
  { audit, events }: Pick<LifecycleDeps, 'audit' | 'events'>,
  tx: Tx,
  context: RequestContext,
  change: LifecycleChange,
): Promise<void> {
  const { action, event: type, objectType, objectId, data, details } = change
  await audit.record(tx, { ...context, action, objectType, objectId, details: { ...data, ...details } })
  await events.append(tx, { type, objectType, objectId, data })
}
