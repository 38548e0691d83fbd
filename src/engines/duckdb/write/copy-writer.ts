import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { IcebergError } from '../../../iceberg/errors.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import { codecOptions } from './codec.ts'
import { bloomFilterOptions, requireBloomFilters, wantedBloomFilters } from './bloom-filters.ts'
import type { BloomFilters } from './bloom-filters.ts'
import type { DuckDbRun, ResultRow } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'
import { dictionaryLimit } from './dictionary-limit.ts'
import type { DictionaryRows } from './dictionary-limit.ts'
import { recodeFiles, requiresPlainValues } from './recode-files.ts'
import type { ColumnStatistics, FileStatistics } from './file-metrics.ts'
import { doubtfulZeros, holdBothZeros } from './negative-zero.ts'
import { fieldIdsOption } from '../session/field-ids-option.ts'
import { NO_LIMIT, planWidth } from '../session/width.ts'
import { quoteName, quoteText } from '../session/sql-text.ts'
import { structMembers } from '../session/type-mapping.ts'

/** A finished file in the run's folder. */
export interface CopiedFile extends FileStatistics {
  readonly path: string
  readonly rowCount: number
  readonly sizeBytes: number
  /** Value of the partition column, when there was one. */
  readonly partition?: number
}

export interface CopyRequest {
  /** SELECT with column `c<id>` for each field, and `partition` when files are split by it. */
  readonly rows: string
  readonly fields: readonly NestedField[]
  readonly properties: Readonly<Record<string, string>>
  /** Bytes of a row in the inputs, a guess for the sizes of row groups; 0 when there is none. */
  readonly bytesPerRow: number
  /** Bytes of a row in the engine's memory, a guess; 0 or undefined when there is none. */
  readonly memoryPerRow?: number
  /** Bytes of the rows that are read together, a guess; 0 or undefined when there is none. */
  readonly vectorBytes?: number
  /** How files are split: near a size, or by the column `partition` of the rows. */
  readonly split: { readonly kind: 'size'; readonly bytes: number } | { readonly kind: 'partition' }
  /** ORDER BY clause over `s`; empty for no order. */
  readonly orderBy?: string
  /** Number of the rows; only when reading the first of them beforehand is cheap and returns the same values. */
  readonly rowCount?: number
  readonly onProgress?: (fraction: number) => void
}

const PAGE_VERSION_PROPERTY = 'write.parquet.page-version'
const ROW_GROUP_PROPERTY = 'write.parquet.row-group-size-bytes'
const DEFAULT_ROW_GROUP_BYTES = 128 * 1_048_576
const DEFAULT_ROW_GROUP_ROWS = 122_880
const MIN_ROW_GROUP_ROWS = 2048
const MAX_ROW_GROUP_ROWS = 8_388_608
/** Rows of at least this size fill the memory before a row group has its usual number of rows. */
const WIDE_ROW_BYTES = 8192
/**
 * Bytes of the texts that a dictionary may hold. A dictionary of wide texts is a second copy of a whole row group, and it does not
 * make distinct texts smaller.
 */
const MAX_DICTIONARY_BYTES = 4 * 1_048_576
/** Part of a thread's memory for the row group that it collects; reading, encoding and compressing need the rest. */
const WIDE_SHARE = 1 / 8

/**
 * Writes rows as Parquet files with field ids into a new folder of the run, and returns what was written. Files
 * without rows are left out. Rows of one file keep the order of `orderBy`; without it, no order is promised.
 * Rows with both zeros in one column are written a second time, see {@link doubtfulZeros}.
 */
export async function copyRows(run: DuckDbRun, request: CopyRequest): Promise<readonly CopiedFile[]> {
  const filters = wantedBloomFilters(request.fields, request.properties)
  const copied = await copyKeepingZeros(run, request, filters)
  const paths = copied.map(({ path }) => path)
  if (filters) await requireBloomFilters(run, paths, filters)
  return recodeFiles(copied, { ...request, check: () => run.check() })
}

async function copyKeepingZeros(
  run: DuckDbRun,
  request: CopyRequest,
  filters: BloomFilters | undefined,
): Promise<readonly CopiedFile[]> {
  const rows = Math.min(rowGroupRows(request), rowsInMemory(run, request))
  const copied = await (filters
    ? copyOnce(run, request, {
        rows: Math.min(rows, DEFAULT_ROW_GROUP_ROWS),
        dictionaries: Math.max(rows, MIN_ROW_GROUP_ROWS),
        filters,
      })
    : copyOnce(run, request, { rows, dictionaries: await dictionaryLimit(run, dictionaryRows(run, request, rows)) }))
  const paths = copied.map(({ path }) => path)
  const doubtful = await doubtfulZeros(run, paths, request.fields)
  if (doubtful.length === 0 || !(await holdBothZeros(run, request.rows, doubtful))) return copied
  await Promise.all(paths.map((path) => rm(path)))
  return copyOnce(run, request, { rows, dictionaries: 0 })
}

interface RowGroups {
  /** Rows in each. */
  readonly rows: number
  /** Distinct values up to which a column chunk gets a dictionary. */
  readonly dictionaries: number
  readonly filters?: BloomFilters
}

