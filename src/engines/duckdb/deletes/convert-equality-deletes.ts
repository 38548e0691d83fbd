import type { ConvertDeletesResult, ConvertDeletesTask } from '../../engine.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import { deleteFrom } from '../../../iceberg/io/delete-files.ts'
import { isDeletionVector } from '../../../iceberg/puffin/deletion-vector.ts'
import { DeleteIndex } from '../../../iceberg/scan/delete-index.ts'
import type { DeleteFileRef } from '../../../iceberg/scan/delete-index.ts'
import { fileKey, referencedDataFile } from '../../../iceberg/scan/file-scope.ts'

import { openInputs } from '../scan/inputs.ts'
import type { ScanInput } from '../scan/inputs.ts'
import { RowSource } from '../scan/row-source.ts'
import type { StageContext } from '../scan/stage-context.ts'
import type { DuckDbRun } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'
import { inputOfKey, POSITION_DELETES } from '../scan/position-deletes.ts'
import { countByInput, writeRowDeletes } from './write-row-deletes.ts'

/** Temporary table with the rows that equality deletes remove: column `k`, ascending ({@link positionKey}). */
const CONVERTED = 'converted'
const NEW_POSITIONS = { table: 'position_deletes_after', prefix: 'w' }

/** Temporary table with the rows of one bucket of keys. */
const FOUND = 'found_rows'
/** The part of the memory for the keys of a bucket: they are read, grouped, stored and joined. */
const KEY_SHARE = 16

/**
 * Converts equality deletes, in the order of events: the keys of the equality deletes are joined with the data files as every scan does,
 * one bucket of keys after another, so that each fits into memory; the positions of the rows found are written as position deletes or
 * vectors; the new files are read back as a scan reads them, and must leave exactly the rows that the old deletes leave.
 */
export async function convertEqualityDeletes(run: DuckDbRun, task: ConvertDeletesTask): Promise<ConvertDeletesResult> {
  const { io, metadata } = task
  const context = { run, io, metadata }
  const inputs = await openInputs(context, task.inputs)
  const source = await RowSource.open(context, inputs)
  const before = await findRows(run, source)
  const counts = await countByInput(run, CONVERTED)
  const rowsDeleted = [...counts.values()].reduce((sum, rows) => sum + rows, 0)
  const deletes = await writeDeletes(context, task, { inputs, counts })
  try {
    const rowsLeft = await requireSameRows(context, { before, inputs, deletes })
    run.check()
    return { deletes, rowsRead: source.rowsRead, rowsDeleted, rowsLeft }
  } catch (error) {
    // a failed run leaves no file behind
    await deleteFrom(io, pathsOf(deletes))
    throw error
  }
}

/**
 * Fills {@link CONVERTED}; returns the rows that the deletes leave in each input. In each bucket, the rows that a scan drops because of its
 * keys must be the rows found, which another query selects.
 */
async function findRows(run: DuckDbRun, source: RowSource): Promise<Fingerprints> {
  const all = await fingerprints(run, source.liveRows({ fields: [], withPosition: true, ignoresKeys: true }))
  const found = source.equalityDeletedRows() ?? 'SELECT 0::BIGINT AS k WHERE false'
  const count = Math.max(1, Math.ceil((source.keyBytes * KEY_SHARE) / run.memoryLimitBytes))
  await run.execute(`CREATE TEMP TABLE ${FOUND} (k BIGINT)`)
  for (let index = 0; index < count; index += 1) {
    await source.loadKeys({ index, count })
    await run.execute(`CREATE OR REPLACE TEMP TABLE ${CONVERTED} AS SELECT k FROM (${found}) AS s`)
    const left = await fingerprints(run, source.liveRows({ fields: [], withPosition: true }))
    requireEqual(subtract(all, await fingerprints(run, `SELECT k AS p FROM ${CONVERTED}`)), left)
    await run.execute(`INSERT INTO ${FOUND} SELECT k FROM ${CONVERTED}`)
  }
  // files with other key columns may delete the same row in another bucket
  await run.execute(`CREATE OR REPLACE TEMP TABLE ${CONVERTED} AS SELECT DISTINCT k FROM ${FOUND} ORDER BY k`)
  await run.execute(`DROP TABLE ${FOUND}`)
  return subtract(all, await fingerprints(run, `SELECT k AS p FROM ${CONVERTED}`))
}

function pathsOf(deletes: readonly DeleteFileRef[]): readonly string[] {
  return [...new Set(deletes.map(({ file }) => file.filePath))]
}

interface Found {
  readonly inputs: readonly ScanInput[]
  /** Rows to delete of each input that has any. */
  readonly counts: ReadonlyMap<number, number>
}

