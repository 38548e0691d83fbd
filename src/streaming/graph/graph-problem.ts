import type { PROBLEM_CODES } from '../../schemas/node-types.ts'

export type ProblemCode = (typeof PROBLEM_CODES)[number]

/** What keeps a graph from running, or what its author should know. */
export interface GraphProblem {
  /** Null: the graph as a whole. */
  readonly nodeId: string | null
  readonly code: ProblemCode
  readonly message: string
  readonly severity: 'error' | 'warning'
}

/** A problem that keeps a graph from running. */
export function graphError(nodeId: string | null, code: ProblemCode, message: string): GraphProblem {
  return { nodeId, code, message, severity: 'error' }
}

/** Whether a graph with these problems can run. */
export function isRunnable(problems: readonly GraphProblem[]): boolean {
  return problems.every(({ severity }) => severity !== 'error')
}
