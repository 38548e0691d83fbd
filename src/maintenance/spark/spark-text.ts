import { quoteSparkName } from '../../engines/spark/connect/plan/quote-spark-name.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { SortOrder } from '../../iceberg/partitioning/sort-order.ts'
import { fieldChain, findField } from '../../iceberg/schema/schema.ts'
import type { Type } from '../../iceberg/schema/types.ts'
import { parseWhere, type WhereCondition, type WhereLiteral, type WhereTree } from '../where/parser.ts'

/**
 * A `where` text of a request as Spark writes the same condition. Double quotes mean text in Spark, times its session's
 * zone, and numbers a type of their own, so every name is quoted and every literal typed.
 * Throws `INVALID_ARGUMENT`, `NO_SUCH_COLUMN`.
 */
export function sparkWhere(where: string, metadata: TableMetadata): string {
  return treeText(parseWhere(where), metadata)
}

function treeText(tree: WhereTree<WhereCondition>, metadata: TableMetadata): string {
  if (tree.kind === 'condition') return conditionText(tree.condition, metadata)
  const parts = tree.parts.map((part) =>
    part.kind === 'condition' ? treeText(part, metadata) : `(${treeText(part, metadata)})`,
  )
  return parts.join(tree.kind === 'and' ? ' AND ' : ' OR ')
}

/** A sort order as Spark writes it; `UNSUPPORTED` for transforms, which only the table's own order may have. */
export function sparkSortOrder({ fields }: SortOrder, metadata: TableMetadata): string {
  const terms = fields.map(({ sourceId, transform, direction, nullOrder }) => {
    if (transform.kind !== 'identity') {
      throw new IcebergError('UNSUPPORTED', 'sort_order: Spark is only asked to sort by columns')
    }
    const nulls = nullOrder === 'nulls-first' ? 'NULLS FIRST' : 'NULLS LAST'
    return `${columnText(sourceId, metadata)} ${direction === 'asc' ? 'ASC' : 'DESC'} ${nulls}`
  })
  return terms.join(', ')
}

/** A Z-order as Spark writes it. */
export function sparkZOrder(columnIds: readonly number[], metadata: TableMetadata): string {
  return `zorder(${columnIds.map((id) => columnText(id, metadata)).join(', ')})`
}

function conditionText(condition: WhereCondition, metadata: TableMetadata): string {
  const field = findField(currentSchema(metadata), condition.column)
  if (field === undefined) {
    throw new IcebergError('NO_SUCH_COLUMN', `where: the table has no column "${condition.column}"`)
  }
  const column = columnText(field.id, metadata)
  const literal = (one: WhereLiteral): string => literalText(one, field.type)
  switch (condition.kind) {
    case 'compare':
      return `${column} ${condition.operator} ${literal(condition.literal)}`
    case 'in':
      return `${column} ${condition.isNegated ? 'NOT ' : ''}IN (${condition.literals.map(literal).join(', ')})`
    case 'prefix':
      return `${column} ${condition.isNegated ? 'NOT ' : ''}LIKE ${literal({ quoted: true, text: `${condition.prefix}%` })}`
    case 'null-test':
      return `${column} IS ${condition.isNull ? '' : 'NOT '}NULL`
  }
}

function columnText(fieldId: number, metadata: TableMetadata): string {
  return quoteSparkName(fieldChain(currentSchema(metadata), fieldId).map(({ name }) => name))
}

/** Literals were checked against the column before, by the planner. */
function literalText({ quoted, text }: WhereLiteral, { kind }: Type): string {
  if (!quoted) return text
  const quotedText = `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  switch (kind) {
    case 'date':
      return `DATE ${quotedText}`
    case 'timestamp':
    case 'timestamp_ns':
      return `TIMESTAMP_NTZ ${quotedText}`
    case 'timestamptz':
    case 'timestamptz_ns':
      return /(Z|[+-]\d{2}:\d{2})$/.test(text) ? `TIMESTAMP ${quotedText}` : `TIMESTAMP '${text} UTC'`
    default:
      return quotedText
  }
}
