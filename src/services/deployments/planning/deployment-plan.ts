import { loadIfPresent } from '../../../catalog/load-if-present.ts'
import { canonicalJson } from '../../../domain/json/canonical-json.ts'
import type { DeployCheckpoint, DeploymentAction, DeploymentBasis } from '../../../domain/deployments.ts'
import { DomainError } from '../../../domain/errors.ts'
import { parseTriggerInterval } from '../../../domain/pipelines/trigger-interval.ts'
import { snapshotById } from '../../../iceberg/metadata/metadata.ts'
import type { Table } from '../../../iceberg/metadata/table.ts'
import { sha256Hex } from '../../../lib/sha256.ts'
import type { IntoBranch, StartFrom } from '../../../schemas/pipelines.ts'
import type { DeploymentKey, DeploymentRecord } from '../../../storage/stores/deployments/deployment-store.ts'
import type { PlannedRun } from '../../../storage/stores/deployments/rollout-record.ts'
import type { PipelineEngine, PipelineRecord } from '../../../storage/stores/pipelines/pipeline-store.ts'
import type { VersionSummary } from '../../../storage/stores/version-store.ts'
import { fromStoredPosition } from '../../../streaming/checkpoint/stored-positions.ts'
import { cycleThrough } from '../../../streaming/supervision/cycle.ts'
import { beginAt, type CheckedStart, checkStart } from '../../../streaming/run/start-checks.ts'
import { startPositions } from '../../../streaming/run/start-positions.ts'
import { historyWarnings } from '../../../streaming/run/start-warnings.ts'
import { type ReadPosition, unreadHistory } from '../../../streaming/source/history.ts'
import type { StreamingOffset } from '../../../streaming/source/offset.ts'
import type { CompiledVersion } from '../../pipelines/pipeline-deps.ts'
import { engineOf, type PipelineEngineChoice } from '../../pipelines/pipeline-engine.ts'
import { otherTables } from '../../pipelines/new-record.ts'
import { tableConflict } from '../../pipelines/table-conflicts.ts'
import { candidateOf, mayRunIn, settingsHash } from './candidates.ts'
import { beginOptions, requirePublished } from './plan-begin.ts'
import { consequencesOf, rowChanges } from './consequences.ts'
import type { DeploymentProblem, DeploymentSettings, PlanDeps } from '../deployment-deps.ts'
import { type OldProgress, readOldProgress } from './old-progress.ts'
import { atNode, BlockedError, problemIn, problemOf } from './plan-problems.ts'
import { type KnownRows, requireDecided, startPoints } from './start-points.ts'

/** What is asked for. */
export interface PlanRequest {
  readonly key: DeploymentKey
  readonly action: DeploymentAction
  /** Default: the newest version in the environment, or for a rollback the one that ran before. */
  readonly versionId?: string | undefined
  readonly checkpoint: DeployCheckpoint
  /** Where a fresh checkpoint begins; undefined: with the current rows. */
  readonly from?: StartFrom | undefined
  /** The branch that gets the rows of a fresh checkpoint before `main`. */
  readonly branch?: IntoBranch | undefined
  readonly user: string
  /** The rollout, which names a new checkpoint. */
  readonly rolloutId: string
  /** Whether the rollout itself plans it: the state that it recorded is no change. */
  readonly isRollingOut?: true
  /** Whether the version is to be moved to the environment first, so that it need not be there yet. */
  readonly isArriving?: true
}

/** What a deployment would do. */
export interface DeploymentPlan {
  readonly action: DeploymentAction
  /** The deployment as it is; undefined when there never was one. */
  readonly deployment: DeploymentRecord | undefined
  /** The version that would run; undefined for an undeployment. */
  readonly version: VersionSummary | undefined
  readonly previous: PipelineRecord | undefined
  /** Undefined for an undeployment, and with problems. */
  readonly planned: PlannedRun | undefined
  /** Where the planned sources stand now, or begin as requested; undefined for those of which all current rows are read. */
  readonly offsets: readonly (StreamingOffset | undefined)[]
  /** Rows of the sources that the sink has already; undefined for an undeployment, and when there are none. */
  readonly known: KnownRows | undefined
  readonly problems: readonly DeploymentProblem[]
  readonly consequences: readonly string[]
  readonly basis: DeploymentBasis
  /** Differs when anything has changed that matters for the plan. */
  readonly fingerprint: string
}

