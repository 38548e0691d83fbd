import { IcebergError } from '../../../iceberg/errors.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'

import type { DeleteOutputSpec } from '../../output-spec.ts'
import { quoteText, textList } from '../session/sql-text.ts'
import type { DuckDbRun } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'
import { copyRows } from '../write/copy-writer.ts'
import type { CopiedFile } from '../write/copy-writer.ts'
import { fileMetrics } from '../write/file-metrics.ts'
import { readFooters } from '../write/output-files.ts'
import type { Footer } from '../write/output-files.ts'
import { leafColumns } from '../write/output-layout.ts'
import { DELETE_COLUMNS, FILE_PATH, POS } from '../scan/delete-columns.ts'

/** Position delete files of one partition, and the storage that they are written to. */
export interface PositionDeleteOutput extends DeleteOutputSpec {
  readonly io: FileIO
}

/** New position delete files in their final locations. */
export interface WrittenPositionDeletes {
  /** Ready for a manifest; content `position-deletes`, spec and partition set. */
  readonly files: readonly DataFile[]
  /** Different positions in the files, read back from them. */
  readonly rowsWritten: number
}

const PATH_COLUMN = `c${FILE_PATH.id}`
const POS_COLUMN = `c${POS.id}`
const DELETE_PREFIX = 'write.delete.parquet.'
const DATA_PREFIX = 'write.parquet.'
/** The properties of Parquet files that deletes have too; those of columns are about columns of the table. */
const WRITER_PROPERTIES = ['compression-codec', 'compression-level', 'page-version', 'row-group-size-bytes']

/**
 * Writes the rows of a query as position delete files (Iceberg spec, "Position Delete Files"): sorted by path and position, each
 * position once. `rows` is a SELECT with columns `path` and `pos` without nulls, which returns the same rows each time. No rows, no
 * files. The written files are read back and compared with the rows; if anything fails, no new file remains.
 */
export async function writePositionDeletes(
  run: DuckDbRun,
  rows: string,
  output: PositionDeleteOutput,
): Promise<WrittenPositionDeletes> {
  const distinct = `SELECT DISTINCT path AS ${PATH_COLUMN}, pos AS ${POS_COLUMN} FROM (${rows}) AS r`
  const copied = await copyRows(run, {
    rows: distinct,
    fields: DELETE_COLUMNS,
    properties: writerProperties(output.properties),
    bytesPerRow: 0,
    split: { kind: 'size', bytes: output.targetFileSizeBytes },
    orderBy: `ORDER BY s.${PATH_COLUMN}, s.${POS_COLUMN}`,
  })
  const paths = copied.map(({ path }) => path)
  const footers = await readFooters(paths, DELETE_COLUMNS)
  const rowsWritten = await requireSameRows(run, distinct, paths)
  const described: DataFile[] = []
  const placed: string[] = []
  try {
    for (const [index, file] of copied.entries()) {
      const location = output.newLocation(index)
      const entry = await describe(run, file, { output, location, footer: footers[index] })
      await output.io.moveIn(file.path, location)
      placed.push(location)
      described.push(entry)
    }
    run.check()
    return { files: described, rowsWritten }
  } catch (error) {
    await Promise.all(placed.map((location) => output.io.delete(location).catch(() => undefined)))
    throw error
  }
}

function writerProperties(properties: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const own: Record<string, string> = {}
  for (const name of WRITER_PROPERTIES) {
    const value = properties[DELETE_PREFIX + name] ?? properties[DATA_PREFIX + name]
    if (value !== undefined) own[DATA_PREFIX + name] = value
  }
  return own
}

/** Compares what was written with what had to be, independently of the writer; returns the number of rows. */
async function requireSameRows(run: DuckDbRun, distinct: string, paths: readonly string[]): Promise<number> {
  const expected = await fingerprint(run, distinct)
  const columns = `${FILE_PATH.name} AS ${PATH_COLUMN}, ${POS.name} AS ${POS_COLUMN}`
  const written =
    paths.length === 0
      ? { rows: 0n, hash: '0' }
      : await fingerprint(run, `SELECT ${columns} FROM read_parquet(${textList(paths)}, hive_partitioning = false)`)
  if (written.rows === expected.rows && written.hash === expected.hash) return Number(written.rows)
  throw new IcebergError(
    'ROWS_NOT_CONSERVED',
    `new position delete files have ${written.rows} positions, which are not the ${expected.rows} that were to be written`,
  )
}

async function fingerprint(run: DuckDbRun, rows: string): Promise<{ readonly rows: bigint; readonly hash: string }> {
  const [row] = await run.rows(`
    SELECT count(*)::VARCHAR AS rows, coalesce(sum(hash(${PATH_COLUMN}, ${POS_COLUMN})::HUGEINT), 0)::VARCHAR AS hash
    FROM (${rows}) AS s`)
  return { rows: BigInt(textOf(row?.['rows'])), hash: textOf(row?.['hash']) }
}

interface Describing {
  readonly output: PositionDeleteOutput
  readonly location: string
  readonly footer: Footer | undefined
}

/**
 * The manifest entry of a file. Its bounds are whole paths, because equal bounds of `file_path` say that the file is about one data
 * file; statistics of Parquet may truncate them.
 */
async function describe(run: DuckDbRun, file: CopiedFile, { output, location, footer }: Describing): Promise<DataFile> {
  const [row] = await run.rows(`
    SELECT count(*) AS rows, count(${FILE_PATH.name}) AS paths, count(${POS.name}) AS positions,
      min(${FILE_PATH.name}) AS first, max(${FILE_PATH.name}) AS last, min(${POS.name})::VARCHAR AS low,
      max(${POS.name})::VARCHAR AS high
    FROM read_parquet(${quoteText(file.path)}, hive_partitioning = false)`)
  const { rows, paths, positions, low, high } = row ?? {}
  if (footer === undefined || rows !== BigInt(footer.rowCount) || paths !== rows || positions !== rows) {
    throw new IcebergError('ENGINE_FAILED', 'a new position delete file lacks rows, paths or positions')
  }
  const [first, last] = [textOf(row?.['first']), textOf(row?.['last'])]
  const ranges = new Map([
    [FILE_PATH.id, { lower: first, upper: last }],
    [POS.id, { lower: BigInt(textOf(low)), upper: BigInt(textOf(high)) }],
  ])
  const leaves = leafColumns(DELETE_COLUMNS)
  const full = { kind: 'full' } as const
  const modes = new Map(leaves.map(({ field }) => [field.id, full]))
  return {
    content: 'position-deletes',
    filePath: location,
    fileFormat: 'parquet',
    specId: output.specId,
    partition: output.partition,
    recordCount: footer.rowCount,
    fileSizeInBytes: file.sizeBytes,
    ...fileMetrics(file, ranges, { leaves, modes }),
    splitOffsets: footer.splitOffsets,
    ...(first === last ? { referencedDataFile: first } : {}),
  }
}
