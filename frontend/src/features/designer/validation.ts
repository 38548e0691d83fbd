import type { GraphValidation } from '../../api/types.ts'
import type { NodeProblems } from './flow-elements.ts'
import type { Graph } from './graph.ts'

export type Problem = GraphValidation['problems'][number]

/** An answer of the validation, and the graph that it is about. */
export interface Validated {
  readonly graph: Graph
  readonly answer: GraphValidation
}

/** Problems by the node that they stand at. */
export function problemsByNode(problems: readonly Problem[]): ReadonlyMap<string, NodeProblems> {
  const found = new Map<string, NodeProblems>()
  for (const { node_id: id, message, severity } of problems) {
    if (id === null) continue
    const known = found.get(id)
    found.set(id, {
      messages: [...(known?.messages ?? []), message],
      severity: known?.severity === 'error' ? 'error' : severity,
    })
  }
  return found
}
