import type { PipelineGraph } from '../../domain/graph.ts'
import type { SqlSandbox } from '../../engines/sql-sandbox.ts'
import type { BatchQuery, CompiledBatch } from '../batch-query.ts'
import { graphSql, sourceRelation } from './compile-graph.ts'
import type { GraphPlan } from './graph-plan.ts'
import { nodesReading } from './column-uses.ts'
import { sinkColumns } from './sink-columns.ts'
import { typeGraph } from './type-graph.ts'

/** Runs a graph: all of it is one query per batch, made anew whenever a schema changes. */
export function createGraphQuery(graph: PipelineGraph, plan: GraphPlan, sandbox: SqlSandbox): BatchQuery {
  return {
    isUntrusted: true,
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
    usesColumn: async (column) => (await nodesReading(graph, column, sandbox)).length > 0,
  }
}
