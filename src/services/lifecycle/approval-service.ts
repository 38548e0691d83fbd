import type { ChangeRequest, Versioned } from '../../domain/change-request.ts'
import type { ApprovalStatus } from '../../domain/approvals.ts'
import type { ApprovalSummary } from '../../storage/stores/approvals/approval-store.ts'
import type { TokenStore } from '../../storage/stores/token-store.ts'
import type { ListPage, PageQuery } from '../paging/paging.ts'
import { approvalTag, baseOf, decideApproval, type DecisionDeps, type Verdict } from './approval-decision.ts'
import { type GivenApproval, progressOf, progressOfAll, rulesOfRequest } from './approval-progress.ts'
import { approvalNotFound } from './approval-steps.ts'
import { type Deciders, decidersOf } from './deciders.ts'
import { keyPage, toListPage } from '../paging/paging.ts'
import {
  type ApprovalView,
  approvalView,
  type DiffView,
  diffView,
  type VersionView,
  versionView,
} from './lifecycle-views.ts'

export interface ApprovalDetail extends ApprovalView {
  readonly approvals: readonly GivenApproval[]
  readonly approvals_missing: number
  /** Null once decided. */
  readonly may_decide: Deciders | null
  readonly version_snapshot: VersionView
  readonly diff: DiffView
}

export interface ApprovalDeps extends DecisionDeps {
  readonly tokens: Pick<TokenStore, 'usersWith'>
}

/** Approval requests (docs/api.md#approvals). Promotions create them. */
export interface ApprovalService {
  /** Newest first. */
  list(status: ApprovalStatus | undefined, page: PageQuery): Promise<ListPage<ApprovalView>>
  get(id: string): Promise<Versioned<ApprovalDetail>>
  /**
   * Decides an open request. The last approval that is missing moves the version in the same transaction, or lets the
   * request wait for a window. Throws `APPROVAL_NOT_PENDING`, `ALREADY_APPROVED`, `CONTENT_CHANGED` when the version has
   * changed since the request, `SELF_APPROVAL`, `FORBIDDEN` to withdraw another user's request, `CONFLICT` to override no
   * window, `PRECONDITION_FAILED`, `NOT_FOUND`.
   */
  decide(id: string, verdict: Verdict, changeRequest: ChangeRequest): Promise<Versioned<ApprovalView>>
  /** The pending requests, newest first, and their total number. */
  pending(page: PageQuery): Promise<ListPage<ApprovalView> & { readonly count: number }>
}

/** Approval requests in the state database. */
export function createApprovalService(deps: ApprovalDeps): ApprovalService {
  const { stores } = deps
  const list = async (status: ApprovalStatus | undefined, query: PageQuery): Promise<ListPage<ApprovalView>> => {
    const page = keyPage('approvals', query)
    const rows = await stores.approvals.list(status, page)
    const progress = await progressOfAll(deps, stores, rows)
    const view = (request: ApprovalSummary): ApprovalView => {
      const found = progress.get(request.id)
      if (found === undefined) throw new Error(`no progress of ${request.id}`)
      return approvalView(request, found)
    }
    return toListPage(rows, page.limit, { key: ({ id }) => id, view })
  }
  return {
    list,
    get: (id) => get(deps, id),
    decide: (id, verdict, changeRequest) =>
      deps.inTransaction((tx) => decideApproval(deps, tx, { id, verdict, changeRequest })),
    async pending(query) {
      return { ...(await list('pending', query)), count: await stores.approvals.countPending() }
    },
  }
}

async function get(deps: ApprovalDeps, id: string): Promise<Versioned<ApprovalDetail>> {
  const { stores } = deps
  const request = await stores.approvals.find(id)
  if (!request) throw approvalNotFound(id)
  const rules = await rulesOfRequest(stores, request)
  const progress = progressOf(deps, request, { rules, votes: await stores.votes.listOf([id]) })
  const baseId = await baseOf(stores, request)
  const base = baseId === undefined ? undefined : await stores.versions.find(request.definitionId, baseId)
  const { snapshot } = request
  const detail = {
    approvals: progress.given,
    approvals_missing: progress.missing,
    may_decide: await decidersOf(deps, request, progress),
    version_snapshot: versionView(snapshot),
    diff: diffView(base, snapshot),
  }
  return { value: { ...approvalView(request, progress), ...detail }, tag: approvalTag(request, baseId) }
}