async function writeDeletes(
  context: StageContext,
  { output }: ConvertDeletesTask,
  { inputs, counts }: Found,
): Promise<readonly DeleteFileRef[]> {
  const affected = inputs.filter(({ index }) => counts.has(index))
  const written = await writeRowDeletes(context, { table: CONVERTED, older: POSITION_DELETES, affected, output })
  return written.map(({ file, about }) => {
    const replaced = isDeletionVector(file) ? about.flatMap(({ task }) => task.deletes) : about.flatMap(equalityDeletes)
    return { file, sequenceNumber: newestOf(replaced) }
  })
}

function equalityDeletes({ task }: ScanInput): readonly DeleteFileRef[] {
  return task.deletes.filter(({ file }) => file.content === 'equality-deletes')
}

function positionDeletes({ task }: ScanInput): readonly DeleteFileRef[] {
  return task.deletes.filter(({ file }) => file.content === 'position-deletes')
}

function newestOf(deletes: readonly DeleteFileRef[]): number {
  return deletes.reduce((most, { sequenceNumber }) => Math.max(most, sequenceNumber), 0)
}

interface Comparison {
  /** What the old deletes leave. */
  readonly before: Fingerprints
  readonly inputs: readonly ScanInput[]
  readonly deletes: readonly DeleteFileRef[]
}

/** Compares the rows that the old and the new deletes leave in each data file; returns their number. */
async function requireSameRows(context: StageContext, { before, inputs, deletes }: Comparison): Promise<number> {
  const converted = withNewDeletes(context, inputs, deletes)
  const source = await RowSource.create(context, converted, NEW_POSITIONS)
  const after = await fingerprints(context.run, source.liveRows({ fields: [], withPosition: true }))
  requireEqual(before, after)
  return [...after.values()].reduce((sum, { rows }) => sum + rows, 0)
}

/** The inputs with the deletes that a scan would find after the conversion. */
function withNewDeletes(
  { metadata }: StageContext,
  inputs: readonly ScanInput[],
  added: readonly DeleteFileRef[],
): readonly ScanInput[] {
  const vectors = new Set(added.flatMap(({ file }) => (isDeletionVector(file) ? (file.referencedDataFile ?? []) : [])))
  const kept = new Map<string, DeleteFileRef>()
  for (const input of inputs) {
    const hasVector = vectors.has(input.file.filePath)
    for (const ref of positionDeletes(input)) {
      const isReplaced = hasVector && referencedDataFile(ref.file) !== undefined
      if (!isReplaced) kept.set(`${fileKey(ref.file)} ${ref.sequenceNumber}`, ref)
    }
  }
  const index = new DeleteIndex(metadata, [...kept.values(), ...added])
  return inputs.map((input) => {
    const deletes = index.deletesFor(input.file, input.task.sequenceNumber)
    return { ...input, task: { ...input.task, deletes } }
  })
}

/** Positions in a data file, as a number and a sum of hashes. */
interface Fingerprint {
  readonly rows: number
  readonly hash: bigint
}

type Fingerprints = ReadonlyMap<number, Fingerprint>

const NO_ROWS: Fingerprint = { rows: 0, hash: 0n }

/** The positions of each input; `rows` is a SELECT with the column `p` ({@link positionKey}). */
async function fingerprints(run: DuckDbRun, rows: string): Promise<Fingerprints> {
  const found = await run.rows(`
    SELECT ${inputOfKey('p')} AS f, count(*) AS rows, sum(hash(p)::HUGEINT)::VARCHAR AS hash FROM (${rows}) AS s GROUP BY f`)
  return new Map(
    found.map(({ f, rows: count, hash }) => [Number(f), { rows: Number(count), hash: BigInt(textOf(hash)) }]),
  )
}

/** What is left of each input without some of its positions. */
function subtract(all: Fingerprints, some: Fingerprints): Fingerprints {
  return new Map(
    [...all].map(([input, { rows, hash }]) => {
      const { rows: fewer, hash: less } = some.get(input) ?? NO_ROWS
      return [input, { rows: rows - fewer, hash: hash - less }]
    }),
  )
}

function requireEqual(expected: Fingerprints, found: Fingerprints): void {
  for (const input of new Set([...expected.keys(), ...found.keys()])) {
    const [then, now] = [expected.get(input) ?? NO_ROWS, found.get(input) ?? NO_ROWS]
    if (then.rows === now.rows && then.hash === now.hash) continue
    throw new IcebergError(
      'ROWS_NOT_CONSERVED',
      `the conversion was abandoned and nothing was changed: a data file would have ${now.rows} rows instead of ${then.rows}, or others`,
    )
  }
}
