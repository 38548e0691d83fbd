import type { PlannedRun } from '../../../storage/stores/deployments/rollout-record.ts'
import type { PipelineRecord } from '../../../storage/stores/pipeline-store.ts'
import type { OldProgress } from './old-progress.ts'
import { countText, type KnownRows } from './start-points.ts'

interface Change {
  readonly planned: PlannedRun
  readonly previous: PipelineRecord | undefined
  readonly old: OldProgress | undefined
  readonly known: KnownRows | undefined
  readonly isFresh: boolean
}

/** What a rollout loses, repeats or no longer reads, one sentence each. */
export function consequencesOf({ planned, previous, old, known, isFresh }: Change): readonly string[] {
  const sinkTable = planned.pipeline.sinkTable
  if (planned.isSameCheckpoint) return ['continues on the same checkpoint: no row is lost or repeated']
  const starts = startsOf(planned, known)
  if (previous === undefined || old === undefined) {
    return starts.length > 0 ? starts : [`all rows of the sources are read into ${sinkTable}`]
  }
  const isSameSink = old.sinkUuid === planned.sinkUuid
  const dropped = previous.sources.filter((_, at) => !planned.sources.some(({ uuid }) => uuid === old.sourceUuids[at]))
  return [
    ...dropped.map((table) => `${table} is no longer read; its rows in ${previous.sinkTable} stay`),
    ...planned.sources
      .filter(({ carriedFrom, resumedFrom }) => carriedFrom === undefined && resumedFrom === undefined)
      .map(({ table }) => `all rows of ${table} are read from the beginning`),
    ...starts,
    ...(isSameSink ? [] : sinkChange(previous.sinkTable, sinkTable, isFresh)),
  ]
}

/** What happens to rows that the sink has of the sources. */
function startsOf({ pipeline: { sinkTable }, sources }: PlannedRun, known: KnownRows | undefined): readonly string[] {
  if (known === undefined) return []
  if (known.handling === 'repeated') {
    const of = `of ${known.tables.join(', ')} that ${sinkTable} already has from pipeline ${known.pipelineIds.join(', ')}`
    return [`${countText(known)} ${of} are written again`]
  }
  return sources
    .filter(({ resumedFrom }) => resumedFrom !== undefined)
    .map(
      ({ table }) => `reading of ${table} goes on after the rows that ${sinkTable} already has: none is written again`,
    )
}

function sinkChange(from: string, to: string, isFresh: boolean): readonly string[] {
  const stay = `rows already in ${from} stay there and are not copied to ${to}`
  return [isFresh ? `rows are written to ${to} instead of ${from}, which keeps its rows` : stay]
}
