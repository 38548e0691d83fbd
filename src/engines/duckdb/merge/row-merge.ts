import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { IcebergError } from '../../../iceberg/errors.ts'
import { deleteFrom } from '../../../iceberg/io/delete-files.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import { currentSchema } from '../../../iceberg/metadata/metadata.ts'
import { LAST_UPDATED, ROW_ID } from '../../../iceberg/schema/lineage-columns.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'
import type { AppendFromResult } from '../../engine.ts'
import type { EngineRunOptions } from '../../run-options.ts'
import type { OutputSpec } from '../../output-spec.ts'
import type { RowMergeTask } from '../../engine.ts'
import type { MergedRows, MergeRows, MergeTarget, RowMerge } from '../../row-merge.ts'

import { countByInput, writeRowDeletes } from '../deletes/write-row-deletes.ts'
import type { WrittenRowDeletes } from '../deletes/write-row-deletes.ts'
import { openInputs, type ScanInput } from '../scan/inputs.ts'
import { inputOfKey, positionKey, removeDeletedByFiles } from '../scan/position-deletes.ts'
import { RowSource } from '../scan/row-source.ts'
import type { StageContext } from '../scan/stage-context.ts'
import type { DuckDbRun } from '../session/session.ts'
import { allOf } from '../session/sql-text.ts'
import { requireValues } from '../write/append-rows.ts'
import { orderClaims, placeFiles } from '../write/output-files.ts'
import { writeRows } from '../write/partitioned-writer.ts'
import { INCOMING, loadIncoming } from './incoming-rows.ts'
import { filesWithKeys } from './key-bounds.ts'
import { readVectors, removeDeleted, type Vectors, withoutPositions, withoutVectors } from './live-matches.ts'

/** Rows of a query that wait in files of this machine. */
export interface WaitingRows {
  readonly task: RowMergeTask
  readonly appended: AppendFromResult
  /** Waits for a turn of the engine. */
  readonly inSlot: <T>(options: EngineRunOptions, work: () => Promise<T>) => Promise<T>
  readonly onClose: () => Promise<void>
}

/** Rows that are merged into a table by key, in a run of the engine of their own. */
export class DuckDbRowMerge implements RowMerge {
  readonly rows: MergeRows
  readonly #run: DuckDbRun
  readonly #waiting: WaitingRows
  #calls = 0

  private constructor(run: DuckDbRun, waiting: WaitingRows, rows: MergeRows) {
    this.#run = run
    this.#waiting = waiting
    this.rows = rows
  }

  /** Loads the waiting rows into the run, which the merge closes. */
  static async open(run: DuckDbRun, waiting: WaitingRows): Promise<DuckDbRowMerge> {
    const { task, appended } = waiting
    const { rowsRead, rowsDeleted, files, checks, sides } = appended
    const rows = await loadIncoming(run, task, files)
    return new DuckDbRowMerge(run, waiting, { rowsRead, rowsDeleted, checks, sides, ...rows })
  }

  mergeInto(target: MergeTarget, options: EngineRunOptions = {}): Promise<MergedRows> {
    const { nullKeys, unknownChange } = this.rows
    if (nullKeys > 0 || unknownChange !== undefined) {
      throw new IcebergError(
        'INVALID_ARGUMENT',
        'rows without a key, or with an unknown kind of change, cannot be merged',
      )
    }
    if (this.rows.keys === 0) return Promise.resolve(NOTHING)
    this.#calls += 1
    const merge = new Merge(this.#run, { target, keyIds: this.#waiting.task.keyIds, prefix: `merge${this.#calls}` })
    return this.#waiting.inSlot(options, () => merge.run())
  }

  async close(): Promise<void> {
    await this.#run.close()
    await this.#waiting.onClose()
  }
}

const NOTHING: MergedRows = {
  files: [],
  deletes: [],
  changedFiles: [],
  rowsInserted: 0,
  rowsUpdated: 0,
  rowsDeleted: 0,
  searchedFiles: 0,
}

interface MergeInput {
  readonly target: MergeTarget
  readonly keyIds: readonly number[]
  /** Begins the names of tables and staged files. */
  readonly prefix: string
}

/** One merge, in the order of events: find the rows with the keys, write the new rows, write the deletes. */
class Merge {
  readonly #run: DuckDbRun
  readonly #context: StageContext
  readonly #target: MergeTarget
  readonly #keys: readonly NestedField[]
  readonly #prefix: string

  constructor(run: DuckDbRun, { target, keyIds, prefix }: MergeInput) {
    const { io, metadata } = target
    this.#run = run
    this.#context = { run, io, metadata }
    this.#target = target
    this.#keys = keyIds.map((id) => keyField(currentSchema(metadata).fields, id))
    this.#prefix = prefix
  }

  async run(): Promise<MergedRows> {
    try {
      return await this.#merge()
    } finally {
      await this.#clear()
    }
  }

