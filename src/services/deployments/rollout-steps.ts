import { versionToRun } from './planning/candidates.ts'
import { DomainError } from '../../domain/errors.ts'
import { isUniqueViolation } from '../../storage/database-error.ts'
import type {
  DeploymentGuard,
  PlannedRun,
  Rollout,
  RolloutPhase,
} from '../../storage/stores/deployments/rollout-record.ts'
import { createPipelineStore, type PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import { toStoredPositions } from '../../streaming/checkpoint/stored-positions.ts'
import { describePipelineError, PipelineStopped } from '../../streaming/pipeline-errors.ts'
import { type CheckedStart, checkStart } from '../../streaming/run/start-checks.ts'
import { stampOf } from '../../streaming/recovery/recover.ts'
import type { RolloutDeps } from './deployment-deps.ts'
import { type DeploymentPlan, isLive, planDeployment } from './planning/deployment-plan.ts'
import { carryOffsets, hasRowsInSink } from './handover.ts'
import { type RollingOut, saveHeld } from './deployment-change.ts'
import { guardOf } from './rollback-guard.ts'
import { endRollout } from './rollout-end.ts'
import { deletePipeline, restorePipeline, writePipeline } from './rollout-pipelines.ts'
import { beginWhenOpen } from './waiting-rollout.ts'

/** What to do after a step: the next one at once, the same one again soon, nothing for now, or nothing more. */
export type StepResult = 'next' | 'wait' | 'leave' | 'done'

type Step = (deps: RolloutDeps, record: RollingOut) => Promise<StepResult>

/** A pipeline that retries for the third time has failed. */
const MAX_FAILURES = 3

/**
 * Takes one step of a rollout. Everything that a step changes in the state is one transaction, which only the holder of
 * the lease can commit, and everything before that can be repeated; so a step can be taken again after a crash at any
 * moment. Throws `Superseded`, and errors that are worth another try.
 */
export function takeStep(deps: RolloutDeps, record: RollingOut): Promise<StepResult> {
  return STEPS[record.rollout.phase](deps, record)
}

const STEPS: Readonly<Record<RolloutPhase, Step>> = {
  waiting_for_window: async (deps, record) => ((await beginWhenOpen(deps, record)) ? 'next' : 'leave'),
  validating: validate,
  stopping: stopOld,
  starting: startNew,
  watching: watchNew,
  withdrawing: withdrawNew,
  restoring: restoreOld,
}

/** Checks everything again before the old pipeline is touched, and stores what will be done. */
async function validate(deps: RolloutDeps, record: RollingOut): Promise<StepResult> {
  const { rollout } = record
  let plan: DeploymentPlan
  try {
    plan = await planDeployment(deps, {
      key: record,
      action: rollout.action,
      versionId: rollout.versionId,
      checkpoint: rollout.checkpoint,
      from: rollout.from,
      branch: rollout.branch,
      user: rollout.startedBy,
      rolloutId: rollout.id,
      isRollingOut: true,
    })
  } catch (error) {
    if (error instanceof DomainError) return refuseRollout(deps, record, { reason: error.message })
    throw error
  }
  const [problem] = plan.problems
  if (problem) return refuseRollout(deps, record, { reason: problem.message, plan })
  if (rollout.fingerprint !== undefined && rollout.fingerprint !== plan.fingerprint) {
    return refuseRollout(deps, record, { reason: 'something has changed since the plan was made', plan })
  }
  const { previous, planned, basis } = plan
  await deps.inTransaction(async (tx) => {
    if (previous && isLive(previous)) await createPipelineStore(tx).requestStop(previous.id)
    const stored: Rollout = {
      ...rollout,
      ...(previous ? { previous } : {}),
      ...(planned ? { planned } : {}),
      phase: 'stopping',
      phaseSinceMs: deps.now().getTime(),
    }
    const desired = planned?.pipeline.versionId
    await saveHeld(deps, tx, { ...record, ...(desired ? { desiredVersionId: desired } : {}), basis, rollout: stored })
  })
  return 'next'
}

interface Refusal {
  readonly reason: string
  readonly plan?: DeploymentPlan
}

/** Ends a rollout that may not begin; what runs keeps running. */
async function refuseRollout(deps: RolloutDeps, record: RollingOut, { reason, plan }: Refusal): Promise<StepResult> {
  const desired = plan?.version?.id ?? record.desiredVersionId
  const { rollout, runningVersionId } = record
  const versionId = plan?.version?.id ?? (await versionToRun(deps.stores, record, { ...rollout, runningVersionId }))
  const basis = plan?.basis ?? record.basis
  await deps.inTransaction((tx) =>
    endRollout(deps, tx, {
      record: {
        ...record,
        ...(basis ? { basis } : {}),
        rollout: { ...rollout, ...(versionId === undefined ? {} : { versionId }) },
      },
      state: 'failed',
      outcome: 'failed',
      desiredVersionId: desired,
      runningVersionId: record.runningVersionId,
      pipelineId: record.pipelineId,
      reason,
    }),
  )
  return 'done'
}

/** Waits until the old pipeline has stopped after its batch. */
async function stopOld(deps: RolloutDeps, record: RollingOut): Promise<StepResult> {
  const { previous, planned, action } = record.rollout
  const old = previous && (await deps.pipelines.find(previous.id))
  if (old && isLive(old)) {
    await requestStop(deps, record, old)
    return 'wait'
  }
  if (planned !== undefined && action !== 'undeploy') {
    await toPhase(deps, record, 'starting')
    return 'next'
  }
  await deps.inTransaction((tx) =>
    endRollout(deps, tx, {
      record,
      state: 'none',
      outcome: 'succeeded',
      desiredVersionId: undefined,
      runningVersionId: undefined,
      pipelineId: record.pipelineId,
      reason: undefined,
    }),
  )
  return 'done'
}

/** Starts the new pipeline; the record and the phase change together. */
async function startNew(deps: RolloutDeps, record: RollingOut): Promise<StepResult> {
  const { rollout } = record
  const { planned } = rollout
  if (planned === undefined) return giveUp(deps, record, 'nothing was planned')
  let pipeline: PipelineRecord
  try {
    pipeline = await preparePipeline(deps, rollout, planned)
  } catch (error) {
    const reason = permanentReason(error)
    if (reason !== undefined) return giveUp(deps, record, reason)
    if (deps.now().getTime() - rollout.phaseSinceMs < deps.watch.startMs) throw error
    return giveUp(deps, record, describePipelineError(error).message)
  }
  try {
    await deps.inTransaction(async (tx) => {
      await writePipeline(deps, tx, pipeline)
      await saveHeld(deps, tx, { ...record, rollout: inPhase(deps, rollout, 'watching') })
    })
  } catch (error) {
    if (isUniqueViolation(error)) return giveUp(deps, record, `another pipeline is using ${pipeline.sinkTable}`)
    throw error
  }
  await deps.supervisor.runNow(pipeline.id)
  return 'wait'
}

/** Writes where a new checkpoint starts, and checks the start once more, now that the old pipeline has stopped. */
async function preparePipeline(deps: RolloutDeps, rollout: Rollout, planned: PlannedRun): Promise<PipelineRecord> {
  const { pipeline, isSameCheckpoint } = planned
  if (!isSameCheckpoint) await carryOffsets(deps, rollout)
  const checked = await checkPlanned(deps, planned)
  const start = checked.start && toStoredPositions(pipeline.sources, checked.start)
  const stored = await deps.pipelines.find(pipeline.id)
  return {
    ...pipeline,
    startedAt: deps.now().toISOString(),
    options: { ...pipeline.options, ...(start ? { start } : {}) },
    positions: stored?.positions ?? start ?? toStoredPositions(pipeline.sources, checked.positions),
    ...(stored?.progress === undefined ? {} : { progress: stored.progress }),
    warnings: stored?.warnings ?? pipeline.warnings,
  }
}

/** Checks a start; a fresh checkpoint begins as requested, and the old pipeline has stopped, so that `now` is now. */
async function checkPlanned(deps: RolloutDeps, planned: PlannedRun): Promise<CheckedStart> {
  const { pipeline, sources, sinkUuid, isSameCheckpoint } = planned
  const { from, onDelete } = pipeline.options
  const { definitionId = '', versionId = '', environment = 'development', createdBy: user } = pipeline
  const { compiled, problems } = await deps.compile({ definitionId, versionId, environment, user })
  if (compiled === undefined) throw new DomainError('UNPROCESSABLE', problems[0]?.message ?? 'the version cannot run')
  const checked = await checkStart(
    { catalog: deps.catalog.current(), engine: deps.engine, checkpointIo: deps.checkpointIo, roots: deps.roots() },
    {
      sources: pipeline.sources,
      sink: pipeline.sinkTable,
      checkpointLocation: pipeline.checkpointLocation,
      createSinkTable: false,
      query: compiled.query,
      begin: from && !isSameCheckpoint ? { from, onDelete, now: deps.now() } : undefined,
    },
  )
  const now = [...checked.sources, ...(checked.sink ? [checked.sink] : [])].map(stampOf)
  const expected = [...sources.map(({ uuid }) => uuid), sinkUuid]
  const replaced = now.find(({ uuid }, at) => uuid !== expected[at])
  if (replaced) throw new DomainError('CONFLICT', `${replaced.table} was replaced during the rollout`)
  return checked
}

/** Watches the new pipeline until its first batch is committed, or it has nothing to read. */
async function watchNew(deps: RolloutDeps, record: RollingOut): Promise<StepResult> {
  const { rollout } = record
  const { planned } = rollout
  const pipeline = planned && (await deps.pipelines.find(planned.pipeline.id))
  if (planned === undefined || pipeline === undefined) return giveUp(deps, record, 'the new pipeline was deleted')
  if (pipeline.runId !== planned.pipeline.runId) return giveUp(deps, record, 'the new pipeline was started again')
  if (pipeline.progress?.run_id === pipeline.runId) return succeed(deps, record, planned)
  const failure = failureOf(pipeline)
  if (failure !== undefined) return giveUp(deps, record, failure)
  return watchIdle(deps, record, { planned, isIdle: pipeline.state === 'running' })
}

interface Watched {
  readonly planned: PlannedRun
  readonly isIdle: boolean
}

/** A pipeline that runs without a batch has nothing to read; for how long is stored, for other processes. */
async function watchIdle(deps: RolloutDeps, record: RollingOut, { planned, isIdle }: Watched): Promise<StepResult> {
  const nowMs = deps.now().getTime()
  const { idleSinceMs, ...active } = record.rollout
  if (isIdle && idleSinceMs !== undefined) {
    return nowMs - idleSinceMs >= deps.watch.idleMs ? succeed(deps, record, planned) : 'wait'
  }
  if (isIdle || idleSinceMs !== undefined) {
    const rollout: Rollout = isIdle ? { ...active, idleSinceMs: nowMs } : active
    await deps.inTransaction((tx) => saveHeld(deps, tx, { ...record, rollout }))
  }
  return 'wait'
}

function failureOf({ state, error }: PipelineRecord): string | undefined {
  const { message = 'no error is known', failures = 0 } = error ?? {}
  if (state === 'failed') return `it failed: ${message}`
  if (state === 'stopped' || state === 'stopping') return 'stopped during verification'
  return state === 'degraded' && failures >= MAX_FAILURES
    ? `it failed ${failures} times in a row: ${message}`
    : undefined
}

async function succeed(deps: RolloutDeps, record: RollingOut, planned: PlannedRun): Promise<StepResult> {
  const replaced = replacedBy(record, planned.pipeline)
  const guard = guardOf(record, planned, deps.now())
  await deps.inTransaction((tx) => endSucceeded(deps, tx, { record, pipeline: planned.pipeline, guard }))
  if (replaced) await deps.unpin(replaced)
  return 'done'
}

/** The old pipeline, when the new one is not the same one with another version. */
function replacedBy({ rollout: { previous } }: RollingOut, { id }: PipelineRecord): PipelineRecord | undefined {
  return previous && previous.id !== id ? previous : undefined
}

interface Success {
  readonly record: RollingOut
  readonly pipeline: PipelineRecord
  readonly guard?: DeploymentGuard | undefined
}

async function endSucceeded(deps: RolloutDeps, tx: Tx, { record, pipeline, guard }: Success): Promise<void> {
  const { action } = record.rollout
  const replaced = replacedBy(record, pipeline)
  if (replaced) await deletePipeline(deps, tx, replaced)
  await endRollout(deps, tx, {
    record,
    state: action === 'rollback' ? 'rolled_back' : 'in_sync',
    outcome: 'succeeded',
    desiredVersionId: pipeline.versionId,
    runningVersionId: pipeline.versionId,
    pipelineId: pipeline.id,
    reason: action === 'rollback' ? rollbackReason(record.rollout) : undefined,
    guard,
  })
}

function rollbackReason({ startedBy, because }: Rollout): string {
  return because === undefined ? `rolled back by ${startedBy}` : `rolled back by itself: ${because}`
}

/** Undoes a rollout: the new pipeline is stopped before the old one is restored. */
async function giveUp(deps: RolloutDeps, record: RollingOut, reason: string): Promise<StepResult> {
  const { rollout } = record
  await deps.inTransaction(async (tx) => {
    const { id, runId } = rollout.planned?.pipeline ?? {}
    const store = createPipelineStore(tx)
    const started = id === undefined ? undefined : await store.find(id)
    if (started && started.runId === runId) await store.requestStop(started.id)
    await saveHeld(deps, tx, { ...record, rollout: { ...inPhase(deps, rollout, 'withdrawing'), reason } })
  })
  return 'next'
}

/** Waits until the new pipeline has stopped; if it has committed rows that the old one would repeat, it goes on. */
async function withdrawNew(deps: RolloutDeps, record: RollingOut): Promise<StepResult> {
  const { planned } = record.rollout
  const pipeline = planned && (await deps.pipelines.find(planned.pipeline.id))
  if (planned === undefined || pipeline?.runId !== planned.pipeline.runId) {
    await toPhase(deps, record, 'restoring')
    return 'next'
  }
  if (isLive(pipeline)) {
    await requestStop(deps, record, pipeline)
    return 'wait'
  }
  if (!planned.isSameCheckpoint && (await hasRowsInSink(deps, record.rollout.id, planned))) {
    return keepNew(deps, record, pipeline)
  }
  await toPhase(deps, record, 'restoring')
  return 'next'
}

/** The new pipeline has committed a batch after all: the old one, on its own checkpoint, would repeat the rows. */
async function keepNew(deps: RolloutDeps, record: RollingOut, pipeline: PipelineRecord): Promise<StepResult> {
  const replaced = replacedBy(record, pipeline)
  const isStopped = pipeline.state === 'stopped'
  await deps.inTransaction(async (tx) => {
    if (isStopped) {
      await writePipeline(deps, tx, { ...pipeline, desiredState: 'running', state: 'starting' })
    }
    await endSucceeded(deps, tx, { record, pipeline })
  })
  if (isStopped) await deps.supervisor.runNow(pipeline.id)
  if (replaced) await deps.unpin(replaced)
  return 'done'
}

/**
 * Asks for the stop of a pipeline, in this process once per phase: a tick of its own process sees it otherwise. Throws
 * `Superseded` in a process that was paused: the pipeline may then run for a rollout that another one has finished.
 */
async function requestStop(deps: RolloutDeps, record: RollingOut, pipeline: PipelineRecord): Promise<void> {
  const { id, phase } = record.rollout
  const request = `${id} ${phase}`
  if (pipeline.desiredState === 'running') {
    await deps.inTransaction(async (tx) => {
      await createPipelineStore(tx).requestStop(pipeline.id)
      await saveHeld(deps, tx, record)
    })
  }
  if (deps.stopRequests.has(request)) return
  deps.stopRequests.add(request)
  deps.supervisor.stop(pipeline.id, 'graceful').catch((error: unknown) => {
    const { definitionId: definition_id, environment } = record
    deps.log.warn('a pipeline could not be stopped yet', { definition_id, environment, error })
  })
}

/** Starts the old pipeline again as it was; if it did not run before, it stays stopped. */
async function restoreOld(deps: RolloutDeps, record: RollingOut): Promise<StepResult> {
  const { previous, planned, reason = 'it could not be started' } = record.rollout
  const wasLive = previous !== undefined && isLive(previous) && previous.desiredState === 'running'
  try {
    await deps.inTransaction(async (tx) => {
      if (previous) await restorePipeline(deps, tx, { previous, planned, wasLive })
      await endRollout(deps, tx, {
        record,
        state: wasLive ? 'rolled_back' : 'failed',
        outcome: wasLive ? 'rolled_back' : 'failed',
        desiredVersionId: planned?.pipeline.versionId ?? record.desiredVersionId,
        runningVersionId: wasLive ? previous.versionId : undefined,
        pipelineId: previous?.id ?? planned?.pipeline.id,
        reason,
      })
    })
  } catch (error) {
    if (!isUniqueViolation(error) || previous === undefined) throw error
    return endUnrestored(deps, record, previous)
  }
  if (wasLive) await deps.supervisor.runNow(previous.id)
  return 'done'
}

/** Another pipeline took the sink of the old one: that is told, and nothing is started. */
async function endUnrestored(deps: RolloutDeps, record: RollingOut, previous: PipelineRecord): Promise<StepResult> {
  const reason = `${record.rollout.reason ?? ''}; the version before could not be restarted: another pipeline is using ${previous.sinkTable}`
  await deps.inTransaction((tx) =>
    endRollout(deps, tx, {
      record,
      state: 'failed',
      outcome: 'failed',
      desiredVersionId: record.desiredVersionId,
      runningVersionId: undefined,
      pipelineId: previous.id,
      reason,
    }),
  )
  return 'done'
}

async function toPhase(deps: RolloutDeps, record: RollingOut, phase: RolloutPhase): Promise<void> {
  const rollout = inPhase(deps, record.rollout, phase)
  await deps.inTransaction((tx) => saveHeld(deps, tx, { ...record, rollout }))
}

function inPhase(deps: RolloutDeps, rollout: Rollout, phase: RolloutPhase): Rollout {
  const { idleSinceMs: _, ...kept } = rollout
  return { ...kept, phase, phaseSinceMs: deps.now().getTime() }
}

/** Errors that another try cannot fix; undefined for all others. */
function permanentReason(error: unknown): string | undefined {
  const isPermanent = error instanceof DomainError || error instanceof PipelineStopped
  return isPermanent ? describePipelineError(error).message : undefined
}
