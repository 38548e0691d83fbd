import type { Kysely } from 'kysely'

import { type ApprovalStore, createApprovalStore } from './approvals/approval-store.ts'
import { type CommentStore, createCommentStore } from './approvals/comment-store.ts'
import { createDefinitionStore, type DefinitionStore } from './definition-store.ts'
import type { StateTables } from '../schema.ts'
import { createVersionStore, type VersionStore } from './version-store.ts'
import { createVoteStore, type VoteStore } from './approvals/vote-store.ts'
import { createEnvironmentStore, type EnvironmentStore } from './environment-store.ts'

/** The stores that a lifecycle change uses together. */
export interface LifecycleStores {
  readonly definitions: DefinitionStore
  readonly versions: VersionStore
  readonly approvals: ApprovalStore
  readonly votes: VoteStore
  readonly comments: CommentStore
  readonly environments: EnvironmentStore
}

/** All of them over the database, or over one transaction. */
export function createLifecycleStores(db: Kysely<StateTables>): LifecycleStores {
  return {
    definitions: createDefinitionStore(db),
    versions: createVersionStore(db),
    approvals: createApprovalStore(db),
    votes: createVoteStore(db),
    comments: createCommentStore(db),
    environments: createEnvironmentStore(db),
  }
}
