import type { LiveDataFile, RewriteDeletesResult, RewriteDeletesTask } from '../../engine.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import { locationKey } from '../../../iceberg/io/location-identity.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import { DeleteIndex } from '../../../iceberg/scan/delete-index.ts'
import type { DeleteFileRef } from '../../../iceberg/scan/delete-index.ts'
import { fileKey } from '../../../iceberg/scan/file-scope.ts'

import { readFooter } from '../parquet/footer.ts'
import type { StageContext } from '../scan/stage-context.ts'
import { stageFiles } from '../scan/staging.ts'
import type { DuckDbRun } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'
import { resolveDeletes } from '../scan/position-deletes.ts'
import type { Applying, DeleteTarget, ResolvedDeletes } from '../scan/position-deletes.ts'
import { writePositionDeletes } from './write-position-deletes.ts'

const OLD = 'merged_targets'
const NEW = 'written_targets'
/** Rows of a file whose rows cannot be counted, so that none of its deletes is behind its end. */
const UNCOUNTED = 2n ** 62n

/** A live data file of the merge. */
interface Target extends DeleteTarget {
  readonly file: DataFile
  readonly live: LiveDataFile
}

/** Refuses delete files that are not Parquet or Avro files with position deletes, before anything is read. */
export function requirePlainDeletes({ deletes }: RewriteDeletesTask): void {
  for (const { file } of deletes) {
    const isReadable = file.fileFormat === 'parquet' || file.fileFormat === 'avro'
    if (file.content === 'position-deletes' && isReadable && file.keyMetadata === undefined) continue
    throw new IcebergError('UNSUPPORTED', `${file.filePath} is not a plain Parquet or Avro file with position deletes`)
  }
}

/**
 * Merges position delete files. The rows to keep are those that delete a row of a live data file, with the spelling of the path that
 * they have: other readers compare paths in other ways. Afterwards the new files are read as a scan reads them, and must delete exactly
 * the rows that the merged ones delete.
 */
export async function mergePositionDeletes(run: DuckDbRun, task: RewriteDeletesTask): Promise<RewriteDeletesResult> {
  const { io, metadata, deletes, output } = task
  if (deletes.length === 0) return { files: [], rowsRead: 0, rowsWritten: 0, rowsDeleted: 0, droppedPaths: [] }
  const context = { run, io, metadata }
  const inputs = targetsOf(task.dataFiles)
  const before = await resolveDeletes(context, {
    deletes: applying(context, deletes, inputs),
    inputs,
    table: OLD,
    prefix: 'm',
  })
  requireRecordedRows(before)
  const uncounted = await findUncounted(context, before, inputs)
  await liftEnds(run, OLD, uncounted)
  const kept = `SELECT r.path, r.pos FROM ${matching(before, OLD)}`
  const { files, rowsWritten } = await writePositionDeletes(run, kept, { io, ...output })
  try {
    const expected = await fingerprint(run, before, OLD)
    const written = files.map((file) => ({ file, sequenceNumber: task.sequenceNumber }))
    const found = await readBack(context, written, { inputs, uncounted })
    if (expected.hash !== found.hash || expected.rows !== found.rows) {
      throw new IcebergError(
        'ROWS_NOT_CONSERVED',
        `the delete files delete ${expected.rows} rows, and the new ones ${found.rows} rows or others; nothing was changed`,
      )
    }
    const rowsRead = before.staged.reduce((sum, { rowCount }) => sum + rowCount, 0)
    return { files, rowsRead, rowsWritten, rowsDeleted: expected.rows, droppedPaths: [...before.unmatched] }
  } catch (error) {
    // a failed run leaves no file behind
    await Promise.all(files.map(({ filePath }) => io.delete(filePath).catch(() => undefined)))
    throw error
  }
}

/** The data files, numbered. `UNSUPPORTED` when two have the same location, as a path would refer to both. */
function targetsOf(dataFiles: readonly LiveDataFile[]): readonly Target[] {
  const keys = new Set<string>()
  return dataFiles.map((live, index) => {
    const { dataFile: file } = live
    const key = locationKey(file.filePath)
    if (keys.has(key)) {
      throw new IcebergError(
        'UNSUPPORTED',
        `the table lists ${file.filePath} twice or in two places, and it is unclear which of them its deletes are about`,
      )
    }
    keys.add(key)
    return { index, file, live, rowCount: file.recordCount }
  })
}

