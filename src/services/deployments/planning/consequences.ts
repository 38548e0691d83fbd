import type { PlannedRun } from '../../../storage/stores/deployments/rollout-record.ts'
import type { PipelineRecord } from '../../../storage/stores/pipelines/pipeline-store.ts'
import type { ReadPosition } from '../../../streaming/source/history.ts'
import type { BatchQuery } from '../../../streaming/sink/batch-query.ts'
import type { OldProgress } from './old-progress.ts'
import { countText, type KnownRows } from './start-points.ts'

/** What a version does to rows that its sink has, one sentence each. */
export function rowChanges({ write }: Pick<BatchQuery, 'write'>, sink: string): readonly string[] {
  if (write === undefined || write.mode === 'append') return []
  const replaced = `a row replaces the row of ${sink} with the same ${write.key.join(', ')}`
  return write.mode === 'upsert' ? [replaced] : [replaced, `a row that is marked as deleted is deleted from ${sink}`]
}

interface Change {
  readonly planned: PlannedRun
  readonly previous: PipelineRecord | undefined
  readonly old: OldProgress | undefined
  readonly known: KnownRows | undefined
  readonly isFresh: boolean
  /** Where a fresh checkpoint begins, if not with the current rows. */
  readonly begin: readonly ReadPosition[] | undefined
}

/** What a rollout loses, repeats or no longer reads, one sentence each. */
export function consequencesOf(change: Change): readonly string[] {
  const { planned, previous, old, known, isFresh } = change
  const sinkTable = planned.pipeline.sinkTable
  if (planned.isSameCheckpoint) return ['continues on the same checkpoint: no row is lost or repeated']
  const starts = startsOf(planned, known)
  if (previous === undefined || old === undefined) {
    const begins = starts.length > 0 ? [] : [`all rows of the sources are read into ${sinkTable}`]
    return [...branchOf(change), ...(change.begin === undefined ? begins : beginsOf(change)), ...starts]
  }
  const isSameSink = old.sinkUuid === planned.sinkUuid
  const dropped = previous.sources.filter((_, at) => !planned.sources.some(({ uuid }) => uuid === old.sourceUuids[at]))
  return [
    ...branchOf(change),
    ...dropped.map((table) => `${table} is no longer read; its rows in ${previous.sinkTable} stay`),
    ...beginsOf(change),
    ...starts,
    ...(isSameSink ? [] : sinkChange(previous.sinkTable, sinkTable, isFresh)),
  ]
}

/** What stays in a branch, and what goes to a branch first. */
function branchOf({ planned, previous, old }: Change): readonly string[] {
  const { sinkTable, options } = planned.pipeline
  const { name, publish } = options.branch ?? {}
  const first = `rows are written to the branch ${name} of ${sinkTable} first`
  const then = publish === 'manual' ? 'main does not get them' : 'main gets them when everything is read'
  return [
    ...(name === undefined ? [] : [`${first}: ${then}`]),
    ...(old?.branch === undefined
      ? []
      : [`rows in the branch ${old.branch} of ${previous?.sinkTable} do not come to main`]),
  ]
}

/** What is read of the sources that are not read on, one sentence each. */
function beginsOf({ planned, begin }: Change): readonly string[] {
  const { from } = planned.pipeline.options
  return planned.sources.flatMap(({ table, carriedFrom, resumedFrom }, at) => {
    if (carriedFrom !== undefined || resumedFrom !== undefined) return []
    const position = begin?.[at]
    if (from === 'now' && begin !== undefined) {
      return [`rows that ${table} has when the new pipeline starts are not read: only rows that are appended later`]
    }
    if (position?.isComplete !== true) return [`all rows of ${table} are read from the beginning`]
    return [`only rows of ${table} that were appended after snapshot ${position.offset.snapshotId} are read`]
  })
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
