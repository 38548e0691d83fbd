import { IcebergError } from '../../../iceberg/errors.ts'
import type { PartitionTuple } from '../../../iceberg/partitioning/partitioning.ts'
import type { SortOrder } from '../../../iceberg/partitioning/sort-order.ts'
import type { Clustering } from '../../engine.ts'
import type { OutputSpec } from '../../output-spec.ts'

import { copyRows } from './copy-writer.ts'
import type { CopyRequest } from './copy-writer.ts'
import type { DuckDbRun } from '../session/session.ts'
import type { PlacedFile } from './output-files.ts'
import { defineTransformMacros, transformSql } from './partition-sql.ts'
import type { TransformSql } from './partition-sql.ts'
import { isFloating, orderBy, withJoins } from './row-order.ts'
import type { RowOrder } from './cluster-order.ts'
import { toValue } from '../session/result-values.ts'
import { allOf } from '../session/sql-text.ts'

/** Partitions above this number are written sorted by partition, so that few files are open and row groups are full. */
const MANY_PARTITIONS = 32
/** Number of consecutive rows that stay in one file when a large partition is split into several files. */
const BLOCK_ROWS = 122_880

export interface RowsToWrite extends Pick<
  CopyRequest,
  'fields' | 'bytesPerRow' | 'memoryPerRow' | 'vectorBytes' | 'rowCount' | 'onProgress'
> {
  /** SELECT with column `c<id>` for each field. */
  readonly rows: string
  readonly output: OutputSpec
  /** The partition of all rows; undefined: computed for each row. */
  readonly partition?: PartitionTuple
  readonly sortOrder?: SortOrder | undefined
  readonly clustering?: Clustering | undefined
}

/** Writes rows into files of one partition each, sorted or clustered when asked to. */
export async function writeRows(run: DuckDbRun, request: RowsToWrite): Promise<readonly PlacedFile[]> {
  const { output, partition, sortOrder, clustering } = request
  const needsTransforms = sortOrder !== undefined || (partition === undefined && output.partitionSpec.fields.length > 0)
  if (needsTransforms) await defineTransformMacros(run)
  const { rows, vectorBytes = 0 } = request
  const order = await orderBy(run, { rows, schema: output.schema, sortOrder, clustering, vectorBytes })
  if (partition !== undefined || output.partitionSpec.fields.length === 0) {
    const copied = await copyRows(run, {
      ...copyBase(request),
      ...(request.rowCount === undefined ? {} : { rowCount: request.rowCount }),
      rows: order.over(rows),
      split: bySize(output),
      orderBy: order.clause,
    })
    return copied.map((file) => ({ copied: file, partition: partition ?? [] }))
  }
  const partitions = await findPartitions(run, request)
  return sortOrder === undefined && clustering === undefined
    ? writeSpread(run, request, partitions)
    : writeEach(run, request, { partitions, order })
}

function copyBase({
  fields,
  bytesPerRow,
  memoryPerRow = 0,
  vectorBytes = 0,
  output,
  onProgress,
}: RowsToWrite): Omit<CopyRequest, 'rows' | 'split'> {
  const sizes = { bytesPerRow, memoryPerRow, vectorBytes }
  return { fields, ...sizes, properties: output.properties, ...(onProgress ? { onProgress } : {}) }
}

function bySize(output: OutputSpec): CopyRequest['split'] {
  return { kind: 'size', bytes: output.targetFileSizeBytes }
}

/** The partitions of rows, and how to find the partition of a row. */
interface Partitions {
  readonly tuples: readonly PartitionTuple[]
  /** Rows of each. */
  readonly counts: readonly number[]
  /** SELECT of the rows with column `n`, the number of their partition. */
  readonly numberedRows: string
}

