import type { Config } from '../config/config.ts'
import type { IdSource } from '../domain/ids.ts'
import type { ApprovalService } from '../services/lifecycle/approval-service.ts'
import { createApprovalService } from '../services/lifecycle/approval-service.ts'
import { type BoardService, createBoardService } from '../services/lifecycle/board-service.ts'
import { type CommentService, createCommentService } from '../services/lifecycle/comment-service.ts'
import { createDefinitionService, type DefinitionService } from '../services/lifecycle/definition-service.ts'
import { createPromotionService, type PromotionService } from '../services/lifecycle/promotion-service.ts'
import { keepRequests } from '../services/lifecycle/request-keeper.ts'
import type { Logger } from '../services/logger.ts'
import type { Loop } from '../lib/start-loop.ts'
import {
  createRehearsalService,
  type RehearsalDeps,
  type RehearsalService,
} from '../services/lifecycle/rehearsal-service.ts'
import { createVersionService, type VersionService } from '../services/lifecycle/version-service.ts'
import { createDeploymentStore } from '../storage/stores/deployments/deployment-store.ts'
import { createLeaseStore } from '../storage/stores/lease-store.ts'
import { createTokenStore } from '../storage/stores/token-store.ts'
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
  /** Moves versions whose window opens, and ends requests that have expired. */
  readonly startKeeper: () => Loop
}

export interface LifecycleParts extends Pick<RehearsalDeps, 'catalog' | 'graphs' | 'engine'> {
  readonly state: Pick<State, 'db' | 'inTransaction' | 'audit' | 'events' | 'instance'>
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  /** Between two looks at the open requests, ms; shortened in tests. */
  readonly requestTickMs?: number | undefined
}

/** Creates the services for definitions, versions and approvals. */
export function openLifecycle(config: Pick<Config, 'approvalsForbidSelf'>, parts: LifecycleParts): Lifecycle {
  const { db, inTransaction, audit, events, instance } = parts.state
  const { newId, now, log, requestTickMs: tickMs } = parts
  const stores = createLifecycleStores(db)
  const deps = { stores, inTransaction, audit, events, newId, now, forbidSelf: config.approvalsForbidSelf }
  return {
    definitions: createDefinitionService(deps),
    versions: createVersionService(deps),
    promotions: createPromotionService(deps),
    approvals: createApprovalService({ ...deps, tokens: createTokenStore(db) }),
    rehearsals: createRehearsalService({ ...parts, ...deps, deployments: createDeploymentStore(db) }),
    comments: createCommentService(deps),
    board: createBoardService(deps),
    startKeeper: () => keepRequests({ ...deps, leases: createLeaseStore(db), instance, log, tickMs }),
  }
}
