import { rm } from 'node:fs/promises'

import { IcebergError } from '../../../iceberg/errors.ts'
import { LAST_UPDATED, ROW_ID } from '../../../iceberg/schema/lineage-columns.ts'
import { deleteFrom } from '../../../iceberg/io/delete-files.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { FileScanTask } from '../../../iceberg/scan/scan.ts'
import type { CarriedDeletesOutput, RowIndex, RowIndexTask, RowLocation } from '../../row-index.ts'

import { writePositionDeletes } from '../deletes/write-position-deletes.ts'
import { inputOfKey, POSITION_DELETES, positionOfKey } from '../scan/position-deletes.ts'
import { openInputs } from '../scan/inputs.ts'
import type { ScanInput } from '../scan/inputs.ts'
import { RowSource } from '../scan/row-source.ts'
import type { RowColumns } from '../scan/row-source.ts'
import type { StageContext } from '../scan/stage-context.ts'
import { maxVectorBytes, NO_LIMIT, planWidth } from '../session/width.ts'
import { textOf } from '../session/result-values.ts'
import { quoteText } from '../session/sql-text.ts'
import { rowHash, rowIdentity, scanColumns } from '../comparison/row-hash.ts'
import { ArrivingDeletes, LIVE_DELETES } from './arriving-deletes.ts'

/** Rows in one rewrite that are located at most; after more deletes, rewriting again is the better way. */
const MAX_ROWS = 4_000_000
/** As Iceberg's default of `write.delete.target-file-size-bytes`; larger than {@link MAX_ROWS} positions ever are. */
const DELETE_FILE_BYTES = 64 * 1024 ** 2

/** What identifies a row: its row id, which is unique, or all its values, which equal rows share. */
type RowKey = 'row-id' | 'value'

/**
 * Temporary tables: `old_rows` and `new_rows` have position `k` and key `h` of each row that the rewrite copied; `settled` the old
 * positions that the rewrite or an earlier call accounted for, `carried_from` those of earlier calls, and `carried` the new
 * positions of earlier calls; `uniform` the hashes whose rows are all equal.
 */
const TABLES = `
  CREATE TEMP TABLE settled (k BIGINT);
  CREATE TEMP TABLE carried_from (k BIGINT);
  CREATE TEMP TABLE arrived (k BIGINT)`

/** The index of one rewrite on a run of its own. */
export class DuckDbRowIndex implements RowIndex {
  readonly #context: StageContext
  readonly #task: RowIndexTask
  readonly #key: RowKey
  readonly #arriving: ArrivingDeletes
  readonly #onClose: () => Promise<void>
  #reads = 0

  private constructor(parts: IndexParts) {
    this.#context = parts.context
    this.#task = parts.task
    this.#key = parts.key
    this.#arriving = parts.arriving
    this.#onClose = parts.onClose
  }

  /** Reads source and new files once. `onClose` removes the run of the context. */
  static async open(context: StageContext, task: RowIndexTask, onClose: () => Promise<void>): Promise<DuckDbRowIndex> {
    const { run } = context
    const key = rowKey(task)
    const inputs = await openInputs(context, task.inputs)
    const source = await RowSource.create(context, inputs)
    const columns = keyColumns(task, key)
    await storeKeys(context, { table: 'old_rows', rows: source.liveRows(columns), inputs, key, columns })
    await removeStaged(inputs)
    const written = await openWritten(context, task.files)
    const newRows = written.rows?.liveRows(columns)
    await storeKeys(context, { table: 'new_rows', rows: newRows, inputs: written.inputs, key, columns })
    await removeStaged(written.inputs)
    await requireSameCount(context, task)
    for (const statement of TABLES.split(';')) await run.execute(statement)
    await run.execute('CREATE TEMP TABLE carried AS SELECT k, h FROM new_rows WHERE false')
    await run.execute('CREATE TEMP TABLE uniform AS SELECT h FROM new_rows WHERE false')
    const hasDeletes = task.inputs.some(({ deletes }) =>
      deletes.some(({ file }) => file.content === 'position-deletes'),
    )
    if (hasDeletes) await run.execute(`INSERT INTO settled SELECT k FROM ${POSITION_DELETES}`)
    const arriving = await ArrivingDeletes.create(context, inputs)
    return new DuckDbRowIndex({ context, task, key, arriving, onClose })
  }

