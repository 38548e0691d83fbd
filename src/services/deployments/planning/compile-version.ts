import { DomainError } from '../../../domain/errors.ts'
import type { GraphService } from '../../lifecycle/graph-service.ts'
import type { CompiledForEnvironment, CompileRequest } from '../deployment-deps.ts'

/** Compiles a version for an environment, with all problems by node and parameter. Throws `NOT_FOUND`. */
export async function compileForEnvironment(
  graphs: Pick<GraphService, 'validate' | 'compileVersion'>,
  { definitionId, versionId, environment, user }: CompileRequest,
): Promise<CompiledForEnvironment> {
  const { runnable, problems } = await graphs.validate({ definitionId, versionId, environment }, user)
  if (!runnable) {
    const errors = problems.filter(({ severity }) => severity === 'error')
    return {
      problems: errors.map(({ node_id: nodeId, parameter = null, code, message }) => ({
        nodeId,
        parameter,
        code,
        message,
        blockedBy: null,
      })),
    }
  }
  try {
    return { compiled: await graphs.compileVersion(versionId, user, environment) }
  } catch (error) {
    if (!(error instanceof DomainError) || error.code === 'NOT_FOUND') throw error
    const { code, message } = error
    return { problems: [{ nodeId: null, parameter: null, code, message, blockedBy: null }] }
  }
}
