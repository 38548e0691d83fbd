import type { AuditChannel, AuditOutcome } from '../../domain/audit.ts'
import type { Caller } from '../../domain/roles.ts'
import type { AuditRecorder } from '../../services/audit/audit-service.ts'
import type { InTransaction } from '../../storage/transactions.ts'

/** One tool call, for the audit log. */
export interface ToolCallEntry {
  readonly caller: Caller
  readonly requestId: string
  readonly channel: AuditChannel
  readonly tool: string
  readonly chatId: string | undefined
  readonly outcome: AuditOutcome
  /** Why it was refused or failed. */
  readonly code?: string | undefined
  /** The object of the call, such as a table. */
  readonly subject?: string | undefined
}

/** Writes calls to the audit log, all or none; resolves when they are committed. */
export type RecordToolCalls = (entries: readonly ToolCallEntry[]) => Promise<void>

interface AuditDeps {
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
}

/** Records tool calls in the state database, on behalf of the calling user. */
export function createRecordToolCalls({ inTransaction, audit }: AuditDeps): RecordToolCalls {
  return (entries) =>
    inTransaction(async (tx) => {
      for (const { tool, chatId, subject, code, ...entry } of entries) {
        const details = { on_behalf_of: entry.caller.user, chat_id: chatId ?? null, subject: subject ?? null }
        await audit.record(tx, {
          ...entry,
          action: 'tool.call',
          objectType: 'tool',
          objectId: tool,
          details: { ...details, ...(code === undefined ? {} : { code }) },
        })
      }
    })
}