  async locate(inputs: readonly FileScanTask[]): Promise<RowLocation> {
    const changed = await this.#arriving.update(inputs)
    const refusal = changed.length === 0 ? undefined : await this.#settle(changed)
    if (refusal !== undefined) return { kind: 'impossible', reason: refusal }
    return { kind: 'located', positions: await this.#positions(), rows: await this.#countRows() }
  }

  async writePositionDeletes({ properties, newLocation }: CarriedDeletesOutput): Promise<readonly DataFile[]> {
    const { run, io } = this.#context
    const written: DataFile[] = []
    try {
      for (const [index, { filePath, specId, partition }] of this.#task.files.entries()) {
        const rows = `
          SELECT ${quoteText(filePath)} AS path, ${positionOfKey('k')} AS pos FROM carried WHERE ${inputOfKey('k')} = ${index}`
        const start = written.length
        const { files } = await writePositionDeletes(run, rows, {
          io,
          specId,
          partition,
          targetFileSizeBytes: DELETE_FILE_BYTES,
          properties,
          newLocation: (n) => newLocation(start + n),
        })
        for (const file of files) written.push(file)
      }
      return written
    } catch (error) {
      await deleteFrom(
        io,
        written.map((file) => file.filePath),
      )
      throw error
    }
  }

  close(): Promise<void> {
    return this.#onClose()
  }

  /** Finds new positions for what was deleted in some inputs; returns why that is impossible. */
  async #settle(changed: readonly number[]): Promise<string | undefined> {
    const isChanged = `${inputOfKey('k')} IN (${changed.join(', ')})`
    const withdrawn = await this.#count(
      `SELECT k FROM settled AS s WHERE ${isChanged} AND NOT EXISTS (FROM ${LIVE_DELETES} AS l WHERE l.k = s.k)`,
    )
    if (withdrawn > 0) return `${withdrawn} deletes were withdrawn`
    await this.#context.run.execute(`
      CREATE OR REPLACE TEMP TABLE arrived AS
      SELECT DISTINCT k FROM ${LIVE_DELETES} AS l WHERE ${isChanged} AND NOT EXISTS (FROM settled AS s WHERE s.k = l.k)`)
    const rows = (await this.#count('FROM arrived')) + (await this.#count('FROM carried'))
    if (rows > MAX_ROWS) return `${rows} rows were deleted, more than ${MAX_ROWS}`
    return this.#choose()
  }

  /** Chooses as many new rows for each key as old rows with the key were deleted. */
  async #choose(): Promise<string | undefined> {
    const { run } = this.#context
    await run.execute(`
      CREATE OR REPLACE TEMP TABLE wanted AS
      SELECT o.h, count(*) AS n FROM arrived AS a JOIN old_rows AS o ON o.k = a.k GROUP BY o.h`)
    await run.execute(`
      CREATE OR REPLACE TEMP TABLE candidates AS
      SELECT r.k, r.h, w.n FROM new_rows AS r JOIN wanted AS w ON w.h = r.h
      WHERE NOT EXISTS (FROM carried AS c WHERE c.k = r.k)`)
    // where all remaining rows of a key are deleted, it does not matter which row is which
    await run.execute(`
      CREATE OR REPLACE TEMP TABLE ambiguous AS
      SELECT h FROM candidates AS c WHERE NOT EXISTS (FROM uniform AS u WHERE u.h = c.h)
      GROUP BY h HAVING count(*) > any_value(n)`)
    if (await this.#hasDifferentRows()) return 'different rows have the same key'
    await run.execute('INSERT INTO uniform SELECT h FROM ambiguous')
    await run.execute(`
      INSERT INTO carried SELECT k, h FROM candidates QUALIFY row_number() OVER (PARTITION BY h ORDER BY k) <= n`)
    await run.execute('INSERT INTO carried_from SELECT a.k FROM arrived AS a JOIN old_rows AS o ON o.k = a.k')
    await run.execute('INSERT INTO settled SELECT k FROM arrived')
    await this.#requireSameKeys()
    return undefined
  }

  /** Whether some ambiguous key belongs to rows that are not equal in all values, so that it matters which one is deleted. */
  async #hasDifferentRows(): Promise<boolean> {
    if ((await this.#count('FROM ambiguous')) === 0) return false
    // row ids are unique
    if (this.#key === 'row-id') return true
    const columns = keyColumns(this.#task, this.#key)
    this.#reads += 1
    const written = await openWritten(this.#context, this.#task.files, `again${this.#reads}_`)
    if (written.rows === undefined) return true
    const identity = rowIdentity(scanColumns(hashedFields(columns)))
    const list = identity.map((sql, at) => `${sql} AS i${at}`).join(', ')
    const distinct = `
      SELECT DISTINCT a.h, ${list} FROM (${written.rows.liveRows(columns)}) AS s
      JOIN candidates AS c ON c.k = s.p JOIN ambiguous AS a ON a.h = c.h`
    const different = await this.#count(`SELECT h FROM (${distinct}) GROUP BY h HAVING count(*) > 1`)
    await removeStaged(written.inputs)
    return different > 0
  }

