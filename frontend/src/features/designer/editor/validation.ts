import type { RunEnvironment } from '../../../../../src/domain/environments.ts'
import type { GraphValidation } from '../../../api/types.ts'
import type { NodeProblems } from '../../../components/graph/flow-elements.ts'
import type { Graph } from '../../../components/graph/graph.ts'

export type Problem = GraphValidation['problems'][number]

/** An answer of the validation, and the graph and the environment that it is about. */
export interface Validated {
  readonly graph: Graph
  readonly environment: RunEnvironment
  readonly answer: GraphValidation
}

/** Problems by node. */
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
