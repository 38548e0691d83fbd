import { type AuditChannel, type AuditOutcome, channelOf } from '../../domain/audit.ts'
import type { Caller } from '../../domain/roles.ts'
import type { AuditStore } from '../../storage/stores/audit-store.ts'
import { type StoredJson, toRequiredColumn } from '../../storage/json-column.ts'
import type { Tx } from '../../storage/transactions.ts'

/** One audit log entry, as the code that performed the action reports it. */
export interface AuditEntry {
  /** Undefined: no user (no valid credential), or the service itself (channel `system`). */
  readonly caller: Caller | undefined
  /** Default: `web` for a browser session, else `api`. */
  readonly channel?: AuditChannel | undefined
  /** `<object>.<verb>`, such as `definition.create`. */
  readonly action: `${string}.${string}`
  readonly objectType: string
  readonly objectId?: string | undefined
  /** Default `done`. */
  readonly outcome?: AuditOutcome
  readonly requestId?: string | undefined
  /** What changed, under the field names of the API. Never a secret or a whole document: give the name or id. */
  readonly details?: { readonly [key: string]: StoredJson }
}

/**
 * Writes the audit log (docs/api.md#audit-log): one entry per mutation, in the transaction of its effect.
 *
 *     await inTransaction(async (tx) => {
 *       await createWidgetStore(tx).insert(widget)
 *       await audit.record(tx, { caller, requestId, action: 'widget.create', objectType: 'widget', objectId: widget.id })
 *       await events.append(tx, { type: 'widget.created', objectType: 'widget', objectId: widget.id, data: { … } })
 *     })
 *
 * The middleware records a refusal once, when the service throws; services record only what they did.
 * A service that records the failure itself marks the error with {@link AuditRecorder.settled}.
 */
export interface AuditRecorder {
  record(tx: Tx, entry: AuditEntry): Promise<void>
  /** Marks an error whose audit entry is already written, so that the middleware adds none. */
  settled(error: unknown): void
  isSettled(error: unknown): boolean
}

/** A recorder over the audit log of the state database. */
export function createAuditRecorder(store: AuditStore, now: () => Date): AuditRecorder {
  const settled = new WeakSet<object>()
  return {
    async record(tx, entry) {
      const { caller } = entry
      await store.append(tx, {
        at: now().toISOString(),
        actor: plainText(caller?.user),
        role: caller?.role ?? null,
        channel: entry.channel ?? (caller ? channelOf(caller) : 'api'),
        action: entry.action,
        object_type: entry.objectType,
        object_id: plainText(entry.objectId),
        outcome: entry.outcome ?? 'done',
        request_id: plainText(entry.requestId),
        details_json: toRequiredColumn(entry.details ?? {}),
      })
    },
    settled(error) {
      if (typeof error === 'object' && error !== null) settled.add(error)
    },
    isSettled: (error) => typeof error === 'object' && error !== null && settled.has(error),
  }
}

/** Text that every database can store and that cannot mislead a log reader: well-formed, control characters escaped. */
function plainText(text: string | undefined): string | null {
  if (text === undefined) return null
  return text.toWellFormed().replaceAll(/[\p{Cc}\u2028\u2029]/gu, escapeCharacter)
}

function escapeCharacter(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}
