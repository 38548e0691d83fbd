import { DomainError } from '../../../domain/errors.ts'
import { withoutPaths } from '../../../domain/without-paths.ts'
import { isIcebergError } from '../../../iceberg/errors.ts'
import { PipelineStopped } from '../../../streaming/pipeline-errors.ts'
import type { CompiledVersion } from '../../pipelines/pipeline-deps.ts'
import type { BlockingObject, DeploymentProblem } from '../deployment-deps.ts'

/** An error that is about the table of one node. */
class NodeError extends Error {
  readonly nodeId: string
  readonly table: string

  constructor(node: { readonly id: string; readonly table: string }, cause: unknown) {
    super(`node ${node.id}`, { cause })
    this.nodeId = node.id
    this.table = node.table
  }
}

/** A conflict with an object of the service. */
export class BlockedError extends DomainError {
  readonly blockedBy: BlockingObject

  constructor(message: string, blockedBy: BlockingObject) {
    super('CONFLICT', message)
    this.blockedBy = blockedBy
  }
}

/** Does something with a table; an error is about the node that reads or writes it. */
export async function atNode<T>(
  { nodeOf }: CompiledVersion,
  table: string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const id = nodeOf.get(table ?? '')
    throw id === undefined || table === undefined ? error : new NodeError({ id, table }, error)
  }
}

/** The problem that the work throws; undefined when there is none. */
export async function problemIn(work: () => Promise<void>): Promise<DeploymentProblem | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    return problemOf(error)
  }
}

export function problemOf(error: unknown): DeploymentProblem {
  if (error instanceof NodeError) {
    const { nodeId, table } = error
    const problem = problemOf(error.cause)
    const atTable = problem.code === 'NOT_FOUND' ? null : ({ type: 'table', id: table } as const)
    return { ...problem, nodeId, blockedBy: problem.blockedBy ?? atTable }
  }
  const isKnown = error instanceof DomainError || error instanceof PipelineStopped || isIcebergError(error)
  if (!isKnown || (isIcebergError(error) && error.code === 'IO_FAILED')) throw error
  const blockedBy = error instanceof BlockedError ? error.blockedBy : null
  return { nodeId: null, parameter: null, code: error.code, message: withoutPaths(error.message), blockedBy }
}