async function findPartitions(run: DuckDbRun, request: RowsToWrite): Promise<Partitions> {
  const { output, rows } = request
  const terms: TransformSql[] = []
  for (const [at, { sourceId, transform }] of output.partitionSpec.fields.entries()) {
    terms.push(
      await transformSql(run, { schema: output.schema, sourceId, transform, rows, name: `partition_values_${at}` }),
    )
  }
  const joins = terms.map(({ join }) => join).filter((join) => join !== '')
  const keys = terms.flatMap(keySql)
  const columns = keys.map((sql, at) => `${sql} AS k${at}`).join(', ')
  await run.execute(`
    CREATE OR REPLACE TEMP TABLE partitions AS
    SELECT row_number() OVER () - 1 AS n, * FROM (
      SELECT ${columns}, count(*) AS rows FROM (${rows}) AS s ${joins.join(' ')} GROUP BY ALL
    )`)
  const result = await run.result('SELECT * FROM partitions ORDER BY n')
  const found = await result.getRowObjects()
  const tuples = found.map((row) => {
    let at = 0
    return terms.map((term): PartitionTuple[number] => {
      const value = term.type.kind === 'unknown' ? null : toValue(term.type, row[`k${at}`] ?? null)
      at += keySql(term).length
      return value
    })
  })
  const match = allOf(keys.map((sql, at) => `partitions.k${at} IS NOT DISTINCT FROM ${sql}`))
  const join = `LEFT JOIN partitions ON ${match}`
  return {
    tuples,
    counts: found.map((row) => Number(row['rows'])),
    numberedRows: withJoins(rows, [...joins, join], ['partitions.n AS n']),
  }
}

/** The values that make a partition; -0.0 and 0.0 are two partitions (docs/iceberg-notes.md#partition-equality). */
function keySql({ sql, type }: TransformSql): string[] {
  return isFloating(type) ? [sql, `(signbit(${sql}) AND NOT isnan(${sql}))`] : [sql]
}

/** One pass over the rows; a partition too large for one file is distributed in blocks over several. */
async function writeSpread(
  run: DuckDbRun,
  request: RowsToWrite,
  partitions: Partitions,
): Promise<readonly PlacedFile[]> {
  const { output, bytesPerRow } = request
  const filesOf = partitions.counts.map((count) =>
    Math.max(1, Math.ceil((count * bytesPerRow) / output.targetFileSizeBytes)),
  )
  const most = Math.max(1, ...filesOf)
  const block = most === 1 ? '0' : `((row_number() OVER () // ${BLOCK_ROWS}) % f.files)`
  const counts = filesOf.map((files, n) => `(${n}::BIGINT, ${files})`).join(', ')
  const join = most === 1 || counts === '' ? '' : `JOIN (VALUES ${counts}) AS f(n, files) ON f.n = p.n`
  const order = partitions.tuples.length > MANY_PARTITIONS ? 'ORDER BY s.partition' : ''
  const copied = await copyRows(run, {
    ...copyBase(request),
    rows: `SELECT p.*, p.n * ${most} + ${block} AS partition FROM (${partitions.numberedRows}) AS p ${join}`,
    split: { kind: 'partition' },
    orderBy: order,
  })
  return copied.map((file) => placed(partitions, Math.floor((file.partition ?? 0) / most), file))
}

/** One pass per partition, as only the rows of one file after another can be sorted. */
async function writeEach(
  run: DuckDbRun,
  request: RowsToWrite,
  { partitions, order }: { readonly partitions: Partitions; readonly order: RowOrder },
): Promise<readonly PlacedFile[]> {
  const files: PlacedFile[] = []
  for (const n of partitions.tuples.keys()) {
    const rows = order.over(`SELECT * FROM (${partitions.numberedRows}) WHERE n = ${n}`)
    const copied = await copyRows(run, {
      ...copyBase(request),
      rows,
      split: bySize(request.output),
      orderBy: order.clause,
    })
    for (const file of copied) files.push(placed(partitions, n, file))
  }
  return files
}

function placed({ tuples }: Partitions, n: number, copied: PlacedFile['copied']): PlacedFile {
  const partition = tuples[n]
  if (partition === undefined)
    throw new IcebergError('ENGINE_FAILED', `the engine wrote a file of partition ${n}, which is unknown`)
  return { copied, partition }
}
