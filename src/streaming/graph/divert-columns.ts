import type { ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { DivertStamp } from '../sink/batch-query.ts'
import type { GraphPlan } from './graph-plan.ts'
import { graphError, type GraphProblem } from './graph-problem.ts'
import { sinkColumns } from './sink-columns.ts'

/** What a diverted row has besides its own columns: why, in which batch of which pipeline, and when it was diverted. */
export const DIVERT_COLUMNS: readonly ResultColumn[] = [
  { name: '_reason', engineType: 'VARCHAR', type: { kind: 'string' } },
  { name: '_batch_id', engineType: 'BIGINT', type: { kind: 'long' } },
  { name: '_pipeline', engineType: 'VARCHAR', type: { kind: 'string' } },
  { name: '_diverted_at', engineType: 'TIMESTAMP WITH TIME ZONE', type: { kind: 'timestamptz' } },
]

/** A check node, typed, and the table of its diverted rows. */
export interface DivertTarget {
  readonly schema: Schema
  readonly sandbox: SqlSandbox
}

/** The columns of the rows that a node diverts; undefined when a problem prevents finding them. */
export function divertedRowColumns(
  { plan, columns }: { readonly plan: GraphPlan; readonly columns: ReadonlyMap<string, readonly ResultColumn[]> },
  nodeId: string,
): readonly ResultColumn[] | undefined {
  const node = plan.nodes.find(({ id }) => id === nodeId)
  const input = columns.get(node?.inputs[0] ?? '')
  return input && [...input, ...DIVERT_COLUMNS]
}

/** Matches the columns of diverted rows with those of their table, as rows of a sink are matched. */
export function fitDiverted(
  columns: readonly ResultColumn[],
  nodeId: string,
  { schema, sandbox }: DivertTarget,
): { readonly select: readonly string[]; readonly problems: readonly GraphProblem[] } {
  const { select, problems } = sinkColumns(columns, schema, sandbox)
  const found = problems.map(({ code, message }) =>
    graphError(nodeId, code, `divert_to: ${message.replaceAll('the sink', 'the table')}`),
  )
  return { select, problems: found }
}

/** SQL of the values of {@link DIVERT_COLUMNS}, by name; `reason` is SQL. */
export function divertValues(
  reason: string,
  { pipelineId, batchId, at }: DivertStamp,
): Readonly<Record<string, string>> {
  return {
    _reason: reason,
    _batch_id: `CAST(${batchId} AS BIGINT)`,
    _pipeline: sqlText(pipelineId),
    _diverted_at: `make_timestamptz(CAST(${at.getTime() * 1000} AS BIGINT))`,
  }
}

/** A text as an SQL literal. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