async function copyOnce(
  run: DuckDbRun,
  request: CopyRequest,
  { rows, dictionaries, filters }: RowGroups,
): Promise<readonly CopiedFile[]> {
  const { isForOneThread, isForPlainEncoding } = planWidth(run, request.vectorBytes ?? 0)
  const folder = join(await mkdtemp(join(run.folder, 'out-')), 'files')
  const members = structMembers(request.fields)
  const columns = members.map(([name, field]) => `s.c${field.id} AS ${quoteName(name)}`)
  const options = ['FORMAT parquet', ...codecOptions(request.properties), `FIELD_IDS ${fieldIdsOption(request.fields)}`]
  options.push(`ROW_GROUP_SIZE ${rows}`, `DICTIONARY_SIZE_LIMIT ${dictionaries}`, 'RETURN_STATS')
  const version = pageVersion(request.properties)
  const isPlain = isForPlainEncoding || requiresPlainValues(request.fields)
  options.push(`PARQUET_VERSION ${isPlain ? 'V1' : version}`)
  // a column gets a Bloom filter only with a dictionary of all its values
  if (filters) options.push(...bloomFilterOptions(filters))
  else if (isForOneThread || isForPlainEncoding) {
    options.push(`STRING_DICTIONARY_PAGE_SIZE_LIMIT ${MAX_DICTIONARY_BYTES}`)
  }
  if (request.split.kind === 'size') options.push(`FILE_SIZE_BYTES ${Math.max(1, Math.floor(request.split.bytes))}`)
  else {
    const name = partitionColumn(members.map(([member]) => member))
    columns.push(`s.partition AS ${name}`)
    options.push(`PARTITION_BY (${name})`, 'WRITE_PARTITION_COLUMNS false')
  }
  // threads that write files of a certain size put row groups in any order
  const limit = request.orderBy || isForOneThread ? `LIMIT ${NO_LIMIT}` : ''
  const order = `${request.orderBy ?? ''} ${limit}`
  const select = `SELECT ${columns.join(', ')} FROM (${request.rows}) AS s ${order}`
  const copied = await run.rows(`COPY (${select}) TO ${quoteText(folder)} (${options.join(', ')})`, request.onProgress)
  return copied.filter((row) => Number(row['count']) > 0).map(copiedFile)
}

function copiedFile(row: ResultRow): CopiedFile {
  const [partition] = entries(row['partition_keys'])
  return {
    path: textOf(row['filename']),
    rowCount: Number(row['count']),
    sizeBytes: Number(row['file_size_bytes']),
    columns: new Map(
      entries(row['column_statistics']).map(([path, statistics]) => [path, columnStatistics(statistics)]),
    ),
    ...(partition === undefined ? {} : { partition: Number(partition[1]) }),
  }
}

function columnStatistics(value: unknown): ColumnStatistics {
  return new Map(entries(value).map(([name, text]) => [name, String(text)]))
}

/** The entries of a MAP of the engine. */
function entries(map: unknown): readonly (readonly [string, unknown])[] {
  if (!Array.isArray(map)) return []
  return map.map((entry: { key?: unknown; value?: unknown }) => [String(entry.key), entry.value] as const)
}

function partitionColumn(taken: readonly string[]): string {
  let name = 'partition'
  while (taken.some((other) => other.toLowerCase() === name)) name = `${name}_`
  return name
}

/**
 * The encodings of Parquet's second version are faster to write and smaller, but Spark reads them only with Iceberg 1.11
 * or later, so a table has to ask for them (`docs/adr/0008-value-verification.md`).
 */
function pageVersion(properties: Readonly<Record<string, string>>): 'V1' | 'V2' {
  const version = properties[PAGE_VERSION_PROPERTY]?.toLowerCase() ?? 'v1'
  if (version === 'v1') return 'V1'
  if (version === 'v2') return 'V2'
  throw new IcebergError('UNSUPPORTED', `table property ${PAGE_VERSION_PROPERTY} is ${version}; use v1 or v2`)
}

/**
 * Rows of a row group that stay within the memory of the engine: each thread collects one. The engine writes whole chunks
 * of up to 2,048 rows, so a smaller number means one chunk, which has as many rows as the input's row groups have.
 */
function rowsInMemory(run: DuckDbRun, { memoryPerRow = 0, vectorBytes = 0 }: CopyRequest): number {
  if (memoryPerRow < WIDE_ROW_BYTES) return MAX_ROW_GROUP_ROWS
  const threads = planWidth(run, vectorBytes).isForOneThread ? 1 : run.threads
  return Math.max(1, Math.floor(((run.memoryLimitBytes / threads) * WIDE_SHARE) / memoryPerRow))
}

/** Rows that are sorted while they are written have fewer distinct values in a row group than a sample of them. */
function dictionaryRows(run: DuckDbRun, request: CopyRequest, rowGroupSize: number): DictionaryRows {
  const { rows, fields, split, orderBy, rowCount, vectorBytes = 0 } = request
  // all threads read a sample, which wide rows do not permit
  const hasSample = split.kind === 'size' && !orderBy && !planWidth(run, vectorBytes).isForOneThread
  return { rows, fields, rowCount: hasSample ? rowCount : undefined, rowGroupRows: rowGroupSize }
}

/** Row groups are counted in rows; wide rows get fewer, so that a group stays within its bytes and in memory. */
function rowGroupRows({ properties, bytesPerRow }: CopyRequest): number {
  const wanted = Number(properties[ROW_GROUP_PROPERTY] ?? Number.NaN)
  const isSet = Number.isFinite(wanted) && wanted > 0
  if (bytesPerRow <= 0) return DEFAULT_ROW_GROUP_ROWS
  const rows = Math.floor((isSet ? wanted : DEFAULT_ROW_GROUP_BYTES) / bytesPerRow)
  return Math.max(MIN_ROW_GROUP_ROWS, Math.min(rows, isSet ? MAX_ROW_GROUP_ROWS : DEFAULT_ROW_GROUP_ROWS))
}
