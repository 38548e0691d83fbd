import { join } from 'node:path'

import { isIcebergError, IcebergError } from '../../../iceberg/errors.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'
import { LAST_UPDATED, ROW_ID } from '../../../iceberg/schema/lineage-columns.ts'

import { NotCopyableError } from '../parquet/not-copyable-error.ts'
import type { DuckDbRun } from '../session/session.ts'
import { quoteText } from '../session/sql-text.ts'
import { joinFiles } from './join-files.ts'
import { storedName } from './lineage-leaves.ts'
import type { SplitFooter } from './lineage-leaves.ts'

/** The row lineage of the rows of one file. */
export interface LineageSource {
  readonly rows: number
  /** SELECT of the position `p`, the row id `r` and the last updated sequence number `s` of each row, in their order. */
  readonly sql: string
  /** Whether the file stores a value for each row in both columns. */
  readonly isStored: boolean
}

/** Row ids and last updated sequence numbers of some rows. */
export interface LineageBatch {
  readonly rowIds: readonly (bigint | null)[]
  readonly sequences: readonly (bigint | null)[]
}

export interface LineageInput {
  readonly split: SplitFooter
  /** Undefined: rows without a stored row id have none. */
  readonly firstRowId: number | undefined
  /** Data sequence number of the file. */
  readonly sequenceNumber: number
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
    return { rows, sql, isStored: rows === 0 }
  }
  const path = join(run.folder, name)
  await joinFiles([split.lineage], { io, path, check: () => run.check(), isSparse: true })
  const file = `read_parquet(${quoteText(path)}, file_row_number = true)`
  const stored = (id: number): string => (split.storedIds.has(id) ? `${storedName(id)}::BIGINT` : 'NULL::BIGINT')
  const nulls = await countNulls(run, `SELECT ${stored(ROW_ID.id)} AS r, ${stored(LAST_UPDATED.id)} AS s FROM ${file}`)
  const sql = `
    SELECT file_row_number AS p, coalesce(${stored(ROW_ID.id)}, ${inherited('file_row_number')}) AS r,
      coalesce(${stored(LAST_UPDATED.id)}, ${sequence}) AS s FROM ${file}`
  return { rows, sql, isStored: nulls === 0 }
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
  readonly #batches: AsyncGenerator<LineageBatch>
  #rowIds: (bigint | null)[] = []
  #sequences: (bigint | null)[] = []

  constructor(run: DuckDbRun, sources: readonly LineageSource[]) {
    this.#batches = readBatches(run, sources)
  }

  /** The next rows. {@link NotCopyableError} if there are fewer. */
  async take(count: number): Promise<LineageBatch> {
    while (this.#rowIds.length < count) {
      const next = await this.#batches.next()
      if (next.done === true) throw new NotCopyableError('a file has fewer row ids than rows')
      for (const value of next.value.rowIds) this.#rowIds.push(value)
      for (const value of next.value.sequences) this.#sequences.push(value)
    }
    return { rowIds: this.#rowIds.splice(0, count), sequences: this.#sequences.splice(0, count) }
  }

  /** Stops reading, after the last row or before it. */
  async close(): Promise<void> {
    await this.#batches.return(undefined)
  }
}

async function* readBatches(run: DuckDbRun, sources: readonly LineageSource[]): AsyncGenerator<LineageBatch> {
  for (const { sql, rows } of sources) {
    let at = 0
    const result = await decoding(() => run.stream(sql))
    for (;;) {
      const chunk = await decoding(() => run.guarded(() => result.fetchChunk()))
      if (!chunk || chunk.rowCount === 0) break
      for (const position of chunk.getColumnValues(0)) {
        if (position !== BigInt(at)) throw new IcebergError('ENGINE_FAILED', 'the engine reads rows in another order')
        at += 1
      }
      yield { rowIds: longs(chunk.getColumnValues(1)), sequences: longs(chunk.getColumnValues(2)) }
    }
    if (at !== rows) throw new NotCopyableError(`a file has ${at} row ids, but ${rows} rows`)
  }
}

function longs(values: readonly unknown[]): readonly (bigint | null)[] {
  return values.map((value) => (typeof value === 'bigint' ? value : null))
}

/** Sums over the rows of files that follow each other, equal for the same values at the same places. */
export async function lineageChecksum(run: DuckDbRun, sources: readonly LineageSource[]): Promise<string> {
  let before = 0
  let sum = 0n
  let count = 0
  for (const { sql, rows } of sources) {
    const hash = `sum(hash(p::BIGINT + ${before}::BIGINT, r, s)::HUGEINT)`
    const [row] = await run.rows(`SELECT coalesce(${hash}, 0)::VARCHAR AS h, count(*) AS n FROM (${sql})`)
    sum += BigInt(String(row?.['h'] ?? '0'))
    count += Number(row?.['n'] ?? 0)
    before += rows
  }
  return `${count} ${sum}`
}
