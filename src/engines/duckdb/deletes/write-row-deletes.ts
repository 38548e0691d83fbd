import { IcebergError } from '../../../iceberg/errors.ts'
import { deleteFrom } from '../../../iceberg/io/delete-files.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import { isDeletionVector } from '../../../iceberg/puffin/deletion-vector.ts'
import { PositionBitmap } from '../../../iceberg/puffin/position-bitmap.ts'
import type { DeleteFileRef } from '../../../iceberg/scan/delete-index.ts'
import { writeDeletionVectors } from '../../../iceberg/puffin/deletion-vector-file.ts'
import { PartitionScopes } from '../../../iceberg/scan/file-scope.ts'
import type { RowDeletesOutput } from '../../output-spec.ts'

import type { ScanInput } from '../scan/inputs.ts'
import { inputOfKey, positionKey, positionOfKey } from '../scan/position-deletes.ts'
import type { StageContext } from '../scan/stage-context.ts'
import { TableFiller } from '../scan/table-filler.ts'
import type { DuckDbRun } from '../session/session.ts'
import { readBitmaps } from './position-bitmaps.ts'
import { writePositionDeletes } from './write-position-deletes.ts'

/** Rows of data files to be deleted. */
export interface RowDeletes {
  /** Temporary table with the rows: column `k`, ascending, each once ({@link positionKey}). */
  readonly table: string
  /** Temporary table with the positions that older deletes remove, also column `k`; new vectors include them. */
  readonly older: string
  /** Older vectors that are not in the table, by the number of their data file; new ones include them. */
  readonly vectors?: ReadonlyMap<number, PositionBitmap>
  /** The data files with rows to delete, ascending by their numbers. */
  readonly affected: readonly ScanInput[]
  readonly output: RowDeletesOutput
}

/** A new delete file or vector in its final location. */
export interface WrittenRowDeletes {
  readonly file: DataFile
  /** The data files whose rows it deletes. */
  readonly about: readonly ScanInput[]
}

/**
 * Writes rows to be deleted as deletion vectors, or as position delete files by data file or partition. A vector also has the older
 * deleted positions of its data file. If anything fails, no new file remains.
 */
export async function writeRowDeletes(
  context: StageContext,
  deletes: RowDeletes,
): Promise<readonly WrittenRowDeletes[]> {
  if (deletes.affected.length === 0) return []
  return deletes.output.kind === 'vectors' ? writeVectors(context, deletes) : writeFiles(context, deletes)
}

/** Rows to delete of each input that has any; `table` as in {@link RowDeletes}. */
export async function countByInput(run: DuckDbRun, table: string): Promise<ReadonlyMap<number, number>> {
  const rows = await run.rows(`SELECT ${inputOfKey('k')} AS f, count(*) AS n FROM ${table} GROUP BY f`)
  return new Map(rows.map(({ f, n }) => [Number(f), Number(n)]))
}

/** One Puffin file with a vector of each affected data file. */
async function writeVectors(
  { run, io }: StageContext,
  { table, older, vectors: known, affected, output }: RowDeletes,
): Promise<readonly WrittenRowDeletes[]> {
  const isInTable = ({ file }: DeleteFileRef): boolean =>
    file.content === 'position-deletes' && !(known !== undefined && isDeletionVector(file))
  const hasOlder = affected.some(({ task }) => task.deletes.some(isInTable))
  const olderRows = `
    SELECT k FROM ${older} AS d WHERE ${inputOfKey('k')} IN (SELECT DISTINCT ${inputOfKey('k')} FROM ${table})`
  const bitmaps = await readBitmaps(run, `SELECT k FROM ${table}${hasOlder ? ` UNION ${olderRows}` : ''}`)
  const vectors = affected.flatMap((input) => {
    const [positions, before] = [bitmaps.get(input.index), known?.get(input.index)]
    if (positions === undefined) return []
    return [
      { file: input.file, positions: before === undefined ? positions : PositionBitmap.union([before, positions]) },
    ]
  })
  const [first] = affected
  if (first === undefined || vectors.length < affected.length) {
    throw new IcebergError('ENGINE_FAILED', 'a data file with deleted rows has no vector')
  }
  const files = await writeDeletionVectors(io, output.newLocation(first.file, 0), vectors)
  return files.map((file, at) => ({ file, about: affected.slice(at, at + 1) }))
}

/** Position delete files, by partition or by data file. */
async function writeFiles(context: StageContext, deletes: RowDeletes): Promise<readonly WrittenRowDeletes[]> {
  const { run, io, metadata } = context
  const { table, affected, output } = deletes
  const paths = `${table}_paths`
  await run.execute(`CREATE TEMP TABLE ${paths} (f BIGINT, path VARCHAR)`)
  await TableFiller.fill(run, paths, async (filler) => {
    for (const { index, file } of affected) await filler.add([BigInt(index), file.filePath])
  })
  const scopes = new PartitionScopes(metadata)
  const keyOf = ({ file, index }: ScanInput): string => (output.kind === 'by-file' ? `${index}` : scopes.keyOf(file))
  const written: WrittenRowDeletes[] = []
  try {
    for (const group of Map.groupBy(affected, keyOf).values()) {
      for (const file of await writeGroup(context, group, { deletes, paths, start: written.length })) {
        written.push({ file, about: group })
      }
    }
    return written
  } catch (error) {
    await deleteFrom(
      io,
      written.map(({ file }) => file.filePath),
    )
    throw error
  }
}

interface GroupOutput {
  readonly deletes: RowDeletes
  /** Temporary table with the path of each input: columns `f` and `path`. */
  readonly paths: string
  /** Number of the first new file. */
  readonly start: number
}

async function writeGroup(
  { run, io }: StageContext,
  group: readonly ScanInput[],
  { deletes: { table, output }, paths, start }: GroupOutput,
): Promise<readonly DataFile[]> {
  const [first] = group
  if (first === undefined) return []
  const { file } = first
  // the rows are sorted, so that a range of keys reads only its part of the table
  const indexes = group.map(({ index }) => index)
  const [low, high] = [indexes[0] ?? 0, (indexes.at(-1) ?? 0) + 1] // in ascending order
  const rows = `
    SELECT p.path, ${positionOfKey('c.k')} AS pos FROM ${table} AS c JOIN ${paths} AS p ON p.f = ${inputOfKey('c.k')}
    WHERE c.k >= ${positionKey(String(low), '0')} AND c.k < ${positionKey(String(high), '0')} AND p.f IN (${indexes.join(', ')})`
  const { files } = await writePositionDeletes(run, rows, {
    io,
    specId: file.specId,
    partition: file.partition,
    targetFileSizeBytes: output.targetFileSizeBytes,
    properties: output.properties,
    newLocation: (n) => output.newLocation(file, start + n),
  })
  return files
}
