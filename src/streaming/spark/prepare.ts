import type { Catalog } from '../../catalog/catalog.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { SparkStream } from '../../engines/spark/connect/spark-plan.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import { currentSchema, currentSpec } from '../../iceberg/metadata/metadata.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { SparkQueryTable } from '../../storage/stores/pipelines/pipeline-store.ts'
import { Checkpoint } from '../checkpoint/checkpoint.ts'
import { recover, type RecoverRequest, requireOwnCheckpoint } from '../recovery/recover.ts'
import type { PipelineSpec } from '../pipeline-spec.ts'
import { readSinkState } from '../sink/progress.ts'
import { commitDiverted } from '../sink/commit-diverted.ts'
import { fenceSink } from '../sink/fence.ts'
import { fitQuery } from '../sink/schema.ts'
import type { ReadPosition } from '../source/history.ts'
import { isStart } from '../source/offset.ts'
import { SourcePlanner } from '../source/plan.ts'
import { IncompatibleSchemas, PipelineStopped } from '../pipeline-errors.ts'
import type { TableWatch } from '../source/table-watch.ts'
import { BRANCH_PROBLEM, firstSparkOffset, SPARK_REMEDY, sparkProblem, writesToBranch } from './readable.ts'
import { streamName } from './stream-name.ts'
import { droppedColumnProblem, type SparkReading } from './unread-columns.ts'

export interface PrepareDeps {
  readonly catalog: () => Catalog
  readonly tables: TableWatch
  readonly checkpointIo: FileIO
  readonly now: () => Date
  /** Throws when another process runs the pipeline now. */
  readonly checkLease: () => void
}

/** A pipeline that Spark can run from where its checkpoint stands. */
export interface PreparedStream {
  readonly stream: SparkStream
  /** The tables with their schemas, sources first. */
  readonly tables: readonly SparkQueryTable[]
  /** How far the sources are read. */
  readonly positions: readonly ReadPosition[]
}

/** Where a pipeline runs in Spark. */
export interface SparkTarget {
  /** The name of the catalog in Spark. */
  readonly sparkCatalog: string
  /** The sources and their schemas when the pipeline was prepared for the first time; undefined when that is not known. */
  readonly began?: readonly SparkQueryTable[] | undefined
}

/**
 * Brings checkpoint and sink to a state from which Spark reads every row exactly once, and describes the query. Throws
 * `PipelineStopped` when the pipeline cannot go on, `NOT_ON_SPARK` when only the embedded engine can, and
 * `IncompatibleSchemas`.
 */
export async function prepareStream(
  { catalog, tables, checkpointIo, now, checkLease }: PrepareDeps,
  spec: PipelineSpec,
  { sparkCatalog, began }: SparkTarget,
): Promise<PreparedStream> {
  spec.query.requireRunnable?.()
  const sources = await Promise.all(spec.sources.map((identifier) => tables.current(identifier)))
  const sink = await tables.current(spec.sink)
  const checkpoint = new Checkpoint(checkpointIo, spec.checkpointLocation)
  const planners = sources.map(() => new SourcePlanner())
  if (writesToBranch(readSinkState(sink.metadata, spec.queryId), spec.branch)) {
    throw new PipelineStopped('NOT_ON_SPARK', BRANCH_PROBLEM)
  }
  const isNew = await beginAtFirstSnapshots({ spec, checkpoint, sources, sink }, checkLease)
  const recovered = await recover({ spec, checkpoint, planners, sources, sink, nowMs: now().getTime() })
  const { positions, pending } = recovered
  const { progress } = recovered.sink
  const { queryId } = spec
  if (progress !== undefined)
    await commitDiverted({ catalog: catalog(), sink, queryId, progress, checkpoint, checkLease })
  if (pending !== undefined) await fence(catalog(), sink, `fence-${spec.runId}-${pending.batchId}`)
  await requireReadable({ spec, sources, planners, positions })
  const known = recovered.sink.progress?.pairs ?? []
  const unread = { query: spec.query, sources, sink, known, positions: isNew ? [] : positions }
  await requireNoDroppedColumn({ ...unread, began: recovered.nextBatch === 0 ? began : undefined })
  const fitted = await fitQuery({ catalog: catalog(), query: spec.query, sources, sink, known })
  const schemas = sources.map(({ metadata }) => currentSchema(metadata))
  const batch = await spec.query.sparkBatch?.({ sources: schemas, sink: currentSchema(fitted.sink.metadata), known })
  if (batch === undefined) throw new PipelineStopped('NOT_ON_SPARK', 'the query of this pipeline cannot run on Spark')
  if (batch.problems.length > 0) throw new IncompatibleSchemas(batch.problems.join('; '))
  const stream = streamOf(spec, { query: batch.query, sink: fitted.sink, sparkCatalog })
  return { stream, tables: [...sources, fitted.sink].map(asQueryTable), positions }
}

