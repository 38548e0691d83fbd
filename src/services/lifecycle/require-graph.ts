import { DomainError } from '../../domain/errors.ts'
import { checkGraph, type PipelineGraph } from '../../domain/graph.ts'

const MAX_ERRORS = 20

/** Throws `INVALID_GRAPH`, with the problems, when nodes and edges do not form a pipeline. */
export function requireGraph(graph: PipelineGraph): void {
  const errors = checkGraph(graph)
  const [first] = errors
  if (first === undefined) return
  throw new DomainError('INVALID_GRAPH', `${first.path}: ${first.message}`, { fields: errors.slice(0, MAX_ERRORS) })
}
