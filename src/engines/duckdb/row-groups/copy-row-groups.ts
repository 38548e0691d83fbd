import { join } from 'node:path'

import { mapBounded } from '../../../lib/bounded-map.ts'
import { plural } from '../../../lib/text.ts'
import { isIcebergError } from '../../../iceberg/errors.ts'
import { deleteFrom } from '../../../iceberg/io/delete-files.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'
import type { RewriteResult } from '../../rewrite-result.ts'
import type { RowGroupCopyResult, RowGroupCopyTask } from '../../row-group-copy.ts'

import { textOf } from '../session/result-values.ts'
import type { DuckDbRun } from '../session/session.ts'
import { textList } from '../session/sql-text.ts'
import { wantedBloomFilters } from '../write/bloom-filters.ts'
import { codecNumber } from '../write/codec.ts'
import { metricsModes } from '../write/metrics-config.ts'
import type { Footer } from '../write/output-files.ts'
import { leafColumns } from '../write/output-layout.ts'
import { findAddedLineage, lineageWriter, verifyLineage } from './added-lineage.ts'
import { LINEAGE, splitLineage } from './lineage-leaves.ts'
import type { LongRange } from './lineage-page.ts'
import type { LineageSource } from './lineage-values.ts'
import { joinFiles } from './join-files.ts'
import type { JoinedFile } from './join-files.ts'
import { joinKey, requireJoinable } from './joined-footer.ts'
import { joinedMetrics } from './joined-metrics.ts'
import { leafIds } from '../parquet/file-columns.ts'
import { NotCopyableError } from '../parquet/not-copyable-error.ts'
import { readStoredFooter } from '../parquet/stored-footer.ts'
import type { StoredChunk, StoredFooter, StoredRowGroup } from '../parquet/stored-footer.ts'
import { verifyCopiedBytes, verifyJoinedFooter } from './verify-joined.ts'

/** Footers that are read at the same time. */
const FOOTERS_AT_ONCE = 8

/** Errors that say something about one of the files, so that an ordinary rewrite decides about it. */
const ABOUT_FILES = ['CORRUPT_FILE', 'UNSUPPORTED'] as const

export interface CopyContext {
  readonly run: DuckDbRun
  readonly onRows?: (rows: number) => void
}

/**
 * Joins whole data files: their row groups are copied into few new files, of which the pages are not decoded. All files are written and
 * checked on this machine before the first one is moved to its place. A copy that fails or is refused leaves no file behind.
 */
export async function copyRowGroups(context: CopyContext, task: RowGroupCopyTask): Promise<RowGroupCopyResult> {
  try {
    return { kind: 'copied', result: await copyFiles(context, task) }
  } catch (error) {
    const isAboutFile = error instanceof NotCopyableError || ABOUT_FILES.some((code) => isIcebergError(error, code))
    if (isAboutFile && error instanceof Error) return { kind: 'refused', reason: error.message }
    throw error
  }
}

/** A new file on this machine, and what it replaces. */
interface Joined {
  readonly file: JoinedFile
  readonly entries: readonly DataFile[]
  /** Footers of the replaced files, without the lineage columns that were not copied. */
  readonly footers: readonly StoredFooter[]
  /** Ranges of the lineage columns that were written and not copied; undefined: none was written. */
  readonly lineage: { readonly ranges: LongRanges; readonly sources: readonly LineageSource[] } | undefined
}

type LongRanges = ReadonlyMap<number, LongRange>

