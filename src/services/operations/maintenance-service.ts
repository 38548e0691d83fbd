import type { Catalog } from '../../catalog/catalog.ts'
import { formatIdentifier, parseIdentifier } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import type { IdSource } from '../../domain/ids.ts'
import { operationEntry, type OperationKind, readBytes } from '../../domain/tables/operations.ts'
import { hasRole } from '../../domain/roles.ts'
import type { RequestContext } from '../../domain/audit.ts'
import type { Engine } from '../../engines/engine.ts'
import { ownedEngine } from '../../engines/owned-engine.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { loadTarget } from '../../maintenance/operation-commit.ts'
import type { EngineChoice, RequestedEngine } from '../../maintenance/spark/choose-engine.ts'
import { compactionDetails } from '../../maintenance/spark/compact-on-spark.ts'
import { manifestsDetails } from '../../maintenance/spark/manifests-on-spark.ts'
import { resumeProcedure, type SparkOutcome } from '../../maintenance/spark/run-procedure.ts'
import type { SparkKind } from '../../maintenance/spark/spark-snapshots.ts'
import type { TotalsSource } from '../../maintenance/inspection/totals/totals-source.ts'
import type { TableGuard } from '../../maintenance/table-guard.ts'
import type { operationResult } from '../../schemas/tables/maintenance.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type { OperationRecord } from '../../storage/stores/operations/operation-record.ts'
import type { PlanStore } from '../../storage/stores/operations/plan-store.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { ActionInput, ActionOutcome, EngineSettings, MaintenanceOptions } from './action.ts'
import { MAINTENANCE_ACTIONS } from './maintenance-actions.ts'
import type { Impact } from '../lineage/impact.ts'
import type { LineageService } from '../lineage/lineage-service.ts'
import type { QuarantineService } from './quarantine/quarantine-service.ts'
import type { OperationHandle, OperationService, RunOperation, StartedOperation } from './operation-service.ts'
import type { ReceiptFigures } from '../../schemas/tables/receipt.ts'
import { sparkHooks, sparkRunOf } from './spark-hooks.ts'
import { closeReceipt, openReceipt, projectedOf } from './receipt.ts'
import type { TableService } from '../tables/table-service.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

/** A request to change a table; the options are next to these fields under their wire names. */
export interface MaintenanceRequest {
  readonly table: string
  readonly dry_run?: boolean | undefined
  readonly plan_id?: string | undefined
  /** Where there is a choice; default `auto`. */
  readonly engine?: RequestedEngine | undefined
  /** What a restore puts back. */
  readonly quarantine_id?: string
}

/** The preview or the result of an operation on a table. */
export interface OperationAnswer {
  readonly operation: OperationKind
  /** Null for a preview. */
  readonly operation_id: string | null
  readonly table: string
  /** Figures under their wire names; {@link toWire} makes a text of them. */
  readonly details: OperationDetails
  /** Of a preview. */
  readonly plan_id?: string
}

/** Figures of a preview or of a result under their wire names. */
export type OperationDetails = Readonly<Record<string, StoredJson | undefined>>

/** The response of every table operation (docs/api.md#table-operations); the specification asks for details as a text. */
export function toWire({ details, ...answer }: OperationAnswer): Wire<typeof operationResult> {
  return { success: true, ...answer, details_json: JSON.stringify(details) }
}

export interface MaintenanceServiceDeps {
  readonly catalog: CatalogService
  readonly engine: Engine
  readonly engines: EngineSettings
  readonly operations: OperationService
  readonly tables: TableService
  readonly totals: TotalsSource
  readonly plans: PlanStore
  readonly quarantine: QuarantineService
  /** Finds who depends on a table, so that nothing in use is removed. */
  readonly guard?: TableGuard
  readonly lineage: Pick<LineageService, 'impact'>
  readonly newId: IdSource
  readonly now: () => Date
}

