import type { IntoBranch, StartFrom } from '../../../schemas/pipelines.ts'
import type { PipelineOptions, PipelineRecord } from '../../../storage/stores/pipelines/pipeline-store.ts'
import type { OldProgress } from './old-progress.ts'
import { BlockedError } from './plan-problems.ts'

interface Begin {
  readonly from?: StartFrom | undefined
  readonly branch?: IntoBranch | undefined
  readonly start?: PipelineOptions['start']
}

interface Unpublished {
  readonly old: OldProgress | undefined
  /** Whether a new checkpoint reads on where the old pipeline stands. */
  readonly isCarried: boolean
}

/** Refuses to read on after rows that are only in a branch: nothing would publish them any more. */
export function requirePublished(previous: PipelineRecord | undefined, { old, isCarried }: Unpublished): void {
  if (!isCarried || old?.branch === undefined || previous === undefined) return
  const { sinkTable, id } = previous
  throw new BlockedError(
    `the rows of pipeline ${id} are only in the branch ${old.branch} of ${sinkTable}: wait until it is published, or deploy with a fresh checkpoint`,
    { type: 'pipeline', id },
  )
}

/** Where a pipeline begins; the start of the rollout finds the positions. */
export function beginOptions({ from, start, branch }: Begin): Pick<PipelineOptions, 'from' | 'start' | 'branch'> {
  return { ...(from ? { from } : {}), ...(start ? { start } : {}), ...(branch ? { branch } : {}) }
}