async function copyFiles(context: CopyContext, task: RowGroupCopyTask): Promise<RewriteResult> {
  const { run } = context
  const stored = await mapBounded(task.inputs, FOOTERS_AT_ONCE, async ({ dataFile }) => {
    run.check()
    return readStoredFooter(task.io, dataFile.filePath)
  })
  requireForms(stored, task)
  const splits = task.output.formatVersion === 3 ? stored.map(splitLineage) : undefined
  const others = splits?.map(({ rest }) => rest) ?? stored
  const otherIds = requireCopyable(others, task)
  const bins = fileBins(others, task)
  // reads columns, after all checks that need only footers
  const added = splits && (await findAddedLineage(run, task, { splits, footers: stored }))
  const footers = added === undefined ? stored : others
  const ids = added === undefined ? requireCopyable(stored, task) : [...otherIds, ...LINEAGE.map(({ id }) => id)]
  const joined: Joined[] = []
  for (const [at, inputs] of bins.entries()) {
    joined.push(await joinBin(context, task, { at, inputs, footers, sources: added }))
  }
  await requireReadable(run, joined)
  return placeJoined(run, task, { joined, ids })
}

interface Bin {
  readonly at: number
  /** Positions of the inputs. */
  readonly inputs: readonly number[]
  readonly footers: readonly StoredFooter[]
  readonly sources: readonly LineageSource[] | undefined
}

async function joinBin(
  context: CopyContext,
  task: RowGroupCopyTask,
  { at, inputs, footers, sources }: Bin,
): Promise<Joined> {
  const { run } = context
  const { io, output, fileSizes } = task
  const parts = inputs.flatMap((input) => footers[input] ?? [])
  const entries = inputs.flatMap((input) => task.inputs[input]?.dataFile ?? [])
  const target = { ...context, io, path: join(run.folder, `joined${at}.parquet`), check: () => run.check() }
  if (sources === undefined)
    return { file: await joinFiles(parts, target), entries, footers: parts, lineage: undefined }
  const own = inputs.flatMap((input) => sources[input] ?? [])
  const { reader, writer } = lineageWriter(run, own, output.properties)
  try {
    const file = await joinFiles(parts, { ...target, added: writer })
    if (file.sizeBytes > fileSizes.max) throw new NotCopyableError('with row ids, a new file is larger than wanted')
    return { file, entries, footers: parts, lineage: { ranges: writer.ranges, sources: own } }
  } finally {
    await reader.close()
  }
}

/** Refuses files that do not have the rows of their entries, or whose columns do not have the types of the table. */
function requireForms(footers: readonly StoredFooter[], task: RowGroupCopyTask): void {
  if (footers.length === 0) throw new NotCopyableError('there are no files')
  const checked = new Set<string>()
  for (const [at, footer] of footers.entries()) {
    if (footer.rowCount !== task.inputs[at]?.dataFile.recordCount) {
      throw new NotCopyableError('a file has another number of rows than its manifest says')
    }
    const key = joinKey(footer)
    if (!checked.has(key)) idsOfLeaves(footer, task)
    checked.add(key)
  }
}

function idsOfLeaves(footer: StoredFooter, task: RowGroupCopyTask): readonly number[] {
  const sources = task.metadata.partitionSpecs.flatMap(({ fields }) => fields.map(({ sourceId }) => sourceId))
  return leafIds(footer, outputFields(task), new Set(sources))
}

/** Field ids of the leaves that are copied, after all checks that need no page. */
function requireCopyable(footers: readonly StoredFooter[], task: RowGroupCopyTask): readonly number[] {
  const { output, minRowGroupBytes } = task
  const [first] = footers
  if (first === undefined) throw new NotCopyableError('there are no files')
  requireJoinable(footers)
  const ids = idsOfLeaves(first, task)
  const codec = codecNumber(output.properties)
  const filters = wantedBloomFilters(output.schema.fields, output.properties)
  const filtered = new Set([...(filters?.columns.values() ?? [])].map(({ field }) => field.id))
  const isRepeated = new Map(leafColumns(outputFields(task)).map(({ field, isRepeated }) => [field.id, isRepeated]))
  for (const group of footers.flatMap(({ rowGroups }) => rowGroups)) {
    requireSize(group, ids.length, minRowGroupBytes)
    for (const [leaf, chunk] of group.chunks.entries()) {
      const id = ids[leaf] ?? 0
      // the leaves of a variant's values may be in lists
      requireRows(group, chunk, isRepeated.get(id) ?? true)
      const isLineage = LINEAGE.some((field) => field.id === id)
      requireChunk(chunk, { codec: isLineage ? chunk.codec : codec, isFiltered: filtered.has(id) })
    }
  }
  return ids
}

