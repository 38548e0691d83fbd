import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { currentSnapshot } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { BatchQuery } from '../sink/batch-query.ts'
import type { KnownProgress } from '../sink/progress.ts'
import { hasWholeHistory, type ReadPosition, unreadHistory } from '../source/history.ts'

/** Warnings for sources whose full history a new checkpoint cannot read. */
export function historyWarnings(sources: readonly Table[]): string[] {
  return sources
    .filter(({ metadata }) => !hasWholeHistory(metadata))
    .map(
      ({ identifier }) =>
        `the first snapshots of ${formatIdentifier(identifier)} have expired: reading starts with the rows that it has ` +
        'now, and rows that were deleted earlier will not be in the sink',
    )
}

/** A warning for a mirror that begins with rows in its sink. */
export function mirrorWarnings({ write }: BatchQuery, sink: Table | undefined): string[] {
  const rows = Number((sink && currentSnapshot(sink.metadata))?.summary['total-records'] ?? 0)
  if (sink === undefined || write?.mode !== 'mirror' || rows === 0) return []
  return [
    `${formatIdentifier(sink.identifier)} has ${rows} rows: those whose key the source does not have stay, until a row with the key ` +
      'comes or is deleted',
  ]
}

interface StartedFrom {
  /** What queries have read into the sink. */
  readonly known: readonly KnownProgress[]
  /** Whether one of them is the pipeline itself, whose checkpoint was lost. */
  readonly isLost: boolean
  /** Where reading begins, if not with all rows. */
  readonly start: readonly ReadPosition[] | undefined
}

/** Warnings about rows that a new checkpoint cannot read, and about those that it reads although the sink has them. */
export function startWarnings(sources: readonly Table[], { known, isLost, start }: StartedFrom): string[] {
  const history = start === undefined ? historyWarnings(sources) : []
  return isLost ? history : [...history, ...repeatWarnings(sources, known, start)]
}

/** Warnings for sources that other queries (`known`) have read into this sink: a new checkpoint reads them again. */
function repeatWarnings(
  sources: readonly Table[],
  known: readonly KnownProgress[],
  start: readonly ReadPosition[] | undefined,
): string[] {
  return sources.flatMap((table, at) => {
    const { identifier, metadata } = table
    const earlier = known.findLast(({ progress }) => progress.sources.some(({ uuid }) => uuid === metadata.tableUuid))
    if (earlier === undefined) return []
    const { progress } = earlier
    const read = progress.positions[progress.sources.findIndex(({ uuid }) => uuid === metadata.tableUuid)]
    if (read !== undefined && !isReadAgain(table, start?.[at], read)) return []
    return [
      `the sink already has rows of ${formatIdentifier(identifier)} from pipeline ${progress.pipelineId}: with ` +
        'this new checkpoint they are read and written again; to resume instead, start with the checkpoint of that pipeline',
    ]
  })
}

/** Whether reading from a start reads rows before the end of an earlier reading. */
function isReadAgain(table: Table, start: ReadPosition | undefined, { offset }: ReadPosition): boolean {
  if (start === undefined) return true
  const { current, after } = unreadHistory(table, start)
  const unread = start.isComplete || current === undefined ? after : [current, ...after]
  return unread.some(({ snapshotId }) => snapshotId === offset.snapshotId)
}
