import type { RequestContext } from '../../domain/audit.ts'
import type { NotebookDeps } from './deps.ts'

/** Revokes a token; does nothing when it has already ended. */
export async function endToken(deps: NotebookDeps, id: string, context?: RequestContext): Promise<void> {
  await deps.tokens.revoke(id, context).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'NOT_FOUND')) throw error
  })
}