function requireSize({ bytes, chunks }: StoredRowGroup, leaves: number, minBytes: number): void {
  if (bytes < minBytes) throw new NotCopyableError(`a row group has only ${plural(bytes, 'byte')}`)
  if (chunks.length !== leaves) throw new NotCopyableError('a row group does not have one chunk for each column')
}

/** A leaf has an entry for each row; one in a list or map may have more. */
function requireRows({ rows }: StoredRowGroup, { values }: StoredChunk, isRepeated: boolean): void {
  if (isRepeated ? values >= rows : values === rows) return
  throw new NotCopyableError(`a column has ${plural(values, 'value')} in a row group of ${plural(rows, 'row')}`)
}

function requireChunk(
  chunk: StoredChunk,
  { codec, isFiltered }: { readonly codec: number; readonly isFiltered: boolean },
): void {
  if (chunk.codec !== codec) throw new NotCopyableError('a file has another codec than the table asks for')
  const hasValues = chunk.nulls === undefined || chunk.nulls < chunk.values
  if (isFiltered && hasValues && chunk.bloomFilter === undefined) {
    throw new NotCopyableError('a file has no Bloom filter for a column for which the table asks for one')
  }
}

/** The columns of new files, row lineage included. */
function outputFields({ output: { schema, formatVersion } }: RowGroupCopyTask): readonly NestedField[] {
  return formatVersion === 3 ? [...schema.fields, ...LINEAGE] : schema.fields
}

/**
 * Which inputs go into which new file: in their order, so that each new file is near its share of the bytes. Refused when a new file would be
 * so small or so large that the next compaction would take it again.
 */
function fileBins(footers: readonly StoredFooter[], { outputFiles, fileSizes }: RowGroupCopyTask): readonly number[][] {
  const total = footers.reduce((sum, { fileSize }) => sum + fileSize, 0)
  const bins: number[][] = Array.from({ length: Math.max(1, outputFiles) }, () => [])
  const sizes = bins.map(() => 0)
  let before = 0
  for (const [at, { fileSize }] of footers.entries()) {
    const bin = Math.min(bins.length - 1, Math.floor(((before + fileSize / 2) / total) * bins.length))
    bins[bin]?.push(at)
    sizes[bin] = (sizes[bin] ?? 0) + fileSize
    before += fileSize
  }
  const isRight = (size: number): boolean => size <= fileSizes.max && (bins.length === 1 || size >= fileSizes.min)
  if (!sizes.every(isRight)) throw new NotCopyableError('whole files do not add up to files of the wanted size')
  return bins
}

/** The engine reads the new footers too, on its own; files that it cannot read are for the rewrite to judge. */
async function requireReadable(run: DuckDbRun, joined: readonly Joined[]): Promise<void> {
  const paths = joined.map(({ file }) => file.path)
  const found = await engineFooters(run, paths).catch((error: unknown) => {
    throw isIcebergError(error, 'ENGINE_FAILED') ? new NotCopyableError(error.message) : error
  })
  for (const { file } of joined) {
    const footer = found.get(file.path)
    const isSame = footer?.rowCount === rowsOf(file) && splitOffsets(file).join() === footer.splitOffsets.join()
    if (!isSame) throw new NotCopyableError('the engine reads another footer than the one that was written')
  }
}

