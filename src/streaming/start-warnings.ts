import { formatIdentifier } from '../catalog/table-identifier.ts'
import type { Table } from '../iceberg/table.ts'
import type { KnownProgress } from './sink-progress.ts'
import { hasWholeHistory } from './source-history.ts'

/** What is told of sources of which a new checkpoint cannot see the whole past. */
export function historyWarnings(sources: readonly Table[]): string[] {
  return sources
    .filter(({ metadata }) => !hasWholeHistory(metadata))
    .map(
      ({ identifier }) =>
        `the first snapshots of ${formatIdentifier(identifier)} have expired: reading begins with the rows that it holds ` +
        'now, and rows that were deleted before are not in the sink',
    )
}

/** What is told of sources that other queries have read into this sink, by `known`: a new checkpoint reads them again. */
export function repeatWarnings(sources: readonly Table[], known: readonly KnownProgress[]): string[] {
  return sources.flatMap(({ identifier, metadata }) => {
    const earlier = known.findLast(({ progress }) => progress.sources.some(({ uuid }) => uuid === metadata.tableUuid))
    if (earlier === undefined) return []
    return [
      `the sink has rows of ${formatIdentifier(identifier)} already, from pipeline ${earlier.progress.pipelineId}: with ` +
        'this new checkpoint they are read and written again; to go on instead, start with the checkpoint of that pipeline',
    ]
  })
}
