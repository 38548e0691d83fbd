import type { EventType } from '../../domain/event-type.ts'
import type { EventStore } from '../../storage/stores/event-store.ts'
import { type StoredJson, toRequiredColumn } from '../../storage/json-column.ts'
import type { Tx } from '../../storage/transactions.ts'

/** Something that happened, for the web page, alerts and other subscribers. */
export interface NewEvent {
  readonly type: EventType
  readonly objectType: string
  readonly objectId: string
  /** In the shapes of the API; readable by every Auditor, so never a secret. */
  readonly data: { readonly [key: string]: StoredJson }
}

/** Appends to the event log, in the transaction of the change; see `AuditRecorder` for an example. */
export interface EventWriter {
  /** Returns the event's sequence number. */
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