/** Changes tables: previews, applies plans, and runs actions through the ledger. */
export interface MaintenanceService {
  /** What the action would do, and a plan id to apply exactly that; changes nothing. */
  preview(kind: OperationKind, request: MaintenanceRequest, context: RequestContext): Promise<OperationAnswer>
  /** Starts the action; throws `PLAN_STALE` when it applies a plan and the table has changed. */
  start(
    kind: OperationKind,
    request: MaintenanceRequest,
    context: RequestContext,
  ): Promise<StartedOperation<OperationAnswer>>
  /**
   * Continues an operation whose process ended while Spark worked on it; it ends in the background. False, with nothing
   * changed, when Spark has no part in it, or no Spark server is configured.
   */
  resume(operation: OperationRecord): Promise<boolean>
}

/** Table maintenance over a catalog and an engine. */
export function createMaintenanceService(deps: MaintenanceServiceDeps): MaintenanceService {
  return {
    preview: (kind, request, context) => preview(deps, { kind, request, context }),
    start: (kind, request, context) => start(deps, { kind, request, context }),
    resume: (operation) => resumeOnSpark(deps, operation),
  }
}

interface Call {
  readonly kind: OperationKind
  readonly request: MaintenanceRequest
  readonly context: RequestContext
}

async function preview(deps: MaintenanceServiceDeps, call: Call): Promise<OperationAnswer> {
  const { catalog, release } = deps.catalog.hold()
  try {
    return await previewOn(catalog, deps, call)
  } finally {
    release()
  }
}

async function previewOn(catalog: Catalog, deps: MaintenanceServiceDeps, call: Call): Promise<OperationAnswer> {
  const { kind, request, context } = call
  const input = await actionInput(catalog, deps, call)
  const loaded = await loadTarget(input)
  const details = await MAINTENANCE_ACTIONS[kind].preview({
    ...input,
    loaded,
    expectedMetadataLocation: loaded.metadataLocation,
  })
  const planId = deps.newId('plan')
  const now = deps.now()
  await deps.plans.deleteExpired(now)
  await deps.plans.insert({
    id: planId,
    kind,
    table: request.table,
    baseMetadataLocation: loaded.metadataLocation,
    request: storedRequest(input),
    plan: { now_ms: input.nowMs, projected: projectedOf(kind, details) ?? null, engine: engineOf(details) },
    createdBy: context.caller.user,
    createdAt: now.toISOString(),
  })
  const impact = await impactOn(deps, input, call)
  const shown = impact === undefined ? details : { ...details, impact }
  return { ...answer(kind, request, shown), operation_id: null, plan_id: planId }
}

/** Who uses what the operation changes; undefined: nothing that others notice, or no person decides. */
async function impactOn(
  { lineage }: MaintenanceServiceDeps,
  { request }: ActionInput,
  { kind, context, request: { table } }: Call,
): Promise<Impact | undefined> {
  const { affects } = operationEntry(kind)
  if (affects === undefined || context.channel === 'system') return undefined
  const name = affects === 'column' ? request['name'] : undefined
  return lineage.impact({ table, column: typeof name === 'string' ? name : undefined }, context)
}

/** The options of a plan, with the engine that was asked for. */
function storedRequest({ request, requestedEngine }: ActionInput): StoredJson {
  const given = Object.entries(request).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  return Object.fromEntries([...given, ['engine', requestedEngine]])
}

/** The engine that a preview chose, for its plan. */
function engineOf({ engine, engine_reason: reason }: ActionOutcome): NonNullable<StoredPlan['engine']> | null {
  return engine === undefined ? null : { engine, reason: reason ?? '' }
}

/** The action uses the current catalog to its end, even when another one is configured meanwhile. */
async function start(deps: MaintenanceServiceDeps, call: Call): Promise<StartedOperation<OperationAnswer>> {
  const { catalog, release } = deps.catalog.hold()
  try {
    const started = await startOn(catalog, deps, call)
    void started.done.then(release, release)
    return started
  } catch (error) {
    release()
    throw error
  }
}

