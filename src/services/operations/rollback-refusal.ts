import { DomainError } from '../../domain/errors.ts'
import type { AffectedPipeline } from '../../maintenance/table-guard.ts'

const MAX_LISTED = 20

/**
 * Throws `CONFLICT` with the list of pipelines that keep a rollback from running: all that run, and the stopped ones
 * whose ids are not accepted. `target` is the field of the request that names the state.
 */
export function requireAccepted(
  affected: readonly AffectedPipeline[],
  accepted: ReadonlySet<unknown>,
  target: 'snapshot_id' | 'to_timestamp' = 'snapshot_id',
): void {
  const open = affected.filter(({ id, isLive }) => isLive || !accepted.has(id))
  if (open.length === 0) return
  const fields = open.slice(0, MAX_LISTED).map((pipeline) => ({
    path: pipeline.isLive ? target : 'accept_pipelines',
    message: describe(pipeline),
  }))
  const more = open.length > fields.length ? ` And ${open.length - fields.length} more pipelines.` : ''
  const list = fields.map(({ message }) => message).join(' ')
  throw new DomainError('CONFLICT', `the rollback affects pipelines: ${list}${more} ${adviceFor(open)}`, { fields })
}

function describe({ id, role, state, consequence }: AffectedPipeline): string {
  return `pipeline ${id} (${role}, ${state}): ${consequence}`
}

function adviceFor(open: readonly AffectedPipeline[]): string {
  if (open.some(({ isLive }) => isLive)) return 'Stop the running pipelines first, and preview the rollback again.'
  return 'If that is intended, send their ids in accept_pipelines.'
}
