import type { SqlSandbox } from '../../engines/sql-sandbox.ts'
import type { NestedField } from '../../iceberg/types.ts'
import type { BatchQuery, CompiledBatch } from '../batch-query.ts'
import { graphSql, sourceRelation } from './compile-graph.ts'
import type { GraphPlan, PlannedNode } from './graph-plan.ts'
import { sinkColumns } from './sink-columns.ts'
import { typeGraph } from './type-graph.ts'

/** Runs a graph: all of it is one query per batch, made anew whenever a schema changes. */
export function createGraphQuery(plan: GraphPlan, sandbox: SqlSandbox): BatchQuery {
  return {
    async compile({ sources, sink }): Promise<CompiledBatch> {
      const typed = await typeGraph({ plan, schemas: sources, sandbox })
      const fitted = typed.columns && sinkColumns(typed.columns, sink, sandbox)
      const problems = [
        ...typed.problems.map(({ nodeId, message }) => `node ${nodeId ?? ''}: ${message}`),
        ...(fitted?.problems ?? []).map(({ message }) => message),
      ]
      return {
        inputs: sources.map(({ fields }, at) => ({ name: sourceRelation(at), fields, columnsBy: 'name' })),
        query: graphSql(plan, fitted?.select ?? ['*']),
        isRepeatable: false,
        isOneToOne: false,
        isUntrusted: true,
        pairs: [],
        missing: [],
        problems,
      }
    },
    usesSourceColumn: (source, field) => usesColumn(plan, plan.sources[source] ?? '', field),
  }
}

/** Whether a column of a table may be needed: it flows on, or a text after it has its name, or asks for all. */
function usesColumn(plan: GraphPlan, table: string, { name }: NestedField): boolean {
  let carriers = new Set(
    plan.nodes.flatMap((node) => (node.type === 'iceberg-source' && node.config.table === table ? [node.id] : [])),
  )
  for (const node of plan.nodes) {
    if (!node.inputs.some((id) => carriers.has(id))) continue
    if (node.type === 'iceberg-sink' || mentions(node, name)) return true
    if (node.type === 'filter' || node.type === 'union') carriers = new Set([...carriers, node.id])
  }
  return false
}

function mentions(node: PlannedNode, name: string): boolean {
  return textsOf(node).some(
    (text) =>
      text.toLowerCase().includes(name.toLowerCase()) ||
      (node.type === 'sql' && /\*|columns|from\s+\w+\s*$/i.test(text)),
  )
}

function textsOf(node: PlannedNode): readonly string[] {
  switch (node.type) {
    case 'filter':
      return [node.config.condition]
    case 'select':
      return node.config.columns.map(({ name, expression }) => expression ?? name)
    case 'sql':
      return [node.config.query]
    default:
      return []
  }
}
