import type { Engine } from '../../engines/engine.ts'
import { IcebergError, type IcebergErrorCode, isIcebergError } from '../../iceberg/errors.ts'
import { snapshotById } from '../../iceberg/metadata/metadata.ts'
import { planFiles } from '../../iceberg/scan/scan.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import { stageRewrite } from '../../iceberg/update/stage/stage-rewrite.ts'
import { CarryOver } from './carry-over.ts'
import { parseCompactionOptions } from './options.ts'
import { metricColumns } from './plan-layout.ts'
import { planCompaction } from './planner.ts'
import type { PlanCompactionInput } from './planner.ts'
import type { CompactionGroup, CompactionPlan } from './plan.ts'
import { CompactionProgressMeter } from './progress.ts'
import type { CompactionProgress } from './progress.ts'
import { CompactionTally } from './result.ts'
import type { CompactionDetails } from './result.ts'
import { discardRewritten, rewriteGroups } from './group-rewrite.ts'
import type { RewrittenGroup } from './group-rewrite.ts'
import { loadTarget, type OperationRun, tryCommitChange } from '../operation-commit.ts'
import type { OperationHooks } from '../operation-hooks.ts'

export interface CompactionHooks extends OperationHooks {
  readonly onProgress?: (progress: CompactionProgress) => void
}

export interface RunCompactionInput extends OperationRun {
  readonly engine: Engine
  /** Options under their wire names; see `parseCompactionOptions`. */
  readonly request: Readonly<Record<string, unknown>>
  /** Unique; part of the names of all files written, and recorded in the snapshot. */
  readonly operationId: string
  /** The plan of the request for the table as loaded, to save planning. */
  readonly plan?: CompactionPlan | undefined
  readonly hooks?: CompactionHooks
}

/** How often groups hit by a concurrent change are planned again before they fail. */
const MAX_ROUNDS = 5
/** How often a round carries deletes over before its remaining groups are planned again. */
const MAX_CARRIES = 100

/**
 * Plans a compaction of a table as it is loaded; writes nothing. `engine`: who will run it, see {@link planCompaction}.
 * Errors as of the options, the planner and the scan.
 */
export async function planTableCompaction(
  table: Table,
  request: Readonly<Record<string, unknown>>,
  engine?: PlanCompactionInput['engine'],
): Promise<CompactionPlan> {
  const { metadata } = table
  const options = parseCompactionOptions(request, metadata.properties)
  const tasks = await planFiles(table, { metrics: metricColumns(metadata, options) })
  return planCompaction({ metadata, tasks, options, engine })
}

/**
 * Compacts a table: rewrites each planned group, proves that no row was lost or changed, and replaces the old files by one commit
 * (several with `partial_progress`, or when a concurrent change hit some of the groups and they had to be done again).
 * Position deletes and deletion vectors that others commit meanwhile are carried over to the new files.
 *
 * Errors: `ROWS_NOT_CONSERVED`, `CANCELLED`, `COMMIT_CONFLICT`, those of engine, catalog and FileIO: nothing of the
 * failed part is visible and its new files are deleted. `COMMIT_STATE_UNKNOWN`: every file is kept.
 */
export async function runCompaction(input: RunCompactionInput): Promise<CompactionDetails> {
  const table = await loadTarget(input)
  const plan = input.plan ?? (await planTableCompaction(table, input.request))
  const tally = new CompactionTally(plan)
  if (plan.groups.length === 0) return tally.details()
  throwIfCancelled(input.signal)
  await input.hooks?.onCleanup?.({ prefixes: [input.operationId] })
  const run: CompactionRun = {
    input,
    plan,
    tally,
    meter: new CompactionProgressMeter(plan.totals, input.hooks?.onProgress),
    nextRound: 0,
    newest: table,
  }
  if (plan.options.partialProgress) await compactInBatches(run, table)
  else await compactGroups(run, table, plan.groups)
  return tally.details()
}

