import type { PrimitiveType } from '../../../iceberg/schema/types.ts'
import type { Schema } from '../../../iceberg/schema/schema.ts'
import type { Clustering } from '../../engine.ts'

import { TableFiller } from '../scan/table-filler.ts'
import { toValue } from '../session/result-values.ts'
import type { DuckDbRun } from '../session/session.ts'
import { valueLiteral } from '../session/value-literal.ts'
import { NO_LIMIT, planWidth } from '../session/width.ts'
import { hilbertPlace, zOrderPart } from './curves.ts'
import { transformSql } from './partition-sql.ts'

/** How the rows of new files are ordered. */
export interface RowOrder {
  /** SELECT of the rows with the columns that {@link clause} needs. */
  readonly over: (rows: string) => string
  /** ORDER BY over the columns of `s`; empty without an order. */
  readonly clause: string
}

/** What is clustered. */
export interface ClusterRequest {
  readonly clustering: Clustering
  readonly schema: Schema
  /** SELECT with column `c<id>` for each field. */
  readonly rows: string
  /** Bytes of the rows that are read together. */
  readonly vectorBytes: number
}

/** Rows from which quantiles are estimated: 64 of each bucket. */
const SAMPLE_ROWS = 16_384
/** Longer texts and bytes are told apart by their beginnings only. */
const SAMPLE_LENGTH = 256
/** Buckets of a column, as bits. More would take long to find: their number is that of the cases in an expression. */
const MAX_BITS = 8
/** Cells of the Hilbert curve, as bits: more than there are row groups to be kept apart. */
const HILBERT_BITS = 16
const SAMPLE = 'cluster_sample'
const CELLS = 'hilbert_cells'

/**
 * Orders rows along a curve, in the order of events: a sample of the rows gives the quantiles of each column; a value's bucket is its
 * rank among them, so that frequent values and far ones cost nothing; the curve orders the cells of buckets. NULL comes before
 * all values, NaN after them, and both zeros are one value.
 */
export async function clusterOrder(run: DuckDbRun, request: ClusterRequest): Promise<RowOrder> {
  const { clustering } = request
  const columns = await clusterColumns(run, request)
  const isHilbert = clustering.curve === 'hilbert'
  const bits = Math.min(MAX_BITS, isHilbert ? Math.floor(HILBERT_BITS / columns.length) : MAX_BITS)
  await drawSample(run, request, columns)
  const dimensions = columns.length
  const parts: string[] = []
  for (const [at, column] of columns.entries()) {
    const cuts = await findCuts(run, { at, type: column.type, buckets: 2 ** bits })
    const part = (rank: number): string =>
      isHilbert ? String(rank * 2 ** (bits * at)) : `'${zOrderPart(rank, { at, dimensions })}'::UBIGINT`
    parts.push(rankSql(`s.v${at}`, cuts, part))
  }
  await run.execute(`DROP TABLE ${SAMPLE}`)
  if (isHilbert) await storeHilbertCells(run, { dimensions, bits })
  const values = columns.map(({ sql }, at) => `${sql} AS v${at}`)
  const withValues = (rows: string): string => `SELECT s.*, ${values.join(', ')} FROM (${rows}) AS s`
  const placed = (rows: string): string => `SELECT s.*, ${parts.join(' + ')} AS o0 FROM (${withValues(rows)}) AS s`
  if (!isHilbert) return { over: placed, clause: 'ORDER BY s.o0' }
  const join = `LEFT JOIN ${CELLS} AS h ON h.cell = s.o0`
  return { over: (rows) => `SELECT s.*, h.place AS o1 FROM (${placed(rows)}) AS s ${join}`, clause: 'ORDER BY s.o1' }
}

interface ClusterColumn {
  readonly sql: string
  readonly type: PrimitiveType
}

async function clusterColumns(run: DuckDbRun, { clustering, schema, rows }: ClusterRequest): Promise<ClusterColumn[]> {
  const columns: ClusterColumn[] = []
  for (const sourceId of clustering.columnIds) {
    const transform = { kind: 'identity' } as const
    columns.push(await transformSql(run, { schema, sourceId, transform, rows, name: 'cluster_values' }))
  }
  return columns
}