  /** The keys of the old and of the new rows must be the same, as often. */
  async #requireSameKeys(): Promise<void> {
    const sum = (from: string): string =>
      `(SELECT count(*)::VARCHAR || ' ' || coalesce(sum(h), 0)::VARCHAR FROM ${from})`
    const old = 'carried_from AS f JOIN old_rows AS o ON o.k = f.k'
    const [row] = await this.#context.run.rows(`SELECT ${sum(old)} AS old, ${sum('carried')} AS new`)
    if (textOf(row?.['old']) === textOf(row?.['new'])) return
    throw new IcebergError(
      'ROWS_NOT_CONSERVED',
      'the rewrite was abandoned and nothing was changed: not all rows that were deleted meanwhile are in the new files',
    )
  }

  async #positions(): Promise<readonly (readonly number[])[]> {
    const positions: number[][] = this.#task.files.map(() => [])
    const rows = await this.#context.run.rows(`
      SELECT ${inputOfKey('k')}::INTEGER AS f, list(${positionOfKey('k')}::DOUBLE ORDER BY k) AS p
      FROM carried GROUP BY f`)
    for (const { f, p } of rows) positions[Number(f)] = Array.isArray(p) ? p.map(Number) : []
    return positions
  }

  /** Independently of how rows are chosen: deletes now, without those that were applied, of rows that were copied. */
  #countRows(): Promise<number> {
    const { inputs } = this.#task
    const hasDeletes = inputs.some(({ deletes }) => deletes.some(({ file }) => file.content === 'position-deletes'))
    const before = hasDeletes ? `AND NOT EXISTS (FROM ${POSITION_DELETES} AS d WHERE d.k = l.k)` : ''
    return this.#count(
      `SELECT DISTINCT k FROM ${LIVE_DELETES} AS l WHERE EXISTS (FROM old_rows AS o WHERE o.k = l.k) ${before}`,
    )
  }

  async #count(rows: string): Promise<number> {
    const [row] = await this.#context.run.rows(`SELECT count(*) AS n FROM (${rows})`)
    return Number(row?.['n'] ?? 0)
  }
}

interface IndexParts {
  readonly context: StageContext
  readonly task: RowIndexTask
  readonly key: RowKey
  readonly arriving: ArrivingDeletes
  readonly onClose: () => Promise<void>
}

/** Row ids identify rows only if every file assigns them; version 3 also has files without. */
function rowKey({ inputs, formatVersion }: RowIndexTask): RowKey {
  const haveIds = inputs.every(({ dataFile }) => dataFile.firstRowId !== undefined)
  return formatVersion === 3 && haveIds ? 'row-id' : 'value'
}

function keyColumns({ schema, formatVersion }: RowIndexTask, key: RowKey): RowColumns {
  const fields = key === 'row-id' ? [] : schema.fields
  return { fields, withLineage: formatVersion === 3, withPosition: true }
}

/** Equal rows with different row ids are different rows. */
function hashedFields({ fields, withLineage }: RowColumns): RowColumns['fields'] {
  return withLineage === true ? [...fields, ROW_ID, LAST_UPDATED] : fields
}

interface KeysToStore {
  readonly table: string
  /** Undefined: none. */
  readonly rows: string | undefined
  readonly inputs: readonly ScanInput[]
  readonly key: RowKey
  readonly columns: RowColumns
}

async function storeKeys({ run }: StageContext, { table, rows, inputs, key, columns }: KeysToStore): Promise<void> {
  if (rows === undefined || rows === '') {
    const type = key === 'row-id' ? 'BIGINT' : 'UBIGINT'
    return run.execute(`CREATE TEMP TABLE ${table} (k BIGINT, h ${type})`)
  }
  const { isForOneThread } = planWidth(run, maxVectorBytes(inputs))
  const limit = isForOneThread ? ` LIMIT ${NO_LIMIT}` : ''
  const hash = key === 'row-id' ? `s.c${ROW_ID.id}` : rowHash(scanColumns(hashedFields(columns)))
  await run.execute(
    `CREATE TEMP TABLE ${table} AS SELECT s.p AS k, ${hash} AS h FROM (SELECT * FROM (${rows})${limit}) AS s`,
  )
}

async function openWritten(
  context: StageContext,
  files: readonly DataFile[],
  prefix = 'written',
): Promise<{ readonly inputs: readonly ScanInput[]; readonly rows: RowSource | undefined }> {
  if (files.length === 0) return { inputs: [], rows: undefined }
  // new files have no deletes yet, and store their own lineage
  const tasks = files.map((dataFile) => ({ dataFile, sequenceNumber: 0, fileSequenceNumber: 0, deletes: [] }))
  const inputs = await openInputs(context, tasks, prefix)
  return { inputs, rows: await RowSource.create(context, inputs) }
}

/** The index stays open for a while, and copies of files of an object store need space on this machine. */
async function removeStaged(inputs: readonly ScanInput[]): Promise<void> {
  for (const { path } of inputs) await rm(path, { force: true })
}

/** Source and new files must still have the rows that the rewrite counted. */
async function requireSameCount({ run }: StageContext, { files }: RowIndexTask): Promise<void> {
  const [row] = await run.rows('SELECT (SELECT count(*) FROM old_rows) AS old, (SELECT count(*) FROM new_rows) AS new')
  const expected = files.reduce((sum, file) => sum + file.recordCount, 0)
  if (Number(row?.['old']) === expected && Number(row?.['new']) === expected) return
  throw new IcebergError(
    'ROWS_NOT_CONSERVED',
    `the rewrite was abandoned and nothing was changed: it has ${textOf(row?.['old'])} rows to copy and ` +
      `${textOf(row?.['new'])} in the new files, not ${expected}`,
  )
}
