import { type Details, isDetails, textOf } from './action-figures.ts'

/** A pipeline that a rollback would break, or whose rows it would remove. */
export interface AffectedPipeline {
  readonly id: string
  readonly role: 'reader' | 'sink'
  readonly state: string
  /** What would happen to it, in words. */
  readonly consequence: string
  /** Whether it must be stopped first; else it is enough to accept the consequence. */
  readonly mustStop: boolean
}

/** The affected pipelines of a preview; none for actions that affect no pipelines. */
export function affectedPipelines(details: Details): readonly AffectedPipeline[] {
  const listed: unknown = details['affected_pipelines']
  return (Array.isArray(listed) ? listed : []).filter(isDetails).map((one) => ({
    id: textOf(one, 'pipeline_id'),
    role: textOf(one, 'role') === 'sink' ? 'sink' : 'reader',
    state: textOf(one, 'state'),
    consequence: textOf(one, 'consequence'),
    mustStop: textOf(one, 'required') !== 'accept',
  }))
}

/** What a preview needs before it can be applied: that pipelines are stopped, or that their ids are accepted. */
export function neededFor(affected: readonly AffectedPipeline[]): 'nothing' | 'stop' | 'accept' {
  if (affected.length === 0) return 'nothing'
  return affected.some(({ mustStop }) => mustStop) ? 'stop' : 'accept'
}