interface CompactionRun {
  readonly input: RunCompactionInput
  readonly plan: CompactionPlan
  readonly tally: CompactionTally
  readonly meter: CompactionProgressMeter
  /** Counts the rounds of the whole run: file names of a repeated group must differ. */
  nextRound: number
  /** The table as it was last loaded or committed. */
  newest: Table
}

/** After these errors, the remaining batches are skipped. */
const ENDS_RUN: ReadonlySet<IcebergErrorCode> = new Set(['CANCELLED', 'COMMIT_STATE_UNKNOWN'])

async function compactInBatches(run: CompactionRun, table: Table): Promise<void> {
  const { groups, options } = run.plan
  const size = Math.ceil(groups.length / options.partialProgressMaxCommits)
  for (let start = 0; start < groups.length; start += size) {
    const batch = groups.slice(start, start + size)
    try {
      await compactGroups(run, table, batch)
    } catch (error) {
      if (!isIcebergError(error) || ENDS_RUN.has(error.code)) throw error
      run.tally.failed(batch.map((group) => ({ group, error })))
    }
  }
}

/**
 * Brings groups to a commit, in rounds: rewrite, commit; deletes that arrived meanwhile are carried over to the new files. When
 * that is impossible for some groups, because their files were replaced, commit the others and plan these again from the
 * current table.
 */
async function compactGroups(run: CompactionRun, table: Table, groups: readonly CompactionGroup[]): Promise<void> {
  let start = table
  let pending = groups
  const committedBefore = run.tally.committedGroups
  const maxRounds = run.plan.options.onConflict === 'fail' ? 1 : MAX_ROUNDS
  for (let round = 1; pending.length > 0; round += 1) {
    const { conflicting, cause } = await runRound(run, start, pending)
    if (conflicting.length === 0) return
    if (round >= maxRounds) {
      if (run.tally.committedGroups === committedBefore) throw cause
      run.tally.failed(conflicting.map((group) => ({ group, error: cause })))
      return
    }
    start = await reload(run)
    pending = await replan(run, start, conflicting)
    run.meter.restart(conflicting, pending)
  }
}

interface RoundOutcome {
  readonly conflicting: readonly CompactionGroup[]
  readonly cause?: unknown
}

async function runRound(run: CompactionRun, start: Table, groups: readonly CompactionGroup[]): Promise<RoundOutcome> {
  const { input, plan, meter } = run
  const fileNamePrefix = `${input.operationId}-r${run.nextRound}`
  const { rewritten, failed } = await rewriteGroups({
    engine: input.engine,
    table: start,
    groups,
    sortOrder: plan.sortOrder,
    clustering: plan.clustering,
    fileNamePrefix,
    options: plan.options,
    ...(input.signal === undefined ? {} : { signal: input.signal }),
    onGroupProgress: (group, progress) => meter.groupProgress(group, progress),
    onGroupDone: (group) => meter.groupDone(group),
  })
  run.nextRound += 1
  run.tally.failed(failed)
  const { engine, signal } = input
  const carry = new CarryOver({ engine, start, reload: () => reload(run), fileNamePrefix, signal })
  try {
    return await commitRewritten(run, { start, carry }, rewritten)
  } finally {
    await carry.close()
  }
}

interface Round {
  readonly start: Table
  readonly carry: CarryOver
}

/** Commits rewritten groups, with deletes that arrived meanwhile; the new files of groups that must be done again are deleted. */
async function commitRewritten(
  run: CompactionRun,
  round: Round,
  rewritten: readonly RewrittenGroup[],
): Promise<RoundOutcome> {
  let candidates = rewritten
  const conflicting: CompactionGroup[] = []
  let cause: unknown
  for (let attempt = 1; candidates.length > 0; attempt += 1) {
    const conflict = await commitOrExplain(run, round, candidates)
    if (conflict === undefined) break
    cause = conflict
    const lost = await resolveConflict(run, round, { candidates, attempt })
    await discard(round, lost)
    for (const { group } of lost) conflicting.push(group)
    candidates = candidates.filter((candidate) => !lost.includes(candidate))
  }
  return { conflicting, cause }
}

