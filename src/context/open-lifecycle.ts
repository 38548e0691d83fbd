import type { Config } from '../config/config.ts'
import type { IdSource } from '../domain/ids.ts'
import type { ApprovalService } from '../services/lifecycle/approval-service.ts'
import { createApprovalService } from '../services/lifecycle/approval-service.ts'
import { type BoardService, createBoardService } from '../services/lifecycle/board-service.ts'
import { type CommentService, createCommentService } from '../services/lifecycle/comment-service.ts'
import { createDefinitionService, type DefinitionService } from '../services/lifecycle/definition-service.ts'
import { createPromotionService, type PromotionService } from '../services/lifecycle/promotion-service.ts'
import {
  createRehearsalService,
  type RehearsalDeps,
  type RehearsalService,
} from '../services/lifecycle/rehearsal-service.ts'
import { createVersionService, type VersionService } from '../services/lifecycle/version-service.ts'
import { createDeploymentStore } from '../storage/stores/deployments/deployment-store.ts'
import { createLifecycleStores } from '../storage/stores/lifecycle-stores.ts'
import type { State } from './open-state.ts'

/** Services for definitions, versions and approvals. */
export interface Lifecycle {
  readonly definitions: DefinitionService
  readonly versions: VersionService
  readonly promotions: PromotionService
  readonly approvals: ApprovalService
  readonly rehearsals: RehearsalService
  readonly comments: CommentService
  readonly board: BoardService
}

export interface LifecycleParts extends Pick<RehearsalDeps, 'catalog' | 'graphs' | 'engine'> {
  readonly state: Pick<State, 'db' | 'inTransaction' | 'audit' | 'events'>
  readonly newId: IdSource
  readonly now: () => Date
}

/** Creates the services for definitions, versions and approvals. */
export function openLifecycle(config: Pick<Config, 'approvalsForbidSelf'>, parts: LifecycleParts): Lifecycle {
  const { db, inTransaction, audit, events } = parts.state
  const { newId, now } = parts
  const deps = { stores: createLifecycleStores(db), inTransaction, audit, events, newId, now }
  return {
    definitions: createDefinitionService(deps),
    versions: createVersionService(deps),
    promotions: createPromotionService(deps),
    approvals: createApprovalService({ ...deps, forbidSelf: config.approvalsForbidSelf }),
    rehearsals: createRehearsalService({ ...parts, ...deps, deployments: createDeploymentStore(db) }),
    comments: createCommentService(deps),
    board: createBoardService(deps),
  }
}
