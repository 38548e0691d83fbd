import { textLiteral } from '../../../engines/spark/connect/plan/text-literal.ts'
import type { PlannedNode } from '../../graph/graph-plan.ts'
import { checkFailureText } from '../check-failure.ts'
import { Refusal } from './refusal.ts'
import { columnValue, selectRows, type SparkRelation } from './relations.ts'

type CheckNode = Extract<PlannedNode, { type: 'check' }>

/** Always true; Spark does not know this, so it neither moves other conditions before one that has it nor merges the two. */
const BARRIER = '(rand(0) >= CAST(0 AS DOUBLE))'

/**
 * Throws a `Refusal` for expectations that need more than the row: a share of the rows of a batch is known after all of them were
 * read, and a stream in Spark writes to one table.
 */
export function requireRowByRow({ expectations }: CheckNode['config']): void {
  for (const { name, on_failure: action, max_ratio: ratio = 1 } of expectations) {
    if (action === 'divert') {
      throw new Refusal(
        `expectation "${name}" has on_failure "divert", and a query in Spark writes to one table only: use "drop" or "fail" there`,
      )
    }
    if (ratio < 1) {
      throw new Refusal(
        `expectation "${name}" has max_ratio, a share of one batch, which a query in Spark cannot count before it writes: ` +
          'remove max_ratio, or use on_failure "fail"',
      )
    }
  }
}

/**
 * The rows that pass a check; `conditions` are those of its expectations in Spark's SQL, in their order. A row that fails an
 * expectation with `fail` raises an error, which ends the batch before it commits.
 */
export function checkedRows(
  { id, config }: CheckNode,
  input: SparkRelation,
  conditions: readonly string[],
): SparkRelation {
  const passes = config.expectations.map((expectation, at) => ({ ...expectation, sql: conditions[at] ?? 'FALSE' }))
  const dropping = passes.filter(({ on_failure: action }) => action === 'drop').map(({ sql }) => sql)
  const failing = passes.filter(({ on_failure: action }) => action === 'fail')
  const all = input.columns.map((column) => ({ name: column.name, value: columnValue(column) }))
  if (failing.length === 0) return selectRows(input, all, dropping.join(' AND '))
  const isKept = [BARRIER, ...dropping].join(' AND ')
  const where = failing.reduceRight((rest, { name, sql }) => {
    const text = textLiteral(checkFailureText(id, name))
    return `CASE WHEN ${sql} THEN (${rest}) ELSE raise_error(${text}) END`
  }, isKept)
  return { ...selectRows(input, all, where), failingCheck: id }
}