/** Whether a pipeline runs, or is about to. */
export function isLive({ state }: Pick<PipelineRecord, 'state'>): boolean {
  return state !== 'stopped' && state !== 'failed'
}

/**
 * Plans a deployment; changes nothing. What keeps the version from running is in `problems`. Throws `CONFLICT` when there
 * is nothing to deploy, to undeploy or to roll back to, and `UNPROCESSABLE` with the field for an impossible `from` or branch.
 */
export async function planDeployment(deps: PlanDeps, request: PlanRequest): Promise<DeploymentPlan> {
  const { key, action } = request
  const deployment = await deps.deployments.find(key)
  const previous = deployment?.pipelineId === undefined ? undefined : await deps.pipelines.find(deployment.pipelineId)
  const settings = await deps.settings(key.environment)
  const version = await versionOf(deps, request, deployment)
  const candidate = await candidateOf(deps.stores, key, deployment?.runningVersionId)
  const basis = { newestVersionId: candidate?.id ?? null, settings: settingsHash(settings) }
  const common = { action, deployment, previous, version, basis }
  if (version === undefined) {
    const fingerprint = fingerprintOf({ ...common, run: undefined, request })
    const consequences = previous ? [`${previous.sinkTable} gets no new rows; its checkpoint is kept`] : []
    return { ...common, ...NO_RUN, problems: [], consequences, fingerprint }
  }
  const run = await planRun(deps, { request, version, previous, settings })
  return { ...common, ...run, fingerprint: fingerprintOf({ ...common, run, request }) }
}

async function versionOf(
  deps: PlanDeps,
  request: PlanRequest,
  deployment: DeploymentRecord | undefined,
): Promise<VersionSummary | undefined> {
  const { key, action } = request
  const { definitionId, environment } = key
  if (action === 'undeploy') {
    if (request.isRollingOut === true || isDeployed(deployment)) return undefined
    throw new DomainError('CONFLICT', `nothing of this definition is deployed in ${environment}`)
  }
  const id = await wantedVersion(deps, request, deployment)
  const version = await deps.stores.versions.find(definitionId, id)
  if (version && (request.isArriving === true || mayRunIn(version, environment))) return version
  const where = version ? `version ${version.version} is in ${version.environment}` : 'the version no longer exists'
  throw new DomainError('CONFLICT', `${where}, so it cannot run in ${environment}`)
}

function isDeployed(deployment: DeploymentRecord | undefined): boolean {
  return deployment !== undefined && deployment.state !== 'none'
}

async function wantedVersion(
  deps: PlanDeps,
  { key, action, versionId }: PlanRequest,
  deployment: DeploymentRecord | undefined,
): Promise<string> {
  if (versionId !== undefined) return versionId
  if (action === 'rollback') return versionBefore(deps, key, deployment)
  const newest = await candidateOf(deps.stores, key, deployment?.runningVersionId)
  if (newest) return newest.id
  throw new DomainError('CONFLICT', `this definition has no version in ${key.environment}: promote one first`)
}

async function versionBefore(
  { history }: PlanDeps,
  key: DeploymentKey,
  deployment: DeploymentRecord | undefined,
): Promise<string> {
  const running = deployment?.runningVersionId
  const before = running === undefined ? undefined : await history.lastOther(key, running)
  if (before?.versionId !== undefined) return before.versionId
  throw new DomainError('CONFLICT', `no other version has run in ${key.environment} before`)
}

interface RunRequest {
  readonly request: PlanRequest
  readonly version: VersionSummary
  readonly previous: PipelineRecord | undefined
  readonly settings: DeploymentSettings
}