/** Which data files each delete file applies to, as a scan decides it. */
function applying(
  { metadata }: StageContext,
  deletes: readonly DeleteFileRef[],
  inputs: readonly Target[],
): readonly Applying<Target>[] {
  const index = new DeleteIndex(metadata, deletes)
  const byFile = new Map(deletes.map(({ file }) => [fileKey(file), { file, inputs: new Set<Target>() }]))
  for (const input of inputs) {
    for (const { file } of index.deletesFor(input.file, input.live.sequenceNumber)) {
      byFile.get(fileKey(file))?.inputs.add(input)
    }
  }
  return deletes.map(({ file }) => byFile.get(fileKey(file)) ?? { file, inputs: new Set() })
}

function requireRecordedRows({ staged }: ResolvedDeletes): void {
  for (const { file, rowCount } of staged) {
    if (rowCount === file.recordCount) continue
    throw new IcebergError(
      'CORRUPT_FILE',
      `${file.filePath} has ${rowCount} rows, but its manifest says ${file.recordCount}`,
    )
  }
}

/** FROM clause of the rows that delete a row of an input. */
function matching({ rows }: ResolvedDeletes, table: string): string {
  return `(${rows}) AS r JOIN ${table} AS m ON m.d = r.d AND m.path = r.path WHERE r.pos >= 0 AND r.pos < m.n`
}

/**
 * Data files with deletes behind their end whose rows cannot be counted. If a manifest has too few rows, these deletes would hide rows;
 * `CORRUPT_FILE` for such a manifest.
 */
async function findUncounted(
  context: StageContext,
  { rows }: ResolvedDeletes,
  inputs: readonly Target[],
): Promise<readonly number[]> {
  const found = await context.run.rows(`
    SELECT DISTINCT m.f FROM (${rows}) AS r JOIN ${OLD} AS m ON m.d = r.d AND m.path = r.path WHERE r.pos >= m.n`)
  const numbers = new Set(found.map(({ f }) => Number(f)))
  const exceeded = inputs.filter(({ index }) => numbers.has(index))
  const countable = exceeded.filter(({ file }) => file.fileFormat === 'parquet')
  const locations = countable.map(({ file }) => file.filePath)
  const paths = await stageFiles(context.run, context.io, { locations, prefix: 'e' })
  for (const [at, { file }] of countable.entries()) {
    const { rowCount } = await readFooter(paths[at] ?? '', file.filePath)
    if (rowCount === file.recordCount) continue
    throw new IcebergError(
      'CORRUPT_FILE',
      `${file.filePath} has ${rowCount} rows, but its manifest says ${file.recordCount}`,
    )
  }
  return exceeded.filter(({ file }) => file.fileFormat !== 'parquet').map(({ index }) => index)
}

async function liftEnds(run: DuckDbRun, table: string, uncounted: readonly number[]): Promise<void> {
  if (uncounted.length === 0) return
  await run.execute(`UPDATE ${table} SET n = ${UNCOUNTED} WHERE f IN (${uncounted.join(', ')})`)
}

interface Fingerprint {
  readonly rows: number
  readonly hash: string
}

/** The rows of data files that are deleted, as a number and a sum of hashes. */
async function fingerprint(run: DuckDbRun, resolved: ResolvedDeletes, table: string): Promise<Fingerprint> {
  const [row] = await run.rows(`
    SELECT count(*) AS rows, coalesce(sum(hash(f, pos)::HUGEINT), 0)::VARCHAR AS hash
    FROM (SELECT DISTINCT m.f AS f, r.pos AS pos FROM ${matching(resolved, table)})`)
  return { rows: Number(row?.['rows']), hash: textOf(row?.['hash']) }
}

/** Reads the new files from their final locations, as a scan would. */
async function readBack(
  context: StageContext,
  written: readonly DeleteFileRef[],
  { inputs, uncounted }: { readonly inputs: readonly Target[]; readonly uncounted: readonly number[] },
): Promise<Fingerprint> {
  if (written.length === 0) return { rows: 0, hash: '0' }
  const after = await resolveDeletes(context, {
    deletes: applying(context, written, inputs),
    inputs,
    table: NEW,
    prefix: 'w',
  })
  requireRecordedRows(after)
  await liftEnds(context.run, NEW, uncounted)
  return fingerprint(context.run, after, NEW)
}
