import { quoteSparkName } from '../../../engines/spark/connect/plan/quote-spark-name.ts'
import type { Schema } from '../../../iceberg/schema/schema.ts'
import { pairColumns } from '../../graph/sink-columns.ts'
import { absentProblem, promotedSql } from '../column-types.ts'
import { Refusal } from './refusal.ts'
import { columnValue, type SparkRelation } from './relations.ts'

/**
 * The query whose columns have the names and types of a sink, matched as in the embedded engine; columns without a match are left
 * out, which Spark fills with NULL. `sources` is the number of tables. Throws a `Refusal`.
 */
export function sinkRows(rows: SparkRelation, sink: Schema, sources: number): string {
  requireOrder(rows, sources)
  const named = rows.columns.map((column) => ({ ...column, name: column.name ?? '' }))
  const items = pairColumns(named, sink).pairs.flatMap(({ field, partner }) => {
    if (partner === undefined) {
      const [problem] = absentProblem(field)
      if (problem !== undefined) throw new Refusal(problem)
      return []
    }
    const { name, type, required } = field
    if (required && partner.isNullable) {
      throw new Refusal(`column ${name} of the sink is required, but Spark cannot see that its values are never NULL`)
    }
    const value = promotedSql(columnValue(partner).sql, partner.type, type)
    if (value === undefined) throw new Refusal(`column ${name}: Spark cannot convert it`)
    return [`${value} AS ${quoteSparkName([name])}`]
  })
  return `SELECT ${items.join(', ')} FROM ${rows.from} AS r`
}

/** The offsets in Spark's checkpoint have no names: they belong to the sources in the order of the query. */
function requireOrder({ sources: order }: SparkRelation, sources: number): void {
  const isInOrder = order.length === sources && order.every((source, at) => source === at)
  if (!isInOrder) throw new Refusal('Spark would read the tables in another order than the checkpoint has them')
}
