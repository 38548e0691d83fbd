import type { SortOrder } from '../../../iceberg/partitioning/sort-order.ts'
import type { Schema } from '../../../iceberg/schema/schema.ts'
import type { Clustering } from '../../engine.ts'
import type { DuckDbRun } from '../session/session.ts'
import { clusterOrder } from './cluster-order.ts'
import type { RowOrder } from './cluster-order.ts'
import { transformSql } from './partition-sql.ts'
import type { TransformSql } from './partition-sql.ts'

/** Rows, and how they are to be ordered. */
export interface OrderRequest {
  /** SELECT with column `c<id>` for each field. */
  readonly rows: string
  readonly schema: Schema
  readonly sortOrder?: SortOrder | undefined
  readonly clustering?: Clustering | undefined
  /** Bytes of the rows that are read together. */
  readonly vectorBytes: number
}

/** The order that a request asks for. */
export async function orderBy(run: DuckDbRun, request: OrderRequest): Promise<RowOrder> {
  const { schema, rows, sortOrder, clustering } = request
  if (clustering !== undefined) return clusterOrder(run, { ...request, clustering })
  if (sortOrder === undefined || sortOrder.fields.length === 0) return { over: (plain) => plain, clause: '' }
  const columns: string[] = []
  const joins: string[] = []
  const terms: string[] = []
  for (const [at, { sourceId, transform, direction, nullOrder }] of sortOrder.fields.entries()) {
    const { sql, join, type } = await transformSql(run, {
      schema,
      sourceId,
      transform,
      rows,
      name: `sort_values_${at}`,
    })
    columns.push(`${sql} AS o${at}`)
    if (join !== '') joins.push(join)
    const rule = `${direction.toUpperCase()} ${nullOrder === 'nulls-first' ? 'NULLS FIRST' : 'NULLS LAST'}`
    terms.push(`s.o${at} ${rule}`)
    // the engine treats both zeros as equal; the spec puts -0.0 first
    if (isFloating(type)) terms.push(`(isnan(s.o${at}) OR NOT signbit(s.o${at})) ${rule}`)
  }
  return { over: (plain) => withJoins(plain, joins, columns), clause: `ORDER BY ${terms.join(', ')}` }
}

/** Whether values of a type have two zeros. */
export function isFloating({ kind }: TransformSql['type']): boolean {
  return kind === 'float' || kind === 'double'
}

/** A SELECT of rows with columns from joins. */
export function withJoins(rows: string, joins: readonly string[], extra: readonly string[]): string {
  if (joins.length === 0 && extra.length === 0) return rows
  return `SELECT ${['s.*', ...extra].join(', ')} FROM (${rows}) AS s ${joins.join(' ')}`
}
