import {
  BRANCH_PROGRESS_PREFIX,
  PROGRESS_PREFIX,
  stagedFromJson,
  type StagedRows,
  stagedToJson,
} from '../../catalog/ownership/staged-rows.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import {
  asObject,
  intList,
  optionalArray,
  jsonInteger,
  optionalCount,
  optionalLong,
  optionalString,
  requireArray,
  requireCount,
  requireString,
} from '../../iceberg/json/json-fields.ts'
import { parseJson, stringifyJson } from '../../iceberg/json/lossless-json.ts'
import type { JsonObject, JsonValue } from '../../iceberg/json/lossless-json.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import { stampFromJson, stampToJson } from '../checkpoint/checkpoint.ts'
import type { TableStamp } from '../checkpoint/checkpoint.ts'
import type { ColumnPair } from './column-mapping.ts'
import type { ReadPosition } from '../source/history.ts'
import { formatOffset, offsetFromJson, offsetToJson } from '../source/offset.ts'

/** The last batch of a pipeline in its sink, written in the same commit as the rows of the batch. */
export interface SinkProgress {
  readonly pipelineId: string
  readonly runId: string
  readonly batchId: number
  readonly positions: readonly ReadPosition[]
  readonly sources: readonly TableStamp[]
  readonly checkpointLocation: string
  readonly pairs: readonly ColumnPair[]
  /** See `CheckpointOwner`. */
  readonly countsByAge: boolean
  /** Field ids of the columns that rows are merged by; empty: they are appended. */
  readonly keyIds: readonly number[]
  /** The branch that has the rows of all batches so far; absent: `main`. */
  readonly branch?: ProgressBranch
  /** Rows of the batch that other tables get after it; absent: none. */
  readonly diverting?: readonly StagedRows[]
  /** In a table of diverted rows: how many the batch diverted into it. */
  readonly divertedRows?: number
}

/** A branch with rows that `main` does not have yet. */
export interface ProgressBranch {
  readonly name: string
  /** The snapshot of `main` on which the branch began; undefined: the table was empty. */
  readonly base: bigint | undefined
}

/** The state of a query in a sink, from the table property and the snapshot summaries. */
export interface SinkState {
  /** The last batch in the sink, written by us or by Spark; -1 when there is none. */
  readonly lastBatch: number
  /** The run that wrote it; undefined when it was Spark's. */
  readonly runId: string | undefined
  /** Our own record; it describes `lastBatch` unless Spark has written later batches. */
  readonly progress: SinkProgress | undefined
}

/** A batch in a snapshot's summary. */
export interface SnapshotBatch {
  readonly queryId: string
  readonly batchId: number
  /** Undefined when Spark wrote it. */
  readonly pipelineId: string | undefined
}

const VERSION = 1

/** The sink's table property that stores the progress of a query, so that snapshot expiry cannot lose it. */
export function progressProperty(queryId: string): string {
  return `${PROGRESS_PREFIX}${queryId}`
}

/** The sink's table property that stores the progress of a query while its rows are only in a branch. */
export function branchProperty(queryId: string): string {
  return `${BRANCH_PROGRESS_PREFIX}${queryId}`
}

/** The progress as a table property. */
export function formatProgress(progress: SinkProgress): string {
  return stringifyJson({
    version: VERSION,
    pipeline_id: progress.pipelineId,
    run_id: progress.runId,
    batch_id: progress.batchId,
    offsets: progress.positions.map(positionToJson),
    sources: progress.sources.map(stampToJson),
    checkpoint_location: progress.checkpointLocation,
    columns: progress.pairs.map((pair) => [...pair]),
    ...(progress.countsByAge ? { counts_by_age: true } : {}),
    ...(progress.keyIds.length > 0 ? { key: [...progress.keyIds] } : {}),
    ...(progress.branch === undefined ? {} : branchToJson(progress.branch)),
    ...(progress.diverting === undefined ? {} : { diverting: progress.diverting.map(stagedToJson) }),
    ...(progress.divertedRows === undefined ? {} : { diverted_rows: progress.divertedRows }),
  })
}

/** Summary entries of a batch's snapshot: ours, and those that Spark uses to recognise a batch of the same query. */
export function batchSummary(queryId: string, progress: SinkProgress): Record<string, string> {
  return {
    'lockhouse.pipeline-id': progress.pipelineId,
    'lockhouse.run-id': progress.runId,
    'lockhouse.batch-id': String(progress.batchId),
    'lockhouse.source-offset': progress.positions.map(({ offset }) => formatOffset(offset)).join('\n'),
    'spark.sql.streaming.queryId': queryId,
    'spark.sql.streaming.epochId': String(progress.batchId),
  }
}

/** The batch that a snapshot of a sink contains, of a pipeline or of Spark; undefined when it is no batch. */
export function batchOf({ summary }: Snapshot): SnapshotBatch | undefined {
  const queryId = summary['spark.sql.streaming.queryId']
  const batchId = Number(summary['spark.sql.streaming.epochId'])
  if (queryId === undefined || !Number.isSafeInteger(batchId)) return undefined
  return { queryId, batchId, pipelineId: summary['lockhouse.pipeline-id'] }
}

/**
 * The state of a query in a sink: its table property, or a newer snapshot of `main` with the query's id. While its rows are
 * only in a branch, its state there.
 */