type PlannedPart = Pick<DeploymentPlan, 'planned' | 'offsets' | 'known' | 'problems' | 'consequences'> & {
  readonly tables?: readonly string[]
}

const NO_RUN = { planned: undefined, offsets: [], known: undefined } as const

async function planRun(deps: PlanDeps, run: RunRequest): Promise<PlannedPart> {
  const { request, version, previous } = run
  const { definitionId, environment } = request.key
  const { compiled, problems } = await deps.compile({
    definitionId,
    versionId: version.id,
    environment,
    user: request.user,
  })
  if (compiled === undefined) return { ...NO_RUN, problems, consequences: [] }
  try {
    const old = previous && (await readOldProgress(deps, previous))
    return await planCompiled(deps, { ...run, compiled, old })
  } catch (error) {
    if (error instanceof DomainError && error.fields?.some(({ path }) => /^(from|into_branch)\b/.test(path)))
      throw error
    return { ...NO_RUN, problems: [problemOf(error)], consequences: [] }
  }
}

interface CompiledRun extends RunRequest {
  readonly compiled: CompiledVersion
  readonly old: OldProgress | undefined
}

async function planCompiled(deps: PlanDeps, run: CompiledRun): Promise<PlannedPart> {
  const { request, previous, compiled, old } = run
  const sources = await Promise.all(compiled.sources.map((name) => atNode(compiled, name, () => load(deps, name))))
  const sink = await atNode(compiled, compiled.sink, () => load(deps, compiled.sink))
  const { definitionId } = request.key
  const { checkpoint } = request
  const begin = await beginningOf(deps, run, sources)
  const points = { checkpoint, definitionId, sources, sink, previous, old, begin }
  const starts = await startPoints(deps.pipelines, points)
  const { isSameCheckpoint, known, offsets } = starts
  const undecided = await problemIn(() =>
    atNode(compiled, compiled.sink, async () => requireDecided(known, compiled.sink)),
  )
  if (undecided !== undefined) return { ...NO_RUN, known, problems: [undecided], consequences: [] }
  requirePublished(previous, { old, isCarried: !isSameCheckpoint && checkpoint !== 'fresh' })
  const checked = await checkRun(deps, run, { isSameCheckpoint, begin })
  await atNode(compiled, compiled.sink, () => requireFree(deps, { compiled, previous }))
  await requireReadable(compiled, sources, { offsets, isSameCheckpoint })
  const fresh = sources.filter((_, at) => !isSameCheckpoint && offsets[at] === undefined)
  const { engine: chosen, warnings: choice } = await chosenEngine(deps, run, { isSameCheckpoint, checked })
  const warnings = [...(isSameCheckpoint ? checked.warnings : historyWarnings(fresh)), ...choice]
  const started = pipelineOf(deps, { ...run, checked, isSameCheckpoint, chosen })
  const pipeline = isSameCheckpoint ? started : { ...started, warnings }
  const planned = { pipeline, isSameCheckpoint, sources: starts.sources, sinkUuid: sink.metadata.tableUuid }
  const change = { planned, previous, old, known, isFresh: checkpoint === 'fresh', begin }
  return {
    planned,
    offsets,
    known,
    problems: [],
    consequences: [...consequencesOf(change), ...rowChanges(compiled.query, compiled.sink), ...warnings],
    tables: [
      ...[...sources, sink].map(({ metadata }) => `${metadata.tableUuid} ${metadata.currentSchemaId}`),
      ...starts.sources.map(({ resumedFrom }) => resumedFrom ?? ''),
      ...fixedStarts(run, begin),
    ],
  }
}

/** The positions that matter for a plan; those of `now` follow the sources. */
function fixedStarts({ request: { from } }: CompiledRun, begin: readonly ReadPosition[] = []): readonly string[] {
  return from === 'now' ? [] : begin.map(({ offset }) => String(offset.snapshotId))
}

function onDeleteOf({ previous }: CompiledRun): 'fail' | 'skip' {
  return previous?.options.onDelete ?? 'fail'
}

