import type { PROBLEM_CODES } from '../../schemas/node-types.ts'

export type ProblemCode = (typeof PROBLEM_CODES)[number]

/** An error that prevents a graph from running, or a warning for its author. */
export interface GraphProblem {
  /** Null: the graph as a whole. */
  readonly nodeId: string | null
  readonly code: ProblemCode
  readonly message: string
  readonly severity: 'error' | 'warning'
  /** The parameter that is wrong; absent when the problem is not about one. */
  readonly parameter?: string
}

/** A problem that prevents a graph from running. */
export function graphError(nodeId: string | null, code: ProblemCode, message: string): GraphProblem {
  return { nodeId, code, message, severity: 'error' }
}

/** Whether a graph with these problems can run. */
export function isRunnable(problems: readonly GraphProblem[]): boolean {
  return problems.every(({ severity }) => severity !== 'error')
}
