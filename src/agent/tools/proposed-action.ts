import type { RequestContext } from '../../domain/audit.ts'
import type { StoredJson } from '../../storage/json-column.ts'

/** A change that needs the user's confirmation. */
export interface ProposedAction {
  readonly tool: string
  /** The exact arguments that will be used. */
  readonly arguments: { readonly [key: string]: StoredJson }
  /** What it would do, in one sentence written by the service, not by the model. */
  readonly summary: string
  readonly plan: StoredJson
}

/** A stored {@link ProposedAction} as the API shows it. */
export interface PendingActionView {
  readonly id: string
  readonly tool: string
  readonly arguments: { readonly [key: string]: StoredJson }
  readonly summary: string
  readonly plan: StoredJson
  readonly expires_at: string
}

/** Who proposes the action, and in which conversation. */
export interface ActionContext extends RequestContext {
  readonly chatId: string | undefined
}