  /** Another search must not keep the copies and the tables of this one; what cannot be removed goes when the run is closed. */
  async #clear(): Promise<void> {
    const staged = (await readdir(this.#run.folder)).filter((name) => name.startsWith(`${this.#prefix}_`))
    await Promise.allSettled(staged.map((name) => rm(join(this.#run.folder, name), { force: true, recursive: true })))
    await this.#run.execute(`DROP TABLE IF EXISTS ${this.#found}`).catch(() => undefined)
    await this.#run.execute(`DROP TABLE IF EXISTS ${this.#older}`).catch(() => undefined)
  }

  async #merge(): Promise<MergedRows> {
    const searched = await filesWithKeys(this.#run, this.#target.inputs, { table: INCOMING, columns: this.#keys })
    const inputs = await openInputs(this.#context, searched, `${this.#prefix}_d`)
    const vectors = await readVectors(this.#target.io, inputs)
    await this.#find(inputs)
    await removeDeleted(this.#run, this.#found, vectors)
    const counts = await this.#count()
    const files = await this.#write(counts)
    try {
      const { deletes, affected } = await this.#delete(inputs, vectors)
      const { rowsInserted, rowsUpdated, rowsDeleted } = counts
      const changedFiles = affected.map(({ task }) => task)
      return { files, deletes, changedFiles, rowsInserted, rowsUpdated, rowsDeleted, searchedFiles: inputs.length }
    } catch (error) {
      await deleteFrom(
        this.#target.io,
        files.map(({ filePath }) => filePath),
      )
      throw error
    }
  }

  get #found(): string {
    return `${this.#prefix}_found`
  }

  /** Stores the live rows with the keys: their positions `k`, their row ids `r`, and the numbers `o` of the incoming rows. */
  async #find(all: readonly ScanInput[]): Promise<void> {
    const mergesOlder = this.#target.deletes.kind === 'vectors'
    const inputs = mergesOlder ? withoutVectors(all) : withoutPositions(all)
    const source = await RowSource.create(this.#context, inputs, {
      table: this.#older,
      prefix: `${this.#prefix}_p`,
      keyPrefix: `${this.#prefix}_`,
    })
    if (inputs.length === 0) {
      await this.#run.execute(`CREATE TEMP TABLE ${this.#found} (k BIGINT, r BIGINT, o BIGINT)`)
      return
    }
    const { rows, places } = source.placedRows(this.#keys)
    const match = allOf(this.#keys.map(({ id }) => `s.c${id} = b.c${id}`))
    const rowId = this.#target.output.formatVersion === 3 ? 'coalesce(m.i::BIGINT, p.r + m.n)' : 'NULL::BIGINT'
    // materialized, so that only rows with the keys are joined with their places
    await this.#run.execute(`
      CREATE TEMP TABLE ${this.#found} AS
      WITH m AS MATERIALIZED (SELECT s.q, s.n, s.i, b.o FROM (${rows}) AS s JOIN ${INCOMING} AS b ON ${match})
      SELECT ${positionKey('p.f', 'm.n')} AS k, ${rowId} AS r, m.o FROM m JOIN ${places} AS p(q, f, r) ON p.q = m.q ORDER BY k`)
    await this.#removeOlder(all, { mergesOlder })
  }

  /** Looking up the few rows with the keys is cheaper than comparing every row of the files with the deleted positions. */
  async #removeOlder(inputs: readonly ScanInput[], { mergesOlder }: { readonly mergesOlder: boolean }): Promise<void> {
    if (!mergesOlder) {
      const numbers = new Set((await countByInput(this.#run, this.#found)).keys())
      await removeDeletedByFiles(this.#context, inputs, { table: this.#found, numbers, prefix: `${this.#prefix}_p` })
    } else if (hasPositionFiles(withoutVectors(inputs))) {
      await this.#run.execute(`DELETE FROM ${this.#found} WHERE k IN (SELECT k FROM ${this.#older})`)
    }
  }

  get #older(): string {
    return `${this.#prefix}_older`
  }

  async #count(): Promise<MergeCounts> {
    const [row] = await this.#run.rows(`
      SELECT count(*) FILTER (WHERE b.w AND f.o IS NULL) AS inserted, count(*) FILTER (WHERE b.w AND f.o IS NOT NULL) AS updated,
        count(*) FILTER (WHERE NOT b.w AND f.o IS NOT NULL) AS deleted, (SELECT count(r) FROM ${this.#found}) AS ids
      FROM ${INCOMING} AS b LEFT JOIN (SELECT DISTINCT o FROM ${this.#found}) AS f ON f.o = b.o`)
    const { inserted, updated, deleted, ids } = row ?? {}
    return {
      rowsInserted: Number(inserted),
      rowsUpdated: Number(updated),
      rowsDeleted: Number(deleted),
      hasRowIds: Number(ids) > 0,
    }
  }

  /** Writes the incoming rows; one that replaces a row has its row id. */
  async #write({ rowsInserted, rowsUpdated, hasRowIds }: MergeCounts): Promise<readonly DataFile[]> {
    const expected = rowsInserted + rowsUpdated
    if (expected === 0) return []
    const { output, io, sortOrder } = this.#target
    const { fields } = output.schema
    const own = fields.map(({ id }) => `b.c${id}`)
    const table = `${this.#prefix}_rows`
    const ids = `(SELECT o, min(r) AS r FROM ${this.#found} GROUP BY o)`
    const lineage = [`f.r AS c${ROW_ID.id}`, `NULL::BIGINT AS c${LAST_UPDATED.id}`]
    await this.#run.execute(`
      CREATE TEMP TABLE ${table} AS
      SELECT ${[...own, ...(hasRowIds ? lineage : [])].join(', ')}
      FROM ${INCOMING} AS b ${hasRowIds ? `LEFT JOIN ${ids} AS f ON f.o = b.o` : ''} WHERE b.w`)
    const columns = hasRowIds ? [...fields, ROW_ID, LAST_UPDATED] : fields
    const order = sortOrder === undefined ? {} : { sortOrder }
    const request = { rows: `SELECT * FROM ${table}`, fields: columns, output, bytesPerRow: 0, rowCount: expected }
    const copied = await writeRows(this.#run, { ...request, ...order })
    requireValues(copied, output)
    await this.#run.execute(`DROP TABLE ${table}`)
    const placing = { run: this.#run, io, output, fields: columns, ...orderClaims(order) }
    const { files, rowsWritten } = await placeFiles(placing, copied)
    if (rowsWritten === expected) return files
    await deleteFrom(
      io,
      files.map(({ filePath }) => filePath),
    )
    throw new IcebergError('ROWS_NOT_CONSERVED', `${rowsWritten} rows of ${expected} were written; nothing was changed`)
  }

  /** Writes the deletes of the rows that were found. */
  async #delete(
    inputs: readonly ScanInput[],
    vectors: Vectors,
  ): Promise<{ readonly deletes: readonly DataFile[]; readonly affected: readonly ScanInput[] }> {
    const counts = await countByInput(this.#run, this.#found)
    const affected = inputs.filter(({ index }) => counts.has(index))
    const { deletes: output, io } = this.#target
    const rows = { table: this.#found, older: this.#older, vectors, affected, output }
    const written = await writeRowDeletes(this.#context, rows)
    const deletes = written.map(({ file }) => file)
    try {
      await this.#requireDeleted(written, { counts, vectors })
      return { deletes, affected }
    } catch (error) {
      await deleteFrom(io, [...new Set(deletes.map(({ filePath }) => filePath))])
      throw error
    }
  }

  /** The new deletes must have exactly the rows found, and vectors the older positions besides. */
  async #requireDeleted(written: readonly WrittenRowDeletes[], { counts, vectors }: ExpectedDeletes): Promise<void> {
    const isVector = this.#target.deletes.kind === 'vectors'
    const older = isVector && written.length > 0 ? await this.#olderCounts(written, vectors) : 0
    const expected = [...counts.values()].reduce((sum, rows) => sum + rows, 0) + older
    const found = written.reduce((sum, { file }) => sum + file.recordCount, 0)
    if (found === expected) return
    throw new IcebergError(
      'ROWS_NOT_CONSERVED',
      `the new deletes have ${found} rows instead of ${expected}; nothing was changed`,
    )
  }

  async #olderCounts(written: readonly WrittenRowDeletes[], vectors: Vectors): Promise<number> {
    const about = written.flatMap((deletes) => deletes.about)
    const inVectors = about.reduce((sum, { index }) => sum + (vectors.get(index)?.cardinality ?? 0), 0)
    if (!hasPositionFiles(withoutVectors(about))) return inVectors
    const numbers = about.map(({ index }) => index).join(', ')
    const [row] = await this.#run.rows(
      `SELECT count(*) AS n FROM ${this.#older} WHERE ${inputOfKey('k')} IN (${numbers})`,
    )
    return inVectors + Number(row?.['n'] ?? 0)
  }
}

/** Whether files with position deletes apply; `inputs` without vectors. */
function hasPositionFiles(inputs: readonly ScanInput[]): boolean {
  return inputs.some(({ task }) => task.deletes.some(({ file }) => file.content === 'position-deletes'))
}

interface ExpectedDeletes {
  /** Rows that were found in each data file. */
  readonly counts: ReadonlyMap<number, number>
  readonly vectors: Vectors
}

interface MergeCounts {
  readonly rowsInserted: number
  readonly rowsUpdated: number
  readonly rowsDeleted: number
  /** Whether rows that are replaced have row ids. */
  readonly hasRowIds: boolean
}

function keyField(fields: OutputSpec['schema']['fields'], id: number): NestedField {
  const field = fields.find((candidate) => candidate.id === id)
  if (field === undefined) throw new IcebergError('NO_SUCH_COLUMN', `the table has no key column with the id ${id}`)
  return field
}
