import type { PlannedRun } from '../../storage/stores/deployments/rollout-record.ts'
import type { PipelineRecord } from '../../storage/stores/pipeline-store.ts'
import type { OldProgress } from './old-progress.ts'

interface Change {
  readonly planned: PlannedRun
  readonly previous: PipelineRecord | undefined
  readonly old: OldProgress | undefined
  readonly isFresh: boolean
}

/** What a rollout loses, repeats or no longer reads, one sentence each. */
export function consequencesOf({ planned, previous, old, isFresh }: Change): readonly string[] {
  const sinkTable = planned.pipeline.sinkTable
  if (previous === undefined || old === undefined) return [`all rows of the sources are read into ${sinkTable}`]
  if (planned.isSameCheckpoint) return ['continues on the same checkpoint: no row is lost or repeated']
  const isSameSink = old.sinkUuid === planned.sinkUuid
  const dropped = previous.sources.filter((_, at) => !planned.sources.some(({ uuid }) => uuid === old.sourceUuids[at]))
  return [
    ...dropped.map((table) => `${table} is no longer read; its rows in ${previous.sinkTable} stay`),
    ...planned.sources
      .filter(({ carriedFrom }) => carriedFrom === undefined)
      .map(({ table, uuid }) => {
        const repeats = isFresh && isSameSink && old.sourceUuids.includes(uuid)
        const again = repeats ? `: the rows that ${sinkTable} already has from it are written again` : ''
        return `all rows of ${table} are read from the beginning${again}`
      }),
    ...(isSameSink ? [] : sinkChange(previous.sinkTable, sinkTable, isFresh)),
  ]
}

function sinkChange(from: string, to: string, isFresh: boolean): readonly string[] {
  const stay = `rows already in ${from} stay there and are not copied to ${to}`
  return [isFresh ? `rows are written to ${to} instead of ${from}, which keeps its rows` : stay]
}