/** Where a fresh checkpoint begins, if that was requested; undefined: with the current rows. */
async function beginningOf(
  deps: PlanDeps,
  run: CompiledRun,
  sources: readonly Table[],
): Promise<readonly ReadPosition[] | undefined> {
  const { from } = run.request
  const { reads } = run.compiled.query
  return from && startPositions({ from, sources, onDelete: onDeleteOf(run), reads, now: deps.now() })
}

interface RunStart {
  readonly isSameCheckpoint: boolean
  readonly begin: readonly ReadPosition[] | undefined
}

async function checkRun(
  deps: PlanDeps,
  run: CompiledRun,
  { isSameCheckpoint, begin }: RunStart,
): Promise<CheckedStart> {
  const { request, previous, compiled, settings } = run
  const { definitionId, environment } = request.key
  const folder = `${settings.checkpointRoot.replace(/\/+$/, '')}/${definitionId}/${environment}/${request.rolloutId}`
  const checked = await checkStart(
    { catalog: deps.catalog.current(), engine: deps.engine, checkpointIo: deps.checkpointIo, roots: deps.roots() },
    {
      sources: compiled.sources,
      sink: compiled.sink,
      checkpointLocation: isSameCheckpoint && previous ? previous.checkpointLocation : folder,
      createSinkTable: false,
      query: compiled.query,
      branch: request.branch,
    },
  )
  return beginAt(checked, isSameCheckpoint ? previous?.options.start?.map(fromStoredPosition) : begin)
}

interface CheckedPoints {
  readonly isSameCheckpoint: boolean
  readonly checked: CheckedStart
}

function chosenEngine(
  deps: PlanDeps,
  run: CompiledRun,
  { isSameCheckpoint, checked }: CheckedPoints,
): Promise<PipelineEngineChoice> {
  const { request, previous, compiled, settings } = run
  return engineOf(deps.spark, {
    requested: settings.engine,
    catalogName: deps.catalog.current().name,
    now: deps.now(),
    checked,
    query: compiled.query,
    branch: isSameCheckpoint ? previous?.options.branch : request.branch,
    onDelete: onDeleteOf(run),
  })
}

async function load({ catalog }: PlanDeps, name: string): Promise<Table> {
  const table = await loadIfPresent(catalog.current(), name)
  if (table === undefined) throw new DomainError('NOT_FOUND', `table ${name} does not exist`)
  return table
}

interface Progress {
  /** Where each source is read on; undefined: from the beginning. */
  readonly offsets: readonly (StreamingOffset | undefined)[]
  readonly isSameCheckpoint: boolean
}

/**
 * Refuses sources that cannot be read on, because their history was undone or has expired. The same checkpoint also
 * knows what it needs to read on after a snapshot that has expired, so only its run can tell.
 */
async function requireReadable(
  compiled: CompiledVersion,
  sources: readonly Table[],
  { offsets, isSameCheckpoint }: Progress,
): Promise<void> {
  for (const [at, table] of sources.entries()) {
    const offset = offsets[at]
    if (offset === undefined) continue
    if (isSameCheckpoint && snapshotById(table.metadata, offset.snapshotId) === undefined) continue
    await atNode(compiled, compiled.sources[at], async () => unreadHistory(table, { offset, isComplete: false }))
  }
}