export function readSinkState(metadata: TableMetadata, queryId: string): SinkState {
  const progress = readProgress(metadata, branchProperty(queryId)) ?? readProgress(metadata, progressProperty(queryId))
  const ours = progress?.batchId ?? -1
  const newest = newestBatch(metadata, queryId)
  const stamped = newest && batchOf(newest)?.batchId
  if (stamped === undefined || stamped <= ours) return { lastBatch: ours, runId: progress?.runId, progress }
  return { lastBatch: stamped, runId: undefined, progress }
}

/** The progress of a query by its id. */
export interface KnownProgress {
  readonly queryId: string
  readonly progress: SinkProgress
}

/**
 * The progress of every query in the properties of a table, without those whose rows are only in a branch, and those that only
 * diverted rows into it.
 */
export function listProgress(metadata: TableMetadata): KnownProgress[] {
  return listWith(metadata, PROGRESS_PREFIX).filter(({ progress }) => progress.divertedRows === undefined)
}

/** The progress of every query whose rows are only in a branch. */
export function listBranchProgress(metadata: TableMetadata): KnownProgress[] {
  return listWith(metadata, BRANCH_PROGRESS_PREFIX)
}

function listWith(metadata: TableMetadata, prefix: string): KnownProgress[] {
  return Object.keys(metadata.properties)
    .filter((key) => key.startsWith(prefix))
    .flatMap((key) => {
      const queryId = key.slice(prefix.length)
      const progress = readProgress(metadata, key)
      return progress === undefined ? [] : [{ queryId, progress }]
    })
}

function readProgress(metadata: TableMetadata, name: string): SinkProgress | undefined {
  const text = metadata.properties[name]
  if (text === undefined) return undefined
  try {
    return parseProgress(text)
  } catch (cause) {
    if (isIcebergError(cause, 'UNSUPPORTED')) throw cause
    throw new IcebergError(
      'INVALID_METADATA',
      `the table property "${name}" with the progress of a pipeline is damaged`,
      {
        cause,
      },
    )
  }
}

function parseProgress(text: string): SinkProgress {
  const where = 'progress'
  const json = asObject(parseJson(text), where)
  const version = requireCount(json, 'version', where)
  if (version > VERSION) {
    throw new IcebergError(
      'UNSUPPORTED',
      `the sink's progress has version ${version}: it was written by a newer version of this service`,
    )
  }
  const branch = branchFromJson(json)
  return {
    ...(branch === undefined ? {} : { branch }),
    pipelineId: requireString(json, 'pipeline_id', where),
    runId: requireString(json, 'run_id', where),
    batchId: requireCount(json, 'batch_id', where),
    positions: requireArray(json, 'offsets', where).map(positionFromJson),
    sources: requireArray(json, 'sources', where).map((source) => stampFromJson(asObject(source, where), where)),
    checkpointLocation: optionalString(json, 'checkpoint_location', where) ?? '',
    pairs: requireArray(json, 'columns', where).map((pair) => {
      const [sourceId, sinkId] = intList(Array.isArray(pair) ? pair : [], where)
      if (sourceId === undefined || sinkId === undefined) throw new IcebergError('INVALID_METADATA', 'no pair')
      return [sourceId, sinkId] as const
    }),
    countsByAge: json['counts_by_age'] === true,
    keyIds: intList(optionalArray(json, 'key', where) ?? [], where),
    ...divertedFromJson(json),
  }
}

function divertedFromJson(json: JsonObject): Pick<SinkProgress, 'diverting' | 'divertedRows'> {
  const where = 'progress'
  const diverting = optionalArray(json, 'diverting', where)
  const divertedRows = optionalCount(json, 'diverted_rows', where)
  return {
    ...(diverting === undefined ? {} : { diverting: diverting.map(stagedFromJson) }),
    ...(divertedRows === undefined ? {} : { divertedRows }),
  }
}

function branchToJson({ name, base }: ProgressBranch): JsonObject {
  return { branch: name, branch_base: base === undefined ? null : jsonInteger(base) }
}

function branchFromJson(json: JsonObject): ProgressBranch | undefined {
  const name = optionalString(json, 'branch', 'progress')
  return name === undefined ? undefined : { name, base: optionalLong(json, 'branch_base', 'progress') }
}

function positionToJson({ offset, isComplete, footprint }: ReadPosition): JsonObject {
  const { sequenceNumber, dataFiles, deleteFiles } = footprint ?? {}
  const content = {
    sequence_number: sequenceNumber ?? null,
    data_files: dataFiles ?? null,
    delete_files: deleteFiles ?? null,
  }
  return { ...offsetToJson(offset), complete: isComplete, ...(footprint ? content : {}) }
}

function positionFromJson(json: JsonValue): ReadPosition {
  const object = asObject(json, 'progress')
  const sequenceNumber = optionalCount(object, 'sequence_number', 'progress')
  const dataFiles = optionalCount(object, 'data_files', 'progress')
  const deleteFiles = optionalCount(object, 'delete_files', 'progress')
  const isWhole = sequenceNumber !== undefined && dataFiles !== undefined && deleteFiles !== undefined
  return {
    offset: offsetFromJson(json, 'progress'),
    isComplete: object['complete'] === true,
    ...(isWhole ? { footprint: { sequenceNumber, dataFiles, deleteFiles } } : {}),
  }
}

/** The newest snapshot of `main` with a batch of a query; undefined when there is none. */
export function newestBatch(metadata: TableMetadata, queryId: string): Snapshot | undefined {
  const { currentSnapshotId } = metadata
  if (currentSnapshotId === undefined) return undefined
  for (const snapshot of ancestorsOf(metadata, currentSnapshotId)) {
    if (batchOf(snapshot)?.queryId === queryId) return snapshot
  }
  return undefined
}