async function startOn(
  catalog: Catalog,
  deps: MaintenanceServiceDeps,
  call: Call,
): Promise<StartedOperation<OperationAnswer>> {
  const { kind, request, context } = call
  const input = await actionInput(catalog, deps, call)
  const { id, done } = await deps.operations.start({
    kind,
    table: formatIdentifier(input.identifier),
    context,
    request: { ...request } as StoredJson,
    run: (handle) => runAction(deps, { call, input, handle }),
  })
  const answered = done.then((details) => ({ ...answer(kind, request, details), operation_id: id }))
  answered.catch(() => undefined) // after a 202 response no caller waits; the ledger has the outcome
  return { id, done: answered }
}

interface ActionRun {
  readonly call: Call
  readonly input: RequestedInput
  readonly handle: OperationHandle
}

async function runAction(deps: MaintenanceServiceDeps, { call, input, handle }: ActionRun) {
  const startedAt = deps.now().getTime()
  const { table } = call.request
  const base = await input.catalog.loadTable(input.identifier)
  const before = await healthOf(deps, base)
  const baseSnapshotId = base.metadata.currentSnapshotId?.toString()
  await handle.record({
    baseMetadataLocation: base.metadataLocation,
    ...(before === undefined ? {} : { healthBefore: before }),
    ...(baseSnapshotId === undefined ? {} : { baseSnapshotId }),
  })
  let newest = base
  const onCommitted = (committed: Table): void => {
    newest = committed
  }
  const open = await openReceipt(call.kind, base, input.projected)
  const outcome = await MAINTENANCE_ACTIONS[call.kind].run({ ...input, loaded: base }, { ...handle, onCommitted })
  const receipt = await closeReceipt(open, outcome, newest)
  const ended = await endOf(deps, { outcome, table, newest, startedAt, before })
  return receipt === undefined ? ended : { ...ended, details: { ...ended.details, receipt } }
}

interface EndedAction {
  readonly outcome: ActionOutcome
  readonly table: string
  readonly newest: Table
  /** In ms since the epoch. */
  readonly startedAt: number
  readonly before: StoredJson | undefined
}

/** The result of an action, and what the ledger keeps of it. */
async function endOf(deps: MaintenanceServiceDeps, { outcome, table, newest, startedAt, before }: EndedAction) {
  const after = await healthOf(deps, newest)
  const result = {
    ...outcome,
    table,
    duration_ms: deps.now().getTime() - startedAt,
    before: before ?? null,
    after: after ?? null,
  } as unknown as StoredJson & object
  return {
    result,
    details: {
      ...(after === undefined ? {} : { healthAfter: after }),
      ...(outcome.snapshot_id === null ? {} : { snapshotId: outcome.snapshot_id }),
      bytesRead: readBytes({ ...outcome }) ?? 0,
      bytesWritten: outcome.added_bytes_count ?? 0,
    },
  }
}

/** The line of the ledger stays open; the table is held before this resolves, so that nothing else changes it meanwhile. */
async function resumeOnSpark(deps: MaintenanceServiceDeps, operation: OperationRecord): Promise<boolean> {
  const stored = sparkRunOf(operation)
  const { spark, embeddedMaxBytes } = deps.engines
  if (stored === undefined || spark === undefined) return false
  const { catalog, release } = deps.catalog.hold()
  const { table, baseSnapshotId, healthBefore: before } = operation
  const base = baseSnapshotId === undefined ? undefined : BigInt(baseSnapshotId)
  const startedAt = Date.parse(operation.startedAt ?? operation.createdAt)
  const run: RunOperation<StoredJson> = async (handle) => {
    const identifier = parseIdentifier(table)
    let newest = await catalog.loadTable(identifier)
    const hooks = sparkHooks({ ...handle, onCommitted: (committed) => void (newest = committed) })
    const counter = { engine: deps.engine, maxBytes: embeddedMaxBytes, signal: handle.signal }
    const context = { ...counter, catalog, identifier, spark, baseSnapshotId: base, hooks }
    const outcome = await resumeProcedure(stored, context)
    const details = { ...detailsOf(stored.kind, outcome, base), engine: 'spark' as const, recovered: true }
    return endOf(deps, { outcome: details, table, newest, startedAt, before })
  }
  try {
    const resumed = await deps.operations.resume(operation, run)
    void (resumed?.done ?? Promise.resolve()).then(release)
    return true
  } catch (error) {
    release()
    throw error
  }
}

