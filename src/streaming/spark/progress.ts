import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import {
  asObject,
  isJsonObject,
  optionalArray,
  requireCount,
  requireObject,
  requireString,
} from '../../iceberg/json/json-fields.ts'
import { JsonFloat } from '../../iceberg/json/json-float.ts'
import { type JsonObject, type JsonValue, parseJson } from '../../iceberg/json/lossless-json.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { type BatchProgress, NO_CHECKS } from '../sink/batch-progress.ts'
import { batchOf } from '../sink/progress.ts'
import { describeOffset, offsetFromJson, parseOffset, type StreamingOffset } from '../source/offset.ts'
import type { ReadPosition } from '../source/history.ts'
import type { SourceLag } from '../source/plan.ts'

/** Spark's `StreamingQueryProgress`, as far as it is used. Rates are rows per second, durations ms. */
export interface SparkProgress {
  readonly batchId: number
  readonly timestamp: string
  readonly batchDurationMs: number
  readonly inputRows: number
  readonly inputRate: number | null
  readonly processedRate: number | null
  readonly durations: Readonly<Record<string, number>>
  readonly sources: readonly SparkSourceProgress[]
  /** Undefined where Spark does not know it. */
  readonly outputRows: number | undefined
}

/** What a batch read of one source. */
export interface SparkSourceProgress {
  readonly start: StreamingOffset | undefined
  readonly end: StreamingOffset | undefined
  readonly inputRows: number
  readonly inputRate: number | null
  readonly processedRate: number | null
}

const WHERE = "Spark's progress"

/** Reads Spark's progress; snapshot ids are 64-bit integers. Throws `INVALID_METADATA` or `CORRUPT_FILE`. */
export function parseSparkProgress(text: string): SparkProgress {
  const json = asObject(parseJson(text), WHERE)
  const durations = isJsonObject(json['durationMs']) ? json['durationMs'] : {}
  const sink = requireObject(json, 'sink', WHERE)
  const sources = (optionalArray(json, 'sources', WHERE) ?? []).map((source) => parseSource(asObject(source, WHERE)))
  const outputRows = toNumber(sink['numOutputRows'])
  return {
    batchId: requireCount(json, 'batchId', WHERE),
    timestamp: requireString(json, 'timestamp', WHERE),
    batchDurationMs: toNumber(json['batchDuration']) ?? 0,
    // Spark Connect leaves out the sums of the sources
    inputRows: sources.reduce((sum, { inputRows }) => sum + inputRows, 0),
    inputRate: sumOf(sources.map(({ inputRate }) => inputRate)),
    processedRate: sumOf(sources.map(({ processedRate }) => processedRate)),
    durations: Object.fromEntries(
      Object.entries(durations).map(([name, ms]) => [toSnakeCase(name), Math.max(0, toNumber(ms) ?? 0)]),
    ),
    sources,
    outputRows: outputRows !== undefined && outputRows >= 0 ? outputRows : undefined,
  }
}

/** Whether the trigger ran a batch; other triggers found nothing to read. */
export function ranBatch({ durations }: SparkProgress): boolean {
  return durations['add_batch'] !== undefined
}

function parseSource(json: JsonObject): SparkSourceProgress {
  return {
    start: toOffset(json['startOffset']),
    end: toOffset(json['endOffset']),
    inputRows: Math.max(0, toNumber(json['numInputRows']) ?? 0),
    inputRate: toRate(json['inputRowsPerSecond']),
    processedRate: toRate(json['processedRowsPerSecond']),
  }
}

function toOffset(json: JsonValue | undefined): StreamingOffset | undefined {
  if (json === undefined || json === null) return undefined
  return typeof json === 'string' ? parseOffset(json, WHERE) : offsetFromJson(json, WHERE)
}

function toNumber(json: JsonValue | undefined): number | undefined {
  const value = json instanceof JsonFloat ? json.value : json
  if (typeof value !== 'number' && typeof value !== 'bigint' && typeof value !== 'string') return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

/** Spark writes "NaN" and "Infinity" as text where there is no time to divide by. */
function toRate(json: JsonValue | undefined): number | null {
  const rate = toNumber(json)
  return rate === undefined ? null : Math.round(Math.max(0, rate) * 10) / 10
}

function sumOf(rates: readonly (number | null)[]): number | null {
  return rates.reduce((sum, rate) => (sum === null || rate === null ? null : sum + rate), 0)
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** A batch of Spark and the tables as they are after it. */
export interface SparkBatchReport {
  readonly progress: SparkProgress
  readonly pipelineId: string
  readonly runId: string
  readonly sources: readonly Table[]
  /** How far the sources are read after the batch. */
  readonly positions: readonly ReadPosition[]
  readonly lag: readonly SourceLag[]
  readonly sink: Table
  readonly queryId: string
}

/** Spark's progress as the service reports batches. */
export function describeSparkBatch(report: SparkBatchReport): BatchProgress {
  const { progress, sources, sink, lag } = report
  const snapshot = snapshotOfBatch(report)
  const added = Number(snapshot?.summary['added-records'] ?? 0)
  const outputRows = progress.outputRows ?? (Number.isSafeInteger(added) ? added : 0)
  return {
    id: report.pipelineId,
    run_id: report.runId,
    batch_id: progress.batchId,
    timestamp: progress.timestamp,
    batch_duration_ms: progress.batchDurationMs,
    num_input_rows: progress.inputRows,
    input_rows_per_second: progress.inputRate,
    processed_rows_per_second: progress.processedRate,
    duration_ms: progress.durations,
    sources: sources.map((table, at) => {
      const { start, end, inputRows = 0 } = progress.sources[at] ?? {}
      const latest = table.metadata.currentSnapshotId
      return {
        description: formatIdentifier(table.identifier),
        start_offset: start === undefined ? null : describeOffset(start),
        end_offset: end === undefined ? null : describeOffset(end),
        latest_offset: latest === undefined ? null : { snapshot_id: latest.toString() },
        num_input_rows: inputRows,
        lag: lag[at] ?? { snapshots: 0, files: 0, rows: 0, bytes: 0, seconds: 0 },
      }
    }),
    sink: {
      description: formatIdentifier(sink.identifier),
      num_output_rows: outputRows,
      num_inserted_rows: outputRows,
      num_updated_rows: 0,
      num_deleted_rows: 0,
      snapshot_id: snapshot?.snapshotId.toString() ?? null,
    },
    ...NO_CHECKS,
  }
}

/** The snapshot of the sink with the batch; undefined when the batch had no rows, or others have expired it. */
function snapshotOfBatch({ sink: { metadata }, queryId, progress }: SparkBatchReport): Snapshot | undefined {
  if (metadata.currentSnapshotId === undefined) return undefined
  for (const snapshot of ancestorsOf(metadata, metadata.currentSnapshotId)) {
    const batch = batchOf(snapshot)
    if (batch?.queryId !== queryId || batch.batchId > progress.batchId) continue
    return batch.batchId === progress.batchId ? snapshot : undefined
  }
  return undefined
}