/** Takes account of a concurrent change; returns the groups that must be done again. */
async function resolveConflict(
  run: CompactionRun,
  round: Round,
  { candidates, attempt }: { readonly candidates: readonly RewrittenGroup[]; readonly attempt: number },
): Promise<readonly RewrittenGroup[]> {
  const { onConflict, partialProgress } = run.plan.options
  // one commit was asked for: it fails as a whole
  if (onConflict === 'fail' && !partialProgress) return candidates
  try {
    const isCarrying = onConflict === 'carry_over' && attempt < MAX_CARRIES
    if (isCarrying) return await round.carry.update(candidates)
    const changed = await round.carry.findChanged(candidates)
    return changed.length > 0 ? changed : candidates
  } catch (error) {
    await discard(round, candidates)
    throw error
  }
}

/** Deletes what was written for groups that are not committed. */
async function discard({ start, carry }: Round, groups: readonly RewrittenGroup[]): Promise<void> {
  await discardRewritten(start, groups)
  await carry.discard(groups)
}

/** Wraps a refusal by stageRewrite: staging the same rewrite again cannot help, so the commit must not retry it. */
class RewriteRefused extends Error {
  readonly conflict: IcebergError

  constructor(conflict: IcebergError) {
    super(conflict.message, { cause: conflict })
    this.conflict = conflict
  }
}

/** Commits rewritten groups; returns the conflict when a concurrent change touched them, throws everything else. */
async function commitOrExplain(
  run: CompactionRun,
  round: Round,
  rewritten: readonly RewrittenGroup[],
): Promise<IcebergError | undefined> {
  const { input, tally, meter } = run
  const { start, carry } = round
  meter.committing()
  const outcome = await tryCommitChange({ ...input, loaded: run.newest }, async (fresh) => {
    try {
      return await stageRewrite(fresh, {
        ...startingPoint(start),
        replaced: rewritten.flatMap(({ group }) => group.inputs.map((task) => task.dataFile)),
        added: rewritten.flatMap(({ added }) => added),
        positionDeletes: carry.deletesOf(rewritten),
        operationId: input.operationId,
      })
    } catch (error) {
      throw isIcebergError(error, 'COMMIT_CONFLICT') ? new RewriteRefused(error) : error
    }
  })
  if (outcome.kind === 'committed') {
    run.newest = outcome.table
    tally.committed(rewritten, { ...outcome.staged, carriedRows: carry.rowsOf(rewritten) })
    return undefined
  }
  if (outcome.kind === 'refused') {
    if (outcome.error instanceof RewriteRefused) return outcome.error.conflict
    await discard(round, rewritten)
  }
  throw outcome.error
}

/** Snapshot that the inputs were read from; new files carry its sequence number, so later equality deletes still apply. */
function startingPoint({ metadata }: Table): { startingSnapshotId: bigint; startingSequenceNumber: number } {
  const snapshot =
    metadata.currentSnapshotId === undefined ? undefined : snapshotById(metadata, metadata.currentSnapshotId)
  if (snapshot === undefined) {
    throw new IcebergError('INVALID_METADATA', 'the table has no current snapshot to start a compaction from')
  }
  return { startingSnapshotId: snapshot.snapshotId, startingSequenceNumber: snapshot.sequenceNumber }
}

/** Plans what is left of the conflicting groups' files, with the same options, from the current table. */
async function replan(
  run: CompactionRun,
  table: Table,
  conflicting: readonly CompactionGroup[],
): Promise<readonly CompactionGroup[]> {
  const wanted = new Set(conflicting.flatMap((group) => group.inputs.map((task) => task.dataFile.filePath)))
  const { metadata } = table
  const { options } = run.plan
  const tasks = await planFiles(table, { metrics: metricColumns(metadata, options) })
  const remaining = tasks.filter((task) => wanted.has(task.dataFile.filePath))
  const { groups, skipped } = planCompaction({ metadata, tasks: remaining, options })
  run.tally.skipped(skipped)
  return groups
}

async function reload(run: CompactionRun): Promise<Table> {
  run.newest = await run.input.catalog.loadTable(run.input.identifier)
  return run.newest
}
