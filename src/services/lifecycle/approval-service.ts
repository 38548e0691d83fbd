import type { ApprovalStatus } from '../../domain/approvals.ts'
import type { LifecycleStores } from '../../storage/lifecycle-stores.ts'
import type { ListPage, PageQuery } from '../paging.ts'
import {
  approvalNotFound,
  approvalTag,
  baseOf,
  decideApproval,
  type DecisionDeps,
  type Verdict,
} from './approval-decision.ts'
import { keyPage, toListPage } from './key-paging.ts'
import type { Demand, Versioned } from './lifecycle-deps.ts'
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

/** Approval requests (spec, sections 3 and 4; contract, section 7). They are made by promotions. */
export interface ApprovalService {
  /** Newest first. */
  list(status: ApprovalStatus | undefined, page: PageQuery): Promise<ListPage<ApprovalView>>
  get(id: string): Promise<Versioned<ApprovalDetail>>
  /**
   * Ends a pending request; an approval moves the version in the same transaction. Of concurrent decisions one is
   * taken. Throws `APPROVAL_NOT_PENDING`, `CONTENT_CHANGED` when the version is not what was asked for,
   * `SELF_APPROVAL`, `FORBIDDEN` to withdraw what another one requested, `PRECONDITION_FAILED`, `NOT_FOUND`.
   */
  decide(id: string, verdict: Verdict, demand: Demand): Promise<Versioned<ApprovalView>>
  /** The pending ones, newest first, and how many there are. */
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
    decide: (id, verdict, demand) => deps.inTransaction((tx) => decideApproval(deps, tx, { id, verdict, demand })),
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