/** The sink must not be in use by another pipeline or rollout, and rows must not return to a source. */
async function requireFree(
  { pipelines, deployments }: PlanDeps,
  { compiled, previous }: { readonly compiled: CompiledVersion; readonly previous: PipelineRecord | undefined },
): Promise<void> {
  const { sink: sinkTable, sources, query } = compiled
  const { diverts } = query.others
  const live = (await pipelines.listLive()).filter(({ id }) => id !== previous?.id)
  const user = live.find((pipeline) => pipeline.sinkTable === sinkTable)
  if (user) {
    throw new BlockedError(`pipeline ${user.id} is using the sink ${sinkTable}`, { type: 'pipeline', id: user.id })
  }
  const conflict = tableConflict(live, { sinkTable, diverts })
  if (conflict) throw new BlockedError(conflict.what, { type: 'pipeline', id: conflict.pipelineId })
  const rollout = (await deployments.listRollouts()).find(
    ({ pipelineId, rollout: other }) =>
      (previous === undefined || pipelineId !== previous.id) &&
      [other?.previous, other?.planned?.pipeline].some((pipeline) => pipeline?.sinkTable === sinkTable),
  )
  if (rollout) {
    const whose = `${rollout.definitionId} in ${rollout.environment}`
    const definition = { type: 'definition', id: rollout.definitionId } as const
    throw new BlockedError(`the rollout of ${whose} is using the sink ${sinkTable}`, definition)
  }
  const cycle = cycleThrough(live, { sources, sinkTable, options: { diverts } })
  const [last] = cycle?.slice(-1) ?? []
  if (cycle && last !== undefined) {
    const message = `rows of ${sinkTable} would return to the source through ${cycle.join(', ')}`
    throw new BlockedError(message, { type: 'pipeline', id: last })
  }
}

interface CheckedRun extends CompiledRun {
  readonly checked: CheckedStart
  readonly isSameCheckpoint: boolean
  readonly chosen: PipelineEngine
}

function pipelineOf(deps: PlanDeps, run: CheckedRun): PipelineRecord {
  const { request, version, previous, settings, compiled, checked, isSameCheckpoint, chosen } = run
  const now = deps.now().toISOString()
  const kept = isSameCheckpoint && previous ? previous : newIdentity(deps, request.user, now)
  return {
    id: kept.id,
    createdBy: kept.createdBy,
    createdAt: kept.createdAt,
    runId: deps.newId('run'),
    queryId: checked.queryId ?? kept.queryId,
    sources: compiled.sources,
    sinkTable: compiled.sink,
    checkpointLocation: checked.checkpointLocation,
    triggerInterval: settings.triggerInterval,
    triggerMs: triggerMsOf(settings.triggerInterval),
    engine: chosen,
    options: {
      onDelete: previous?.options.onDelete ?? 'fail',
      createSinkTable: false,
      maxFilesPerBatch: settings.maxFilesPerBatch,
      maxBytesPerBatch: settings.maxBytesPerBatch,
      ...(isSameCheckpoint && previous ? beginOptions(previous.options) : beginOptions(request)),
      ...otherTables(compiled.query.others),
    },
    desiredState: 'running',
    state: 'starting',
    warnings: kept.warnings,
    definitionId: version.definitionId,
    versionId: version.id,
    environment: request.key.environment,
    parameters: settings.parameters,
    startedAt: now,
  }
}

function newIdentity(deps: PlanDeps, createdBy: string, createdAt: string) {
  return { id: deps.newId('pipe'), createdBy, createdAt, queryId: crypto.randomUUID(), warnings: [] }
}

function triggerMsOf(interval: string): number {
  const ms = parseTriggerInterval(interval)
  if (ms === undefined) throw new DomainError('UNPROCESSABLE', `trigger_interval: "${interval}" is not an interval`)
  return ms
}

interface Fingerprinted extends Pick<DeploymentPlan, 'previous' | 'version' | 'basis'> {
  readonly run: PlannedPart | undefined
  readonly request: PlanRequest
}

function fingerprintOf({ previous, version, basis, run, request }: Fingerprinted): string {
  return sha256Hex(
    canonicalJson({
      action: request.action,
      checkpoint: request.checkpoint,
      from: request.from ?? null,
      branch: request.branch ? [request.branch.name, request.branch.publish] : [],
      pipeline: previous ? [previous.id, previous.runId, isLive(previous)] : [],
      version: version ? [version.id, version.contentHash] : [],
      newest: basis.newestVersionId,
      settings: basis.settings,
      problems: run?.problems.map(({ message }) => message) ?? [],
      tables: run?.tables ?? [],
    }),
  )
}
