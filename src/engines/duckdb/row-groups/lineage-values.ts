import { join } from 'node:path'

import { isIcebergError, IcebergError } from '../../../iceberg/errors.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'
import { LAST_UPDATED, ROW_ID } from '../../../iceberg/schema/lineage-columns.ts'

import { NotCopyableError } from '../parquet/not-copyable-error.ts'
import type { DuckDbRun } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'
import { quoteText } from '../session/sql-text.ts'
import { joinFiles } from './join-files.ts'
import { Longs } from './longs.ts'
import { storedName } from './lineage-leaves.ts'
import type { SplitFooter } from './lineage-leaves.ts'

/** The row lineage of the rows of one file. */
export interface LineageSource {
  readonly rows: number
  /** What all rows have if the file stores nothing, which is then not asked from the engine. */
  readonly inherited: InheritedLineage | undefined
  /** SELECT of the position `p`, the row id `r` and the last updated sequence number `s` of each row, in their order. */
  readonly sql: string
  /** Whether the file stores a value for each row in both columns. */
  readonly isStored: boolean
}

/** Rows without stored values: the first row id, and the sequence number of all. Undefined: rows from before version 3. */
interface InheritedLineage {
  readonly firstRowId: number | undefined
  readonly sequenceNumber: number
}

/** Row ids and last updated sequence numbers of some rows. */
export interface LineageBatch {
  readonly rowIds: Longs
  readonly sequences: Longs
}

/** A file, and what its rows inherit where it stores nothing. */
export interface LineageInput extends InheritedLineage {
  readonly split: SplitFooter
}

/**
 * Finds the row lineage of a file's rows, as a rewrite does (`scan/row-lineage.ts`): the stored value, else the first row id plus the
 * position, and the sequence number of the manifest entry. Stored columns are copied into a file of their own at `path`, so that the
 * engine decodes nothing else. {@link NotCopyableError} when the engine cannot decode them.
 */
export async function lineageSource(
  run: DuckDbRun,
  { split, firstRowId: first, sequenceNumber }: LineageInput,
  { io, name }: { readonly io: FileIO; readonly name: string },
): Promise<LineageSource> {
  const rows = split.rest.rowCount
  const sequence = first === undefined ? 'NULL::BIGINT' : `${sequenceNumber}::BIGINT`
  const inherited = (position: string): string =>
    first === undefined ? 'NULL::BIGINT' : `${first}::BIGINT + ${position}`
  if (split.lineage === undefined || split.lineage.rowGroups.length === 0) {
    const sql = `SELECT p, ${inherited('p')} AS r, ${sequence} AS s FROM range(${rows}) AS t(p)`
    return { rows, sql, inherited: { firstRowId: first, sequenceNumber }, isStored: rows === 0 }
  }
  const path = join(run.folder, name)
  await joinFiles([split.lineage], { io, path, check: () => run.check(), isSparse: true })
  const file = `read_parquet(${quoteText(path)}, file_row_number = true)`
  const stored = (id: number): string => (split.storedIds.has(id) ? `${storedName(id)}::BIGINT` : 'NULL::BIGINT')
  const nulls = await countNulls(run, `SELECT ${stored(ROW_ID.id)} AS r, ${stored(LAST_UPDATED.id)} AS s FROM ${file}`)
  const sql = `
    SELECT file_row_number AS p, coalesce(${stored(ROW_ID.id)}, ${inherited('file_row_number')}) AS r,
      coalesce(${stored(LAST_UPDATED.id)}, ${sequence}) AS s FROM ${file}`
  return { rows, sql, inherited: undefined, isStored: nulls === 0 }
}

async function countNulls(run: DuckDbRun, values: string): Promise<number> {
  const rows = await decoding(() => run.rows(`SELECT count(*) FILTER (r IS NULL OR s IS NULL) AS n FROM (${values})`))
  return Number(rows[0]?.['n'] ?? 0)
}

/** What the engine cannot decode is for a rewrite to judge. */
async function decoding<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Error && isIcebergError(error, 'ENGINE_FAILED')) throw new NotCopyableError(error.message)
    throw error
  }
}

/** Reads the row lineage of files that follow each other. */
export class LineageReader {
  readonly #parts: AsyncGenerator<Part>
  #part: Part = { rows: 0, copy: () => undefined }
  #at = 0