/** What the engine reads in the footers of files, by path. */
async function engineFooters(run: DuckDbRun, paths: readonly string[]): Promise<ReadonlyMap<string, Footer>> {
  const list = textList(paths)
  const offsets = new Map<string, number[]>()
  const rows = await run.rows(`
    SELECT file_name, min(least(nullif(dictionary_page_offset, 0), data_page_offset)) AS start
    FROM parquet_metadata(${list}) GROUP BY file_name, row_group_id ORDER BY file_name, row_group_id`)
  for (const row of rows) {
    const name = textOf(row['file_name'])
    offsets.set(name, [...(offsets.get(name) ?? []), Number(row['start'])])
  }
  const counts = await run.rows(`SELECT file_name, num_rows FROM parquet_file_metadata(${list})`)
  return new Map(
    counts.map((row) => {
      const name = textOf(row['file_name'])
      return [name, { rowCount: Number(row['num_rows']), splitOffsets: offsets.get(name) ?? [] }]
    }),
  )
}

function rowsOf({ rowGroups }: JoinedFile): number {
  return rowGroups.reduce((sum, { source }) => sum + source.rows, 0)
}

function splitOffsets({ rowGroups }: JoinedFile): readonly number[] {
  return rowGroups.map(({ chunks }) => Math.min(...chunks.map(({ pages }) => pages.start)))
}

async function placeJoined(
  run: DuckDbRun,
  task: RowGroupCopyTask,
  { joined, ids }: { readonly joined: readonly Joined[]; readonly ids: readonly number[] },
): Promise<RewriteResult> {
  const { io, output, partition, verifyBytes } = task
  const describe = describer(task, ids)
  const placed: DataFile[] = []
  let milliseconds = 0
  try {
    for (const [at, { file, entries, footers, lineage }] of joined.entries()) {
      run.check()
      const location = output.newDataLocation(partition, at)
      await io.moveIn(file.path, location)
      placed.push(describe(file, { entries, location, ranges: lineage?.ranges }))
      const check = { io, location, check: () => run.check() }
      await verifyJoinedFooter(footers, file, check)
      if (!verifyBytes) continue
      const startedAt = performance.now()
      await verifyCopiedBytes(file, check)
      if (lineage !== undefined) {
        await verifyLineage(run, task, { location, name: `written${at}.parquet`, sources: lineage.sources })
      }
      milliseconds += performance.now() - startedAt
    }
  } catch (error) {
    await deleteFrom(
      io,
      placed.map(({ filePath }) => filePath),
    )
    throw error
  }
  const rows = (files: readonly DataFile[]): number => files.reduce((sum, { recordCount }) => sum + recordCount, 0)
  const result = {
    files: placed,
    rowsRead: rows(task.inputs.map(({ dataFile }) => dataFile)),
    rowsDeleted: 0,
    rowsWritten: rows(placed),
  }
  if (!verifyBytes) return result
  const columns = outputFields(task).map(({ name }) => name)
  return { ...result, values: { isEqual: true, columns, differing: [], milliseconds: Math.round(milliseconds) } }
}

function describer(task: RowGroupCopyTask, ids: readonly number[]) {
  const { output, partition } = task
  const leaves = leafColumns(outputFields(task))
  const modes = metricsModes(leaves, output.properties, new Set())
  return (
    file: JoinedFile,
    {
      entries,
      location,
      ranges,
    }: { readonly entries: readonly DataFile[]; readonly location: string; readonly ranges: LongRanges | undefined },
  ): DataFile => {
    const written = new Map(ranges && LINEAGE.map(({ id }) => [id, ranges.get(id)]))
    const chunks = new Map<number, readonly StoredChunk[]>()
    for (const [leaf, id] of ids.entries()) {
      const stored = file.rowGroups.flatMap(({ source }) => source.chunks[leaf] ?? [])
      chunks.set(id, [...(chunks.get(id) ?? []), ...stored])
    }
    return {
      content: 'data',
      filePath: location,
      fileFormat: 'parquet',
      specId: output.partitionSpec.specId,
      partition,
      recordCount: rowsOf(file),
      fileSizeInBytes: file.sizeBytes,
      ...joinedMetrics({ entries, chunks, leaves, modes, written }),
      splitOffsets: splitOffsets(file),
      sortOrderId: 0,
    }
  }
}
