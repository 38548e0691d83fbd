import type { ChangeRequest, Versioned } from '../../domain/change-request.ts'
import type { ApprovalStatus } from '../../domain/approvals.ts'
import type { LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { ListPage, PageQuery } from '../paging/paging.ts'
import {
  approvalNotFound,
  approvalTag,
  baseOf,
  decideApproval,
  type DecisionDeps,
  type Verdict,
} from './approval-decision.ts'
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
  readonly version_snapshot: VersionView
  readonly diff: DiffView
}

/** Approval requests (docs/api.md#approvals). Promotions create them. */
export interface ApprovalService {
  /** Newest first. */
  list(status: ApprovalStatus | undefined, page: PageQuery): Promise<ListPage<ApprovalView>>
  get(id: string): Promise<Versioned<ApprovalDetail>>
  /**
   * Ends a pending request; an approval moves the version in the same transaction. Only one of concurrent decisions
   * succeeds. Throws `APPROVAL_NOT_PENDING`, `CONTENT_CHANGED` when the version has changed since the request,
   * `SELF_APPROVAL`, `FORBIDDEN` to withdraw another user's request, `PRECONDITION_FAILED`, `NOT_FOUND`.
   */
  decide(id: string, verdict: Verdict, changeRequest: ChangeRequest): Promise<Versioned<ApprovalView>>
  /** The pending requests, newest first, and their total number. */
  pending(page: PageQuery): Promise<ListPage<ApprovalView> & { readonly count: number }>
}

/** Approval requests in the state database. */
export function createApprovalService(deps: DecisionDeps): ApprovalService {
  const { stores } = deps
  const list = async (status: ApprovalStatus | undefined, query: PageQuery): Promise<ListPage<ApprovalView>> => {
    const page = keyPage('approvals', query)
    const rows = await stores.approvals.list(status, page)
    return toListPage(rows, page.limit, { key: ({ id }) => id, view: approvalView })
  }
  return {
    list,
    get: (id) => get(stores, id),
    decide: (id, verdict, changeRequest) =>
      deps.inTransaction((tx) => decideApproval(deps, tx, { id, verdict, changeRequest })),
    async pending(query) {
      return { ...(await list('pending', query)), count: await stores.approvals.countPending() }
    },
  }
}

async function get(stores: LifecycleStores, id: string): Promise<Versioned<ApprovalDetail>> {
  const request = await stores.approvals.find(id)
  if (!request) throw approvalNotFound(id)
  const baseId = await baseOf(stores, request)
  const base = baseId === undefined ? undefined : await stores.versions.find(request.definitionId, baseId)
  const { snapshot } = request
  const detail = { version_snapshot: versionView(snapshot), diff: diffView(base, snapshot) }
  return { value: { ...approvalView(request), ...detail }, tag: approvalTag(request, baseId) }
}