interface Readings {
  readonly spec: PipelineSpec
  readonly sources: readonly Table[]
  readonly planners: readonly SourcePlanner[]
  readonly positions: readonly ReadPosition[]
}

async function requireReadable({ spec, sources, planners, positions }: Readings): Promise<void> {
  for (const [at, table] of sources.entries()) {
    const start = positions[at]
    const planner = planners[at]
    if (start === undefined || planner === undefined) continue
    const problem = sparkProblem({ table, position: start, onDelete: spec.onDelete })
    if (problem !== undefined) throw new PipelineStopped('NOT_ON_SPARK', `${problem}: ${SPARK_REMEDY}`)
    // what would stop the embedded engine now would stop Spark, but without telling why
    await planner.plan({ table, start, limits: { maxFiles: 1, maxBytes: 1 }, onDelete: spec.onDelete })
  }
}

async function requireNoDroppedColumn(reading: SparkReading): Promise<void> {
  const problem = await droppedColumnProblem(reading)
  if (problem !== undefined) throw new PipelineStopped('NOT_ON_SPARK', `${problem}: ${SPARK_REMEDY}`)
}

/** Makes a commit of the embedded engine that was prepared for the batch conflict: Spark is about to run the batch. */
async function fence(catalog: Catalog, { identifier, metadata }: Table, operationId: string): Promise<void> {
  await fenceSink(catalog, { table: formatIdentifier(identifier), uuid: metadata.tableUuid, operationId })
}

/** A table as a query in Spark knows it. */
export function asQueryTable({ metadata }: Table): SparkQueryTable {
  return { uuid: metadata.tableUuid, schemaId: currentSchema(metadata).schemaId }
}

/**
 * A new checkpoint begins where the pipeline was asked to, else with the first snapshots of its sources, because Spark
 * reads by snapshot. True for a new one that reads all of them.
 */
async function beginAtFirstSnapshots(
  request: Pick<RecoverRequest, 'spec' | 'checkpoint' | 'sources' | 'sink'>,
  checkLease: () => void,
): Promise<boolean> {
  const { checkpoint, sources, spec } = request
  const state = await checkpoint.read(sources.length)
  requireOwnCheckpoint(request, state)
  const { latest, initial } = state
  if (latest !== undefined) return false
  checkLease()
  await checkpoint.removeUnfinished()
  for (const [at, table] of sources.entries()) {
    const asked = spec.start?.[at]?.offset
    const from = asked === undefined || isStart(asked) ? firstSparkOffset(table) : asked
    const first = initial[at] === undefined ? from : undefined
    if (first !== undefined && !isStart(first)) await checkpoint.writeInitial(at, first)
  }
  return spec.start === undefined && initial.every((offset) => offset === undefined)
}

interface Streamed {
  readonly query: string
  readonly sink: Table
  readonly sparkCatalog: string
}

function streamOf(spec: PipelineSpec, { query, sink, sparkCatalog }: Streamed): SparkStream {
  const options = {
    'streaming-max-files-per-micro-batch': String(spec.limits.maxFiles),
    ...(spec.onDelete === 'skip'
      ? { 'streaming-skip-overwrite-snapshots': 'true', 'streaming-skip-delete-snapshots': 'true' }
      : {}),
  }
  const streams = spec.sources.map((table, at) => [streamName(at), { table: inSpark(sparkCatalog, table), options }])
  return {
    name: spec.pipelineId,
    source: { sql: { query }, streams: Object.fromEntries(streams) },
    sink: inSpark(sparkCatalog, spec.sink),
    checkpointLocation: spec.checkpointLocation,
    triggerMs: spec.triggerMs,
    fanout: currentSpec(sink.metadata).fields.length > 0,
  }
}

/** The parts of a table's name in Spark. */
export function inSpark(main: string, { catalog = main, namespace, name }: TableIdentifier): readonly string[] {
  return [catalog, ...namespace, name]
}
