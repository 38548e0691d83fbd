import type { AuditChannel, AuditOutcome, RequestContext } from '../domain/audit.ts'
import type { Environment } from '../domain/environments.ts'
import type { Caller } from '../domain/roles.ts'
import type { z } from 'zod'
import type { Operation } from '../schemas/operations.ts'
import type { pipeline, StartPipelineRequest } from '../schemas/pipelines.ts'
import type { snapshotList, tableHealth, tableList } from '../schemas/tables.ts'
import type { StoredJson } from '../storage/json-column.ts'

/** What changes a table and may be proposed by the agent, by its name in the ledger. */
export type ProposableKind = 'compact' | 'expire' | 'add_column' | 'rename_column' | 'drop_column' | 'rewrite_manifests'

/** Query of a paged list, as the interface takes it. */
export interface AgentPage {
  readonly page_size?: number | undefined
  readonly page_token?: string | undefined
}

/** A page of a list. */
export interface AgentList<T> {
  readonly items: readonly T[]
  readonly next_page_token: string | null
}

/** Which operations are wanted. */
export interface OperationsFilter {
  readonly table?: string | undefined
  readonly state?: Operation['state'] | undefined
}

/** A streaming pipeline as the interface shows it. */
export type PipelineShown = z.output<typeof pipeline>

/** A request for table maintenance; the options stand beside the table under their wire names. */
export interface ChangeRequest {
  readonly table: string
  readonly plan_id?: string | undefined
  readonly dry_run?: boolean | undefined
}

/** Rows of one table, asked for in SQL. */
export interface RowsRequest {
  /** In whose name it is asked. */
  readonly user: string
  readonly table: string
  /** One SELECT over the table, which it calls by the last part of its name. */
  readonly sql: string
  readonly maxRows: number
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** What a query came to; `truncated`: it has more rows than were taken. */
export interface RowsAnswer {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly unknown[])[]
  readonly truncated: boolean
}

/** A change that waits for its user's yes. */
export interface ProposedAction {
  readonly tool: string
  /** What will be run, exactly. */
  readonly arguments: { readonly [key: string]: StoredJson }
  /** What it would do, in one sentence made by the service, not by the model. */
  readonly summary: string
  readonly plan: StoredJson
}

/** A stored {@link ProposedAction}, as the interface shows it. */
export interface PendingActionView {
  readonly id: string
  readonly tool: string
  readonly arguments: { readonly [key: string]: StoredJson }
  readonly summary: string
  readonly plan: StoredJson
  readonly expires_at: string
}

/** One call of a tool, for the audit log. */
export interface ToolCallEntry {
  readonly caller: Caller
  readonly requestId: string
  readonly channel: AuditChannel
  readonly tool: string
  readonly chatId: string | undefined
  readonly outcome: AuditOutcome
  /** Why it was refused or failed. */
  readonly code?: string | undefined
  /** What it is about, such as a table. */
  readonly subject?: string | undefined
}

/**
 * Everything that tools reach: the same services that the interface calls, with the caller's role. All throw
 * `DomainError` or `IcebergError`; answers are those of the interface.
 */
export interface AgentServices {
  readonly tables: {
    list(namespace: string | undefined, page: AgentPage): Promise<z.output<typeof tableList>>
    schema(table: string): Promise<object>
    health(table: string): Promise<z.output<typeof tableHealth>>
    snapshots(table: string, page: AgentPage): Promise<z.output<typeof snapshotList>>
  }
  readonly maintenance: {
    preview(kind: ProposableKind, request: ChangeRequest, context: RequestContext): Promise<PlanAnswer>
    /** Applies a plan and waits for its end. */
    apply(kind: ProposableKind, request: ChangeRequest, context: RequestContext): Promise<object>
  }
  readonly pipelines: {
    list(query: AgentPage & { readonly state?: PipelineShown['state'] | undefined }): Promise<AgentList<PipelineShown>>
    status(id: string): Promise<PipelineShown>
    start(request: StartPipelineRequest, context: RequestContext): Promise<object>
    stop(id: string, mode: 'graceful' | 'immediate', context: RequestContext): Promise<object>
  }
  readonly definitions: {
    list(environment: Environment | undefined, page: AgentPage): Promise<AgentList<object>>
    versions(definitionId: string, page: AgentPage): Promise<AgentList<object>>
    version(definitionId: string, versionId: string): Promise<object>
    diff(definitionId: string, fromId: string, toId: string): Promise<object>
  }
  readonly operations: { list(filter: OperationsFilter, page: AgentPage): Promise<AgentList<Operation>> }
  readonly approvals: { pending(page: AgentPage): Promise<AgentList<object> & { readonly count: number }> }
  /** Runs one SELECT over one table in a sandbox. */
  queryRows(request: RowsRequest): Promise<RowsAnswer>
  /** Stores a change that waits for its user's yes, with its audit entry. */
  propose(action: ProposedAction, call: ActionContext): Promise<PendingActionView>
  /** Resolves when all of them are in the audit log, together or not at all. */
  recordToolCalls(entries: readonly ToolCallEntry[]): Promise<void>
  /** Takes secrets that the service knows out of a text. */
  redact(text: string): string
  /** Where the end of a text begins that may be the beginning of a secret, once more of it has come. */
  heldFrom(text: string): number
  /** Tells the operators the whole of an error, of which callers learn less or nothing. */
  logFailure(error: unknown, tool: string, requestId: string): void
}

/** Who proposes, and in which conversation. */
export interface ActionContext extends RequestContext {
  readonly chatId: string | undefined
}

/** A previewed change: what it would do, and the id under which exactly that can be applied. */
export interface PlanAnswer {
  readonly details_json: string
  readonly plan_id?: string
}
