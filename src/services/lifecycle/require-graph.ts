import { checkGraph, type PipelineGraph } from '../../domain/graph.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

const MAX_ERRORS = 20

/** Throws `INVALID_GRAPH`, with the problems, when nodes and edges do not form a pipeline. */
export function requireGraph(graph: PipelineGraph): void {
  const [first, ...others] = checkGraph(graph)
  if (first !== undefined) throw fieldRefusal('INVALID_GRAPH', [first, ...others.slice(0, MAX_ERRORS - 1)])
}
