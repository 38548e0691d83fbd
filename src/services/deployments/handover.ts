import { loadIfPresent } from '../../catalog/load-if-present.ts'
import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { PlannedRun, PlannedSource, Rollout } from '../../storage/stores/deployments/rollout-record.ts'
import { Checkpoint } from '../../streaming/checkpoint/checkpoint.ts'
import { commitDiverted } from '../../streaming/sink/commit-diverted.ts'
import { fenceSink } from '../../streaming/sink/fence.ts'
import { readSinkState, type SinkProgress } from '../../streaming/sink/progress.ts'
import type { StreamingOffset } from '../../streaming/source/offset.ts'
import type { RolloutDeps } from './deployment-deps.ts'
import { readOldProgress } from './planning/old-progress.ts'
import { feedOffset } from './planning/sink-feeds.ts'

type HandoverDeps = Pick<RolloutDeps, 'catalog' | 'checkpointIo'>

/**
 * Creates the new checkpoint with the offsets of the sources that remain, or that were read into the sink before, after the
 * pipelines that did so can commit nothing more. Repeating it writes the same.
 */
export async function carryOffsets(deps: HandoverDeps, rollout: Handover): Promise<void> {
  const { planned } = rollout
  if (planned === undefined) return
  const offsets = {
    ...(await carriedOffsets(deps, rollout, planned)),
    ...(await resumedOffsets(deps, rollout, planned)),
  }
  const checkpoint = new Checkpoint(deps.checkpointIo, planned.pipeline.checkpointLocation)
  for (const [at, { carriedFrom, resumedFrom, table }] of planned.sources.entries()) {
    if (carriedFrom === undefined && resumedFrom === undefined) continue
    const offset = offsets[at]
    if (offset === undefined) {
      throw new DomainError('CONFLICT', `the checkpoint of ${table} has changed during the rollout`)
    }
    await checkpoint.writeInitial(at, offset)
  }
}

type Handover = Pick<Rollout, 'id' | 'planned' | 'previous'>

/** Offsets by the position of the source. */
type Offsets = Readonly<Record<number, StreamingOffset>>

async function carriedOffsets(
  deps: HandoverDeps,
  { id, previous }: Handover,
  { sources }: PlannedRun,
): Promise<Offsets> {
  if (previous === undefined || sources.every(({ carriedFrom }) => carriedFrom === undefined)) return {}
  const { sinkUuid: uuid } = await readOldProgress(deps, previous)
  await fenceSink(deps.catalog.current(), { table: previous.sinkTable, uuid, operationId: `${id}-start` })
  const old = await readOldProgress(deps, previous)
  await commitLeft(deps, previous.sinkTable, previous.queryId)
  if (old.branch !== undefined) {
    throw new DomainError(
      'CONFLICT',
      `the rows of the pipeline before are only in the branch ${old.branch}: publish it first`,
    )
  }
  return byPosition(sources, ({ carriedFrom, uuid: source }) =>
    carriedFrom !== undefined && old.sourceUuids[carriedFrom] === source ? old.offsets[carriedFrom] : undefined,
  )
}

async function resumedOffsets(deps: HandoverDeps, { id }: Handover, planned: PlannedRun): Promise<Offsets> {
  const { sources, sinkUuid: uuid, pipeline } = planned
  if (sources.every(({ resumedFrom }) => resumedFrom === undefined)) return {}
  const catalog = deps.catalog.current()
  await fenceSink(catalog, { table: pipeline.sinkTable, uuid, operationId: `${id}-resume` })
  const sink = await catalog.loadTable(parseIdentifier(pipeline.sinkTable))
  if (sink.metadata.tableUuid !== uuid) return {}
  for (const { resumedFrom } of sources) {
    if (resumedFrom !== undefined) await commitLeft(deps, pipeline.sinkTable, resumedFrom)
  }
  return byPosition(sources, ({ resumedFrom, uuid: source }) =>
    resumedFrom === undefined ? undefined : feedOffset(sink, resumedFrom, source),
  )
}

/** Commits diverted rows that a pipeline, which is fenced, has left uncommitted: nobody else does so when another one reads on. */
async function commitLeft({ catalog, checkpointIo }: HandoverDeps, sinkTable: string, queryId: string): Promise<void> {
  const sink = await loadIfPresent(catalog.current(), sinkTable)
  const progress = sink && readSinkState(sink.metadata, queryId).progress
  if (sink === undefined || progress === undefined) return
  const isCommitted = (batchId: number): Promise<boolean> => hasCommitted(checkpointIo, { queryId, progress, batchId })
  const checkLease = (): void => undefined
  await commitDiverted({ catalog: catalog.current(), sink, queryId, progress, checkpoint: { isCommitted }, checkLease })
}

interface CommittedBatch {
  readonly queryId: string
  readonly progress: SinkProgress
  readonly batchId: number
}

/** Whether the checkpoint of a pipeline has a batch; only read, because others may write its location, which is in the sink. */
async function hasCommitted(io: FileIO, { queryId, progress, batchId }: CommittedBatch): Promise<boolean> {
  const { checkpointLocation, positions } = progress
  if (checkpointLocation === '') return false
  const state = await new Checkpoint(io, checkpointLocation).read(positions.length)
  return state.queryId === queryId && (state.lastCommit ?? -1) >= batchId
}

function byPosition(
  sources: readonly PlannedSource[],
  offsetOf: (source: PlannedSource) => StreamingOffset | undefined,
): Offsets {
  const entries = sources.map((source, at) => [at, offsetOf(source)] as const)
  return Object.fromEntries(entries.flatMap(([at, offset]) => (offset === undefined ? [] : [[at, offset]])))
}

/** Whether the stopped pipeline has committed rows; it cannot commit any afterwards. */
export async function hasRowsInSink(
  { catalog }: Pick<HandoverDeps, 'catalog'>,
  rolloutId: string,
  { pipeline, sinkUuid: uuid }: PlannedRun,
): Promise<boolean> {
  await fenceSink(catalog.current(), { table: pipeline.sinkTable, uuid, operationId: `${rolloutId}-undo` })
  const sink = await loadIfPresent(catalog.current(), pipeline.sinkTable)
  return sink?.metadata.tableUuid === uuid && readSinkState(sink.metadata, pipeline.queryId).lastBatch >= 0
}