/** One pass over the columns of the curve. */
async function drawSample(
  run: DuckDbRun,
  { rows, vectorBytes }: ClusterRequest,
  columns: readonly ClusterColumn[],
): Promise<void> {
  const values = columns.map(({ sql, type }, at) => `${beginning(sql, type)} AS v${at}`)
  // all threads read a sample, which wide rows do not permit
  const limit = planWidth(run, vectorBytes).isForOneThread ? `LIMIT ${NO_LIMIT}` : ''
  await run.execute(`
    CREATE TEMP TABLE ${SAMPLE} AS
    SELECT * FROM (SELECT ${values.join(', ')} FROM (${rows}) AS s ${limit}) USING SAMPLE reservoir(${SAMPLE_ROWS} ROWS)`)
}

function beginning(sql: string, { kind }: PrimitiveType): string {
  if (kind === 'string') return `left(${sql}, ${SAMPLE_LENGTH})`
  return kind === 'binary' || kind === 'fixed' ? `array_slice(${sql}, 1, ${SAMPLE_LENGTH})` : sql
}

/** Where buckets of a column end. */
interface Cuts {
  /** The last value of a bucket, ascending, as SQL; values up to this one have this rank, if they are above the cut before. */
  readonly ends: readonly { readonly value: string; readonly rank: number }[]
  /** The rank of greater values. */
  readonly last: number
}

async function findCuts(
  run: DuckDbRun,
  { at, type, buckets }: { readonly at: number; readonly type: PrimitiveType; readonly buckets: number },
): Promise<Cuts> {
  const result = await run.result(`
    SELECT v FROM (
      SELECT v${at} AS v, row_number() OVER (ORDER BY v${at} NULLS FIRST) - 1 AS n, count(*) OVER () AS total FROM ${SAMPLE}
    ) WHERE n IN (SELECT DISTINCT i * total // ${buckets} FROM range(1, ${buckets}) AS r(i))
    ORDER BY n`)
  const quantiles = (await result.getRowObjects()).map(({ v }) => toValue(type, v ?? null))
  const ends: { value: string; rank: number }[] = []
  for (const [rank, quantile] of quantiles.entries()) {
    if (quantile === null) continue // NULL has rank 0
    const value = valueLiteral(type, quantile)
    if (ends.at(-1)?.value !== value) ends.push({ value, rank })
  }
  // a small sample has fewer quantiles than buckets: its ranks are spread over all of them
  const scale = (rank: number): number => Math.floor((rank * buckets) / (quantiles.length + 1))
  return { ends: ends.map(({ value, rank }) => ({ value, rank: scale(rank) })), last: scale(quantiles.length) }
}

/** SQL of what belongs to the rank of a value: a search in a tree of comparisons. */
function rankSql(value: string, { ends, last }: Cuts, part: (rank: number) => string): string {
  const search = (from: number, to: number): string => {
    if (from === to) return part(ends[from]?.rank ?? last)
    const middle = (from + to) >> 1
    return `CASE WHEN ${value} <= ${ends[middle]?.value} THEN ${search(from, middle)} ELSE ${search(middle + 1, to)} END`
  }
  return `CASE WHEN ${value} IS NULL THEN ${part(0)} ELSE ${search(0, ends.length)} END`
}

/** A temporary table of the place on the curve of each cell, by the ranks of the cell. */
async function storeHilbertCells(
  run: DuckDbRun,
  { dimensions, bits }: { readonly dimensions: number; readonly bits: number },
): Promise<void> {
  await run.execute(`CREATE OR REPLACE TEMP TABLE ${CELLS} (cell INTEGER, place INTEGER)`)
  await TableFiller.fill(run, CELLS, async (cells) => {
    for (let cell = 0; cell < 2 ** (bits * dimensions); cell += 1) {
      const ranks = Array.from({ length: dimensions }, (_, at) => (cell >> (bits * at)) % 2 ** bits)
      const turn = cells.add([cell, hilbertPlace(ranks, bits)])
      if (turn) await turn
    }
  })
}
