import type { Table } from '../../../iceberg/metadata/table.ts'
import { snapshotById, type TableMetadata } from '../../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../../iceberg/metadata/snapshot-ancestry.ts'
import type { PipelineStore } from '../../../storage/stores/pipelines/pipeline-store.ts'
import { type KnownProgress, listProgress } from '../../../streaming/sink/progress.ts'
import { toCount } from '../../../streaming/source/history.ts'
import type { StreamingOffset } from '../../../streaming/source/offset.ts'

/** A pipeline that has read a source into the sink: its rows are there. */
export interface SinkFeed {
  readonly pipelineId: string
  readonly queryId: string
  /** How far the source was read. */
  readonly offset: StreamingOffset
  /** Rows that the source had there: at most so many would be written again. */
  readonly rows: number
  /** Whether a version of the definition that is to be deployed has run in the pipeline. */
  readonly isOwn: boolean
}

/** What the sink has of one source. */
export interface FedSource {
  /** The feed to read on after; undefined when several other pipelines have read the source, each its own part. */
  readonly feed: SinkFeed | undefined
  readonly pipelineIds: readonly string[]
  readonly rows: number
}

interface Tables {
  readonly sources: readonly Table[]
  readonly sink: Table
  readonly definitionId: string
}

/**
 * Per source, what earlier pipelines have read of it into the sink; undefined where nothing was. Of several pipelines of
 * the same definition, the one counts that has read furthest, because each has read on or begun again.
 */
export async function sinkFeeds(
  pipelines: Pick<PipelineStore, 'find'>,
  { sources, sink, definitionId }: Tables,
): Promise<readonly (FedSource | undefined)[]> {
  const known = listProgress(sink.metadata)
  const own = new Set<string>()
  for (const { progress } of known) {
    const record = await pipelines.find(progress.pipelineId)
    if (record?.definitionId === definitionId) own.add(progress.pipelineId)
  }
  return sources.map((source) => fedSource(source.metadata, known, own))
}

function fedSource(
  source: TableMetadata,
  known: readonly KnownProgress[],
  own: ReadonlySet<string>,
): FedSource | undefined {
  const feeds = known.flatMap((one) => feedOf(source, one, own))
  if (feeds.length === 0) return undefined
  const ours = feeds.filter(({ isOwn }) => isOwn)
  const feed = ours.length > 0 ? ours.reduce((a, b) => (isFurther(source, b.offset, a.offset) ? b : a)) : onlyOne(feeds)
  const rows = Math.max(...feeds.map((one) => one.rows))
  return { feed, rows: feed?.rows ?? rows, pipelineIds: [...new Set(feeds.map(({ pipelineId }) => pipelineId))] }
}

function onlyOne(feeds: readonly SinkFeed[]): SinkFeed | undefined {
  return feeds.length === 1 ? feeds[0] : undefined
}

function feedOf(source: TableMetadata, { queryId, progress }: KnownProgress, own: ReadonlySet<string>): SinkFeed[] {
  const offset = offsetIn(progress, source.tableUuid)
  if (offset === undefined) return []
  const { pipelineId } = progress
  return [{ pipelineId, queryId, offset, rows: rowsUpTo(source, offset), isOwn: own.has(pipelineId) }]
}

function offsetIn({ sources, positions }: KnownProgress['progress'], uuid: string): StreamingOffset | undefined {
  return positions[sources.findIndex((stamp) => stamp.uuid === uuid)]?.offset
}

/** How far the query has read a source into a sink, now; undefined when the sink no longer says so. */
export function feedOffset({ metadata }: Table, queryId: string, sourceUuid: string): StreamingOffset | undefined {
  const found = listProgress(metadata).find((one) => one.queryId === queryId)
  return found && offsetIn(found.progress, sourceUuid)
}

function rowsUpTo(source: TableMetadata, { snapshotId }: StreamingOffset): number {
  const current = source.currentSnapshotId === undefined ? undefined : snapshotById(source, source.currentSnapshotId)
  const snapshot = snapshotById(source, snapshotId) ?? current
  return toCount(snapshot?.summary['total-records'])
}

/** Whether `a` is behind `b` in the order in which the source is read. */
export function isFurther(source: TableMetadata, a: StreamingOffset, b: StreamingOffset | undefined): boolean {
  if (b === undefined) return true
  if (a.snapshotId === b.snapshotId) return a.position > b.position
  if (source.currentSnapshotId === undefined) return false
  const line = [...ancestorsOf(source, source.currentSnapshotId)].map(({ snapshotId }) => snapshotId)
  const [atA, atB] = [line.indexOf(a.snapshotId), line.indexOf(b.snapshotId)]
  return atA >= 0 && (atB < 0 || atA < atB)
}
