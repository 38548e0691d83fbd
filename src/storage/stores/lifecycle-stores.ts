import type { Kysely } from 'kysely'

import { type ApprovalStore, createApprovalStore } from './approval-store.ts'
import { type CommentStore, createCommentStore } from './comment-store.ts'
import { createDefinitionStore, type DefinitionStore } from './definition-store.ts'
import type { StateTables } from '../schema.ts'
import { createVersionStore, type VersionStore } from './version-store.ts'

/** The stores that a lifecycle change uses together. */
export interface LifecycleStores {
  readonly definitions: DefinitionStore
  readonly versions: VersionStore
  readonly approvals: ApprovalStore
  readonly comments: CommentStore
}

/** All of them over the database, or over one transaction. */
export function createLifecycleStores(db: Kysely<StateTables>): LifecycleStores {
  return {
    definitions: createDefinitionStore(db),
    versions: createVersionStore(db),
    approvals: createApprovalStore(db),
    comments: createCommentStore(db),
  }
}
