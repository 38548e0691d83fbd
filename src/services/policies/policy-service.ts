import type { RequestContext } from '../../domain/audit.ts'
import { type ChangeRequest, managerChange, requireManager } from '../../domain/change-request.ts'
import { DomainError } from '../../domain/errors.ts'
import { policyProblems } from '../../domain/policies/policy-problems.ts'
import { type Prices, savingsOf } from '../../domain/tables/prices.ts'
import { requireVersion } from '../../domain/precondition.ts'
import {
  type decisionList,
  type policyList,
  type PolicyDecisionView,
  type PolicyRequest,
  policyWithDefaults,
  type PolicyView,
  type policyPreview,
  type resumed,
  type tablePolicy,
} from '../../schemas/policies.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { PolicyDecisionsTable } from '../../storage/automation-schema.ts'
import type { TableHealth } from '../../storage/stores/tables/health-index-store.ts'
import {
  createDecisionStore,
  type DecisionFilter,
  NO_GAINS,
  type PolicyGains,
  type PolicyTableState,
} from '../../storage/stores/policies/decision-store.ts'
import { createPolicyStore, type PolicyRecord } from '../../storage/stores/policies/policy-store.ts'
import { cursorPage, fromCursorPage, pageOfList, type PageQuery } from '../paging/paging.ts'
import { governingPolicies, matchesPolicy } from './governance.ts'
import { insertPolicy, recordPolicyChange, requireFreeName, settingsJson } from './policy-changes.ts'
import type { PolicyDeps } from './policy-deps.ts'
import { previewPolicy } from './preview-policy.ts'
import { stateOfTable } from './table-state.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

/** Manages maintenance policies (docs/api.md#policies). */
export interface PolicyService {
  /** By name. */
  list(page: PageQuery): Promise<Wire<typeof policyList>>
  /** Throws `NOT_FOUND`, as all that take an id. */
  get(id: string): Promise<PolicyView>
  /** Throws `CONFLICT` for a name that is taken. */
  create(request: PolicyRequest, context: RequestContext, managedBy?: string): Promise<PolicyView>
  /** Replaces the policy, and ends its suspensions. Throws `PRECONDITION_FAILED`, `CONFLICT`, `MANAGED`. */
  update(id: string, request: PolicyRequest, change: ChangeRequest): Promise<PolicyView>
  remove(id: string, change: ChangeRequest): Promise<void>
  /** What the policy would do in the next 24 hours; stores nothing. */
  preview(request: PolicyRequest): Promise<Wire<typeof policyPreview>>
  decisions(id: string, filter: DecisionFilter, page: PageQuery): Promise<Wire<typeof decisionList>>
  /** Ends suspensions, of one table or of all. */
  resume(id: string, table: string | undefined, context: RequestContext): Promise<Wire<typeof resumed>>
  /** Which policy governs each operation of a table. */
  ofTable(table: string): Promise<Wire<typeof tablePolicy>>
}

export interface PolicyServiceDeps extends PolicyDeps {
  /** Called after a change, so that it takes effect at once. */
  readonly onChange: () => void
}

/** Policies in the state database. */
export function createPolicyService(deps: PolicyServiceDeps): PolicyService {
  const { policies, decisions } = deps
  const changed = async (record: PolicyRecord): Promise<PolicyView> => {
    deps.onChange()
    return viewOf(deps, record)
  }
  return {
    async list(page) {
      const { items, next_page_token } = pageOfList(await policies.list(), page, 'policies')
      return { success: true, policies: await viewsOf(deps, items), next_page_token }
    },
    get: async (id) => viewOf(deps, (await policies.find(id)) ?? unknownPolicy(id)),
    create: async (request, context, managedBy) =>
      changed(
        await deps.inTransaction((tx) =>
          insertPolicy(deps, tx, { request: requireMeaning(request), managedBy, context }),
        ),
      ),
    update: async (id, request, change) =>
      changed(await update(deps, { id, request: requireMeaning(request) }, change)),
    remove: (id, change) => remove(deps, id, change),
    preview: async (request) => previewPolicy(deps, policyWithDefaults(requireMeaning(request))),
    async decisions(id, filter, page) {
      if ((await policies.find(id)) === undefined) unknownPolicy(id)
      const found = await decisions.list(id, filter, cursorPage(page))
      const { items, next_page_token } = fromCursorPage(found, decisionView)
      return { success: true, decisions: [...items], next_page_token }
    },
    async resume(id, table, context) {
      const resumedTables = await deps.inTransaction(async (tx) => {
        const policy = (await createPolicyStore(tx).find(id)) ?? unknownPolicy(id)
        const tables = await createDecisionStore(tx).resume(id, table)
        await recordPolicyChange(deps, tx, { policy, context, action: 'resume', details: { tables } })
        return tables
      })
      deps.onChange()
      return { success: true, resumed_tables: [...resumedTables] }
    },
    ofTable: (table) => ofTable(deps, table),
  }
}

function unknownPolicy(id: string): never {
  throw new DomainError('NOT_FOUND', `no policy ${id}`)
}

/** Throws `UNPROCESSABLE` for a request that is well-formed and means nothing, such as an unknown time zone. */
function requireMeaning(request: PolicyRequest): PolicyRequest {
  const [first, ...others] = policyProblems(request)
  if (first) throw fieldRefusal('UNPROCESSABLE', [first, ...others])
  return request
}