  constructor(run: DuckDbRun, sources: readonly LineageSource[]) {
    this.#parts = readParts(run, sources)
  }

  /** The next rows. {@link NotCopyableError} if there are fewer. */
  async take(count: number): Promise<LineageBatch> {
    const batch = { rowIds: new Longs(count), sequences: new Longs(count) }
    for (let done = 0; done < count;) {
      if (this.#at === this.#part.rows) {
        const next = await this.#parts.next()
        if (next.done === true) throw new NotCopyableError('a file has fewer row ids than rows')
        this.#part = next.value
        this.#at = 0
      }
      const rows = Math.min(count - done, this.#part.rows - this.#at)
      this.#part.copy(batch, { to: done, from: this.#at, rows })
      done += rows
      this.#at += rows
    }
    return batch
  }

  /** Stops reading, after the last row or before it. */
  async close(): Promise<void> {
    await this.#parts.return(undefined)
  }
}

/** Rows of one file that follow each other. */
interface Part {
  readonly rows: number
  readonly copy: (batch: LineageBatch, move: Move) => void
}

interface Move {
  readonly to: number
  readonly from: number
  readonly rows: number
}

async function* readParts(run: DuckDbRun, sources: readonly LineageSource[]): AsyncGenerator<Part> {
  for (const { sql, rows, inherited } of sources) {
    if (inherited !== undefined) {
      yield { rows, copy: (batch, move) => fillInherited(batch, move, inherited) }
      continue
    }
    let at = 0
    const result = await decoding(() => run.stream(sql))
    for (;;) {
      const chunk = await decoding(() => run.guarded(() => result.fetchChunk()))
      if (!chunk || chunk.rowCount === 0) break
      for (const position of chunk.getColumnValues(0)) {
        if (position !== BigInt(at)) throw new IcebergError('ENGINE_FAILED', 'the engine reads rows in another order')
        at += 1
      }
      const [rowIds, sequences] = [chunk.getColumnValues(1), chunk.getColumnValues(2)]
      yield {
        rows: chunk.rowCount,
        copy: (batch, move) => {
          fillStored(batch.rowIds, rowIds, move)
          fillStored(batch.sequences, sequences, move)
        },
      }
    }
    if (at !== rows) throw new NotCopyableError(`a file has ${at} row ids, but ${rows} rows`)
  }
}

function fillInherited(
  { rowIds, sequences }: LineageBatch,
  { to, from, rows }: Move,
  { firstRowId, sequenceNumber }: InheritedLineage,
): void {
  let rowId = firstRowId === undefined ? null : BigInt(firstRowId) + BigInt(from)
  const sequence = firstRowId === undefined ? null : BigInt(sequenceNumber)
  for (let at = to; at < to + rows; at += 1) {
    rowIds.set(at, rowId)
    sequences.set(at, sequence)
    if (rowId !== null) rowId += 1n
  }
}

function fillStored(longs: Longs, values: readonly unknown[], { to, from, rows }: Move): void {
  for (let row = 0; row < rows; row += 1) {
    const value = values[from + row]
    longs.set(to + row, typeof value === 'bigint' ? value : null)
  }
}

/** Files whose checksum one statement computes. */
const FILES_AT_ONCE = 100

/** Sums over the rows of files that follow each other, equal for the same values at the same places. */
export async function lineageChecksum(run: DuckDbRun, sources: readonly LineageSource[]): Promise<string> {
  let before = 0
  let sum = 0n
  let count = 0
  for (let at = 0; at < sources.length; at += FILES_AT_ONCE) {
    const rows = sources.slice(at, at + FILES_AT_ONCE).map((source) => {
      const select = `SELECT p::BIGINT + ${before}::BIGINT AS p, r, s FROM (${source.sql})`
      before += source.rows
      return select
    })
    const [row] = await run.rows(`
      SELECT coalesce(sum(hash(p, r, s)::HUGEINT), 0)::VARCHAR AS h, count(*) AS n FROM (${rows.join(' UNION ALL ')})`)
    sum += BigInt(textOf(row?.['h']))
    count += Number(row?.['n'] ?? 0)
  }
  return `${count} ${sum}`
}
