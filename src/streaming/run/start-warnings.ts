import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { currentSnapshot } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { BatchQuery } from '../sink/batch-query.ts'
import type { KnownProgress } from '../sink/progress.ts'
import { hasWholeHistory } from '../source/history.ts'

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

/** Warnings for sources that other queries (`known`) have read into this sink: a new checkpoint reads them again. */
export function repeatWarnings(sources: readonly Table[], known: readonly KnownProgress[]): string[] {
  return sources.flatMap(({ identifier, metadata }) => {
    const earlier = known.findLast(({ progress }) => progress.sources.some(({ uuid }) => uuid === metadata.tableUuid))
    if (earlier === undefined) return []
    return [
      `the sink already has rows of ${formatIdentifier(identifier)} from pipeline ${earlier.progress.pipelineId}: with ` +
        'this new checkpoint they are read and written again; to resume instead, start with the checkpoint of that pipeline',
    ]
  })
}
