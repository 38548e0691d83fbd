import { formatIdentifier } from '../../../catalog/table-identifier.ts'
import type { DeployCheckpoint } from '../../../domain/deployments.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { Table } from '../../../iceberg/metadata/table.ts'
import type { PlannedSource } from '../../../storage/stores/deployments/rollout-record.ts'
import type { PipelineRecord, PipelineStore } from '../../../storage/stores/pipelines/pipeline-store.ts'
import type { ReadPosition } from '../../../streaming/source/history.ts'
import type { StreamingOffset } from '../../../streaming/source/offset.ts'
import type { OldProgress } from './old-progress.ts'
import { type FedSource, isFurther, sinkFeeds } from './sink-feeds.ts'

/** Rows of the sources that the sink has from earlier pipelines, and what a deployment does about them. */
export interface KnownRows {
  /** `resumed`: reading goes on after them. `repeated`: they are written again, as asked. `blocked`: it must be decided. */
  readonly handling: 'resumed' | 'repeated' | 'blocked'
  /** At most; filters may have left some out, and rows may have been deleted since. */
  readonly rows: number
  readonly tables: readonly string[]
  readonly pipelineIds: readonly string[]
  /** Whether it is known how far the rows were read. */
  readonly canResume: boolean
}

/** Where a deployment reads its sources from. */
export interface StartPoints {
  readonly isSameCheckpoint: boolean
  readonly sources: readonly PlannedSource[]
  /** Undefined for a source of which all current rows are read. */
  readonly offsets: readonly (StreamingOffset | undefined)[]
  /** Undefined when no earlier pipeline has read the sources into the sink. */
  readonly known: KnownRows | undefined
}

export interface StartRequest {
  readonly checkpoint: DeployCheckpoint
  readonly definitionId: string
  readonly sources: readonly Table[]
  readonly sink: Table
  readonly previous: PipelineRecord | undefined
  readonly old: OldProgress | undefined
  /** Where a fresh checkpoint begins, one position per source; undefined: with the current rows. */
  readonly begin: readonly ReadPosition[] | undefined
}

/**
 * Decides where each source is read from: on the checkpoint of the pipeline that runs, at its offset of a source that
 * remains, after what another pipeline has read into the sink, or from the beginning. Never repeats rows unless asked.
 */
export async function startPoints(pipelines: Pick<PipelineStore, 'find'>, request: StartRequest): Promise<StartPoints> {
  const { checkpoint, sources, sink, previous } = request
  const old = checkpoint === 'fresh' ? undefined : request.old
  const fed = await sinkFeeds(pipelines, request)
  const usable = fed.map((one) => (checkpoint === 'resume' || one?.feed?.isOwn === true ? one?.feed : undefined))
  const isOvertaken = sources.some(({ metadata }, at) => {
    const feed = usable[at]
    return (
      feed !== undefined && feed.queryId !== previous?.queryId && isFurther(metadata, feed.offset, old?.offsets[at])
    )
  })
  if (old !== undefined && isSame(old, sources, sink) && !isOvertaken) {
    const planned = sources.map(namedSource)
    return { isSameCheckpoint: true, sources: planned, offsets: old.offsets, known: knownRows(request, fed, []) }
  }
  const starts = sources.map((table, at) => {
    const carried = carriedStart(table, old)
    const feed = checkpoint === 'fresh' ? undefined : usable[at]
    const isBehind = feed !== undefined && isFurther(table.metadata, feed.offset, carried?.offset)
    return isBehind ? { source: { resumedFrom: feed.queryId }, offset: feed.offset } : carried
  })
  const repeated = fed.map((one, at) =>
    starts[at] === undefined && isReadAgain(sources[at], one, request.begin?.[at]) ? one : undefined,
  )
  return {
    isSameCheckpoint: false,
    sources: sources.map((table, at) => ({ ...namedSource(table), ...starts[at]?.source })),
    offsets: starts.map((start, at) => start?.offset ?? request.begin?.[at]?.offset),
    known: knownRows(request, fed, repeated),
  }
}

function isSame(old: OldProgress, sources: readonly Table[], sink: Table): boolean {
  return (
    old.sinkUuid === sink.metadata.tableUuid &&
    old.sourceUuids.length === sources.length &&
    sources.every(({ metadata }, at) => metadata.tableUuid === old.sourceUuids[at])
  )
}

function namedSource({ identifier, metadata }: Table): PlannedSource {
  return { table: formatIdentifier(identifier), uuid: metadata.tableUuid }
}

interface Start {
  readonly source: Pick<PlannedSource, 'carriedFrom' | 'resumedFrom'>
  readonly offset: StreamingOffset
}

function carriedStart({ metadata }: Table, old: OldProgress | undefined): Start | undefined {
  const at = old?.sourceUuids.indexOf(metadata.tableUuid) ?? -1
  const offset = old?.offsets[at]
  return offset === undefined ? undefined : { source: { carriedFrom: at }, offset }
}

/** Whether rows that a pipeline has read are read again from a start; of several pipelines that is not known. */
function isReadAgain(table: Table | undefined, fed: FedSource | undefined, start: ReadPosition | undefined): boolean {
  if (table === undefined || start === undefined) return true
  const { snapshotId } = start.offset
  const read = fed?.feed?.offset
  if (read === undefined) return snapshotId !== table.metadata.currentSnapshotId
  const isAtEnd = start.isComplete && read.snapshotId === snapshotId
  return !isAtEnd && isFurther(table.metadata, read, start.offset)
}

/** `repeated`: what the sink has of sources that would be read from the beginning. */
function knownRows(
  { checkpoint, sources, begin }: StartRequest,
  fed: readonly (FedSource | undefined)[],
  repeated: readonly (FedSource | undefined)[],
): KnownRows | undefined {
  const again = repeated.filter((one) => one !== undefined)
  if (begin !== undefined && again.length === 0) return undefined
  const shown = again.length > 0 ? again : fed.filter((one) => one !== undefined)
  if (shown.length === 0) return undefined
  const tables = sources.filter((_, at) => shown.some((one) => one === fed[at]))
  return {
    handling: again.length === 0 ? 'resumed' : checkpoint === 'fresh' ? 'repeated' : 'blocked',
    rows: shown.reduce((sum, { rows }) => sum + rows, 0),
    tables: tables.map(({ identifier }) => formatIdentifier(identifier)),
    pipelineIds: [...new Set(shown.flatMap(({ pipelineIds }) => pipelineIds))],
    canResume: shown.every(({ feed }) => feed !== undefined),
  }
}

/** Throws `CONFLICT` when the deployment would write rows of the sink again, and nobody has decided that. */
export function requireDecided(known: KnownRows | undefined, sinkTable: string): void {
  if (known?.handling !== 'blocked') return
  const resume = known.canResume ? 'checkpoint "resume" to read on after them, or ' : ''
  throw new DomainError(
    'CONFLICT',
    `${sinkTable} has ${countText(known)} of ${known.tables.join(', ')} from pipeline ${known.pipelineIds.join(', ')}: ` +
      `a new checkpoint would write them again. Send ${resume}checkpoint "fresh" to write them a second time.`,
  )
}

/** The number of known rows in words. */
export function countText({ rows }: KnownRows): string {
  return rows === 1 ? 'up to 1 row' : `up to ${rows.toLocaleString('en-US')} rows`
}