async function update(
  deps: PolicyServiceDeps,
  { id, request }: { readonly id: string; readonly request: PolicyRequest },
  { context, precondition, manager }: ChangeRequest,
): Promise<PolicyRecord> {
  return deps.inTransaction(async (tx) => {
    const store = createPolicyStore(tx)
    const old = (await store.find(id)) ?? unknownPolicy(id)
    requireVersion(precondition, old.revision)
    const managedBy = requireManager(old.managedBy, manager)
    const settings = policyWithDefaults(request)
    const policy = { ...old, settings, managedBy, revision: old.revision + 1, updatedAt: deps.now().toISOString() }
    await requireFreeName(tx, policy)
    if (!(await store.update(policy))) requireVersion(() => false, '')
    await createDecisionStore(tx).resume(id)
    const owner = managerChange(old.managedBy, managedBy)
    const details = { before: settingsJson(old), after: settingsJson(policy), ...owner }
    await recordPolicyChange(deps, tx, { policy, context, action: 'update', details })
    return policy
  })
}

async function remove(deps: PolicyServiceDeps, id: string, changeRequest: ChangeRequest): Promise<void> {
  const { context, precondition, manager } = changeRequest
  await deps.inTransaction(async (tx) => {
    const store = createPolicyStore(tx)
    const policy = (await store.find(id)) ?? unknownPolicy(id)
    requireVersion(precondition, policy.revision)
    requireManager(policy.managedBy, manager)
    await store.delete(id)
    await recordPolicyChange(deps, tx, { policy, context, action: 'delete', details: { before: settingsJson(policy) } })
  })
}

async function viewOf(deps: PolicyDeps, policy: PolicyRecord): Promise<PolicyView> {
  const [value] = await viewsOf(deps, [policy])
  return value ?? unknownPolicy(policy.id)
}

async function viewsOf(
  { index, decisions, prices }: PolicyDeps,
  policies: readonly PolicyRecord[],
): Promise<readonly PolicyView[]> {
  const [known, gains, states] = await Promise.all([index.known(), decisions.gains(), decisions.states()])
  const tables = new Map(known.map((row) => [row.table_name, row]))
  const isSuspended = (state: PolicyTableState): boolean => {
    const table = tables.get(state.table_name)
    return table !== undefined && stateOfTable(state, table)?.is_suspended === true
  }
  return policies.map((policy) => ({
    ...policy.settings,
    id: policy.id,
    managed_by: policy.managedBy ?? null,
    matched_tables: known.filter(({ table_name: name }) => matchesPolicy(policy.settings, name)).length,
    suspended_tables: new Set(
      states.filter((state) => state.policy_id === policy.id && isSuspended(state)).map(({ table_name: name }) => name),
    ).size,
    gains: gainsView(gains.get(policy.id) ?? NO_GAINS, prices),
    revision: policy.revision,
    created_by: policy.createdBy,
    created_at: policy.createdAt,
    updated_at: policy.updatedAt,
  }))
}

function gainsView(gains: PolicyGains, prices: Prices): PolicyView['gains'] {
  const { projected, storageFreedBytes: storedBytes, scanRequestsSaved: scanRequests } = gains
  return {
    runs: gains.runs,
    files_removed: gains.filesRemoved,
    delete_files_removed: gains.deleteFilesRemoved,
    bytes_freed: gains.bytesFreed,
    bytes_rewritten: gains.bytesRewritten,
    storage_freed_bytes: storedBytes,
    planning_saved_ms: gains.planningSavedUs / 1000,
    scan_requests_saved: scanRequests,
    projected: {
      files_removed: projected.filesRemoved,
      delete_files_removed: projected.deleteFilesRemoved,
      bytes_freed: projected.bytesFreed,
    },
    money: savingsOf({ storedBytes, scanRequests }, prices),
  }
}

/** A decision as the API returns it. */
export function decisionView(row: PolicyDecisionsTable): PolicyDecisionView {
  return {
    id: row.id,
    policy_id: row.policy_id,
    policy_name: row.policy_name,
    table: row.table_name,
    ...namesOf(row),
    detail: row.detail,
    operation_id: row.operation_id,
    planned_bytes: row.planned_bytes,
    projected_score: row.projected_score,
    score_before: row.score_before,
    score_after: row.score_after,
    not_before: row.not_before,
    repeated: row.repeated,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

/** Only names of the schema are stored. */
function namesOf({ operation, outcome, reason }: PolicyDecisionsTable) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return { operation, outcome, reason } as Pick<PolicyDecisionView, 'operation' | 'outcome' | 'reason'>
}

async function ofTable({ index, policies, decisions }: PolicyDeps, table: string): Promise<Wire<typeof tablePolicy>> {
  const row: TableHealth | undefined = await index.find(table)
  if (row === undefined)
    throw new DomainError('NOT_FOUND', `table ${table} does not exist, or the health index has not measured it yet`)
  const governing = governingPolicies(await policies.list(), table)
  const operations = await Promise.all(
    governing.map(async ({ operation, policy, overridden }) => {
      const state = stateOfTable(await decisions.state({ policy_id: policy.id, table_name: table, operation }), row)
      const id = state?.decision_id
      const last = id === undefined || id === null ? undefined : await decisions.find(id)
      return {
        operation,
        policy: { id: policy.id, name: policy.settings.name, mode: policy.settings.mode },
        overridden: overridden.map((other) => ({ id: other.id, name: other.settings.name })),
        is_suspended: state?.is_suspended === true,
        last_decision: last === undefined ? null : decisionView(last),
      }
    }),
  )
  return { success: true, table, is_off: row.is_off, operations }
}