function detailsOf(kind: SparkKind, outcome: SparkOutcome, base: bigint | undefined): ActionOutcome {
  return kind === 'compact'
    ? compactionDetails(outcome, { base_snapshot_id: base?.toString() ?? null })
    : manifestsDetails(outcome, base)
}

/** The health for the ledger; undefined when the table cannot be measured, which must not prevent a repair. */
async function healthOf(deps: MaintenanceServiceDeps, table: Table): Promise<StoredJson | undefined> {
  return deps.tables.healthDigest(table).catch(() => undefined)
}

function answer(kind: OperationKind, request: MaintenanceRequest, details: ActionOutcome | StoredJson) {
  return {
    operation: kind,
    table: request.table,
    // a result of the ledger, or figures of an action: both are JSON objects
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    details: details as OperationDetails,
  }
}

function guardOf({ guard }: MaintenanceServiceDeps): Pick<ActionInput, 'guard'> {
  return guard === undefined ? {} : { guard }
}

/** Options that may remove what others need. */
const LEAD_OPTIONS = ['force', 'delete_foreign_files'] as const

/** An action's input with what its plan expects of it. */
interface RequestedInput extends ActionInput {
  readonly projected?: ReceiptFigures | undefined
}

/** The action's input: from the request, or from the plan that it names. */
async function actionInput(catalog: Catalog, deps: MaintenanceServiceDeps, call: Call): Promise<RequestedInput> {
  const input = await requestedInput(catalog, deps, call)
  const option = LEAD_OPTIONS.find((name) => input.request[name] === true)
  if (option !== undefined && !hasRole(call.context.caller.role, 'LeadDataEngineer')) {
    throw new DomainError('FORBIDDEN', `${option}: needs the role LeadDataEngineer`)
  }
  return input
}

/** What is stored of a preview; plans of earlier releases have no projection. */
interface StoredPlan {
  readonly now_ms: number
  readonly projected?: ReceiptFigures | null
  readonly engine?: { readonly engine: EngineChoice['engine']; readonly reason: string } | null
}

async function requestedInput(
  catalog: Catalog,
  deps: MaintenanceServiceDeps,
  { kind, request, context }: Call,
): Promise<RequestedInput> {
  const { table, dry_run: _, plan_id: planId, ...given } = request
  const common = {
    catalog,
    engine: ownedEngine(deps.engine, context.caller.user),
    engines: deps.engines,
    totals: deps.totals,
    identifier: parseIdentifier(table),
    ...guardOf(deps),
    quarantine: deps.quarantine,
    user: context.caller.user,
  }
  if (planId === undefined) return { ...common, ...optionsOf(given), nowMs: deps.now().getTime() }
  const plan = await deps.plans.find(planId, deps.now())
  if (!plan || plan.kind !== kind || plan.table !== table) {
    throw new DomainError('NOT_FOUND', `no plan ${planId} for ${kind} of ${table}; plans are kept for 24 hours`)
  }
  const planned = plan.request as MaintenanceOptions
  const { accept_pipelines: accepted = planned['accept_pipelines'], ...fixed } = given as MaintenanceOptions // given after reading the preview
  for (const [field, value] of Object.entries(fixed)) {
    if (value !== undefined && JSON.stringify(value) !== JSON.stringify(planned[field])) {
      throw fieldRefusal('INVALID_REQUEST', [{ path: field, message: 'differs from the plan' }])
    }
  }
  const { now_ms: nowMs, projected, engine } = plan.plan as unknown as StoredPlan
  const applied = accepted === undefined ? planned : { ...planned, accept_pipelines: accepted }
  const expected = { expectedMetadataLocation: plan.baseMetadataLocation, projected: projected ?? undefined }
  return { ...common, ...optionsOf(applied), plannedEngine: engine ?? undefined, nowMs, ...expected }
}

/** The options of an action, and the engine that is asked for. */
function optionsOf({ engine, ...request }: MaintenanceOptions): Pick<ActionInput, 'request' | 'requestedEngine'> {
  return { request, requestedEngine: engine === 'embedded' || engine === 'spark' ? engine : 'auto' }
}
