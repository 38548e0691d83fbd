import type { EventStore } from '../storage/event-store.ts'
import { type StoredJson, toRequiredColumn } from '../storage/json-column.ts'
import type { Tx } from '../storage/transactions.ts'

/** Something that happened, for the web page, webhooks and whoever else follows the service. */
export interface NewEvent {
  /** `<object>.<past participle>`, such as `approval.requested`. */
  readonly type: `${string}.${string}`
  readonly objectType: string
  readonly objectId: string
  /** In the shapes of the interface; readable by every Auditor, so never a secret. */
  readonly data: { readonly [key: string]: StoredJson }
}

/** Adds to the event log, in the transaction of what happened; `AuditRecorder` shows how. */
export interface EventWriter {
  /** The event's sequence number. */
  append(tx: Tx, event: NewEvent): Promise<number>
}

/** A writer to the event log of the state database. */
export function createEventWriter(store: EventStore, now: () => Date): EventWriter {
  return {
    append: (tx, event) =>
      store.append(tx, {
        at: now().toISOString(),
        type: event.type,
        object_type: event.objectType,
        object_id: event.objectId,
        data_json: toRequiredColumn(event.data),
      }),
  }
}
