import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { type Caller, hasRole } from '../../domain/roles.ts'
import type { CompareTask, Engine } from '../../engines/engine.ts'
import type { ComparedQuery, QueryComparison } from '../../engines/query-comparison.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import type { ApprovalSummary } from '../../storage/stores/approvals/approval-store.ts'
import type { DeploymentStore } from '../../storage/stores/deployments/deployment-store.ts'
import type { LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { GraphRows } from '../../streaming/query/graph-query.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { CompiledVersion } from '../pipelines/pipeline-deps.ts'
import { approvalNotFound, notPending } from './approval-steps.ts'
import type { GraphService } from './graph-service.ts'
import { cannotRun, compilePair, queryPair, type RehearsalPair } from './rehearsal-queries.ts'
import { inputOf, readLookups, readSources, type RehearsalTables } from './rehearsal-sources.ts'
import { type RehearsalView, rehearsalView } from './rehearsal-view.ts'

export interface RehearsalDeps {
  readonly stores: LifecycleStores
  readonly deployments: Pick<DeploymentStore, 'find'>
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly catalog: CatalogService
  readonly graphs: Pick<GraphService, 'compileVersion'>
  readonly engine: Engine
}

/** What to rehearse, for whom. */
export interface RehearsalRequest {
  /** Number of batches per source table. */
  readonly batches: number
  readonly context: RequestContext
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/** Runs requested versions over real rows without writing to any table (docs/api.md#approvals). */
export interface RehearsalService {
  /**
   * Compares the rows of the requested version with those of the version that runs in the target environment, or of the
   * newest there if none runs, over the same newest rows of their sources, both with the parameters of that environment.
   * Nothing remains of either. Secrets have their names (`env:NAME`) as their values, because the rows that are shown may be
   * made of them in any form. Throws `NOT_FOUND`; `FORBIDDEN` for a caller who is neither a lead nor the requester;
   * `APPROVAL_NOT_PENDING`; `UNPROCESSABLE` when the version cannot run or fails on a value; `LIMIT_EXCEEDED`, `CANCELLED` and
   * the refusals of `Engine.compareQueries`.
   */
  rehearse(requestId: string, request: RehearsalRequest): Promise<RehearsalView>
}

/** How much is read of each source table. */
const PER_TABLE = { files: 500, rows: 1_000_000, bytes: 256 * 2 ** 20 } as const
/** Limits of the run, and of what it returns. */
const BOUNDS: Pick<CompareTask, 'limits' | 'maxExactValues' | 'sample'> = {
  limits: { seconds: 120, memoryBytes: 512 * 2 ** 20, diskBytes: 4 * 2 ** 30 },
  maxExactValues: 50_000_000,
  sample: { maxRows: 20, maxBytes: 2 ** 20, maxTextLength: 1000 },
}

/** Rehearsals of pending approval requests, over the current catalog. */
export function createRehearsalService(deps: RehearsalDeps): RehearsalService {
  const { stores, catalog, graphs } = deps
  return {
    async rehearse(requestId, request) {
      const { context, signal } = request
      const { user } = context.caller
      const bounds = { ...PER_TABLE, batches: request.batches }
      const approval = await findPending(stores, requestId, context.caller)
      const target = approval.toEnvironment === 'retired' ? undefined : approval.toEnvironment
      const pair = await compilePair(deps, approval, (versionId) => graphs.compileVersion(versionId, user, target))
      throwIfCancelled(signal, 'the rehearsal')
      const names = new Set([...pair.candidate.sources, ...(pair.base?.compiled?.sources ?? [])])
      const sources = await readSources(catalog, names, bounds)
      const lookups = await readLookups(catalog, lookupNames(pair), signal)
      const tables = { sources, lookups }
      const queries = await queryPair(pair, approval, tables)
      throwIfCancelled(signal, 'the rehearsal')
      const comparison = await compare(deps, { approval, queries, tables }, request)
      const view = rehearsalView({
        approval,
        queries,
        tables,
        comparison,
        bounds,
        sample: BOUNDS.sample,
        secretNames: secretsOf(pair),
      })
      await recordRehearsal(deps, view, request)
      return view
    },
  }
}

/** A pending request that the caller may rehearse. */
async function findPending(stores: LifecycleStores, id: string, caller: Caller): Promise<ApprovalSummary> {
  const approval = await stores.approvals.findSummary(id)
  if (!approval) throw approvalNotFound(id)
  if (!hasRole(caller.role, 'LeadDataEngineer') && caller.user !== approval.requestedBy) {
    throw new DomainError('FORBIDDEN', `only ${approval.requestedBy} and leads can rehearse this request`)
  }
  if (approval.status !== 'pending') throw notPending(approval)
  return approval
}

/** The lookup tables of both versions. */
function lookupNames({ candidate, base }: RehearsalPair<CompiledVersion>): ReadonlySet<string> {
  return new Set([...candidate.query.others.lookups, ...(base?.compiled?.query.others.lookups ?? [])])
}

/** The secrets that either version uses, as they are shown, each once. */
function secretsOf({ candidate, base }: RehearsalPair<CompiledVersion>): readonly string[] {
  return [...new Set([...candidate.query.secretNames, ...(base?.compiled?.query.secretNames ?? [])])].toSorted()
}

interface Comparing {
  readonly approval: ApprovalSummary
  readonly queries: RehearsalPair<GraphRows>
  readonly tables: RehearsalTables
}

async function compare(
  { engine }: RehearsalDeps,
  { approval, queries, tables }: Comparing,
  { context, signal }: RehearsalRequest,
): Promise<QueryComparison> {
  const { inputs, ...candidate } = queries.candidate
  const base = queries.base?.compiled
  const task: CompareTask = {
    inputs: [...tables.sources, ...tables.lookups].flatMap((source, at) =>
      inputs.slice(at, at + 1).map((input) => inputOf(source, input)),
    ),
    candidate: comparedQuery(candidate),
    ...(base === undefined ? {} : { base: comparedQuery(base) }),
    ...BOUNDS,
  }
  try {
    return await engine.compareQueries(task, { signal, owner: context.caller.user })
  } catch (error) {
    if (isIcebergError(error, 'INVALID_ARGUMENT')) throw cannotRun(approval, error.message, error)
    if (!isIcebergError(error, 'LIMIT_EXCEEDED')) throw error
    const advice = 'rehearse with fewer batches, or change the version'
    throw new IcebergError('LIMIT_EXCEEDED', `${error.message}; ${advice}`, { cause: error })
  }
}

function comparedQuery({
  query,
  columns,
  steps,
  checks,
}: Pick<GraphRows, 'query' | 'columns' | 'steps' | 'checks'>): ComparedQuery {
  const counted = checks.map(({ step, failed, maxRatio, example }) => ({ step, failed, maxRatio, example }))
  return { query, columns, steps, checks: counted }
}

/** Records who has seen rows of which tables, without the rows. */
async function recordRehearsal(
  { inTransaction, audit }: RehearsalDeps,
  view: RehearsalView,
  { context, batches }: RehearsalRequest,
): Promise<void> {
  const details = {
    version_id: view.candidate.version_id,
    base_version_id: view.base?.version_id ?? null,
    batches,
    tables: view.inputs.map(({ table }) => table),
    rows_only_in_candidate: view.rows_only_in_candidate,
    rows_only_in_base: view.rows_only_in_base,
  }
  const entry = {
    ...context,
    action: 'approval.rehearse',
    objectType: 'approval',
    objectId: view.request_id,
    details,
  } as const
  await inTransaction((tx) => audit.record(tx, entry))
}
