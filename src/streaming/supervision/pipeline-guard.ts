import type { Catalog } from '../../catalog/catalog.ts'
import { formatIdentifier, mayBeSameTable, parseIdentifier } from '../../catalog/table-identifier.ts'
import { snapshotById } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import type { TouchedColumn } from '../../maintenance/evolve.ts'
import type { ColumnUse, SnapshotPin, TableGuard, TableUser, UnreadRows } from '../../maintenance/table-guard.ts'
import type { PipelineRecord, PipelineStore } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { BatchQuery } from '../sink/batch-query.ts'
import { canReadOn } from '../pipeline-errors.ts'
import { withoutPinRetention, withoutPins } from '../pins/retention-pin.ts'
import { newestBatch, readSinkState } from '../sink/progress.ts'
import { fromStoredPosition } from '../checkpoint/stored-positions.ts'
import { isStart } from '../source/offset.ts'
import { foreignBatchProblem } from './foreign-batch.ts'
import { isLiveState, rollbackEffects } from './rollback-effects.ts'
import { type ColumnPath, unreadValues } from './unread-values.ts'

export interface PipelineGuardDeps {
  readonly store: PipelineStore
  readonly catalog: () => Catalog
  readonly checkpointIo: FileIO
  /** The query of a pipeline; undefined: it copies. */
  readonly queryOf?: ((record: PipelineRecord) => Promise<BatchQuery | undefined>) | undefined
}

/**
 * Protects what pipelines need: unread snapshots of all that can be restarted, columns of those that exist, the history
 * that they have read or written.
 */
export function createPipelineGuard(deps: PipelineGuardDeps): TableGuard {
  return {
    async pinsOf({ identifier, metadata }) {
      const name = formatIdentifier(identifier)
      const records = await deps.store.list()
      const pins = records.flatMap((record) => [...pinsOf(record, name, metadata), ...sinkPins(record, name, metadata)])
      const known = new Set(records.map(({ id }) => id))
      return { pins, metadata: withoutPinRetention(metadata, known), unpinned: withoutPins(metadata, known) }
    },
    async usersOf(table, columns) {
      const found: ColumnUse[] = []
      for (const record of await deps.store.list()) found.push(...(await usesOf(deps, record, { table, columns })))
      return found
    },
    async pipelinesOf(table) {
      const records = await deps.store.list()
      return records.flatMap((record): TableUser[] => {
        const user = { id: record.id, state: record.state, isLive: isLiveState(record) }
        const { lookups = [], diverts = [] } = record.options
        const isOneOf = (names: readonly string[]): boolean => names.some((name) => mayBeSameTable(name, table))
        if (isOneOf([...record.sources, ...lookups])) return [{ ...user, role: 'reader' }]
        return isOneOf([record.sinkTable, ...diverts]) ? [{ ...user, role: 'sink' }] : []
      })
    },
    affectedBy: async (rollback) =>
      rollback.undone.length === 0 ? [] : rollbackEffects(deps.checkpointIo, await deps.store.list(), rollback),
    batchProblem: async (batch) => foreignBatchProblem(deps.checkpointIo, await deps.store.list(), batch),
  }
}

function pinsOf(
  { id, sources, state, error, positions }: PipelineRecord,
  table: string,
  metadata: TableMetadata,
): SnapshotPin[] {
  const isLost = state === 'failed' && !canReadOn(error?.code)
  return sources.flatMap((source, at) => {
    if (source !== table) return []
    const stored = positions?.[at]
    const offset = stored && fromStoredPosition(stored).offset
    // a pipeline that has not started reading will start with the current snapshot
    const from = offset === undefined ? metadata.currentSnapshotId : isStart(offset) ? undefined : offset.snapshotId
    if (isLost && (from === undefined || snapshotById(metadata, from) === undefined)) return []
    const snapshotIds = unread(metadata, from)
    return snapshotIds.size === 0 ? [] : [{ pipelineId: id, snapshotId: from ?? -1n, snapshotIds }]
  })
}

/** Spark knows only from its newest snapshot in the sink which batch is there: without it, a crash could repeat the batch. */
function sinkPins(
  { id, queryId, sinkTable, spark }: PipelineRecord,
  table: string,
  metadata: TableMetadata,
): SnapshotPin[] {
  const newest = spark !== undefined && sinkTable === table ? newestBatch(metadata, queryId) : undefined
  return newest === undefined
    ? []
    : [{ pipelineId: id, snapshotId: newest.snapshotId, snapshotIds: new Set([newest.snapshotId]) }]
}

/** A snapshot and all after it on `main`; everything when the snapshot is undefined. */
function unread(metadata: TableMetadata, from: bigint | undefined): ReadonlySet<bigint> {
  const ids = new Set<bigint>()
  if (metadata.currentSnapshotId === undefined) return ids
  for (const { snapshotId, parentSnapshotId } of ancestorsOf(metadata, metadata.currentSnapshotId)) {
    ids.add(snapshotId)
    if (snapshotId === from || (from !== undefined && parentSnapshotId === from)) break
  }
  if (from !== undefined && snapshotById(metadata, from) !== undefined) ids.add(from)
  return ids
}

interface Asked {
  readonly table: string
  readonly columns: readonly TouchedColumn[]
}

/** The columns that a live pipeline needs, and those that any pipeline has yet to read values of. */
async function usesOf(deps: PipelineGuardDeps, record: PipelineRecord, asked: Asked): Promise<readonly ColumnUse[]> {
  const isLive = isLiveState(record)
  const unread = await unreadColumns(deps, record, asked)
  if (!isLive && unread.size === 0) return []
  const columns = isLive ? asked.columns : [...unread.keys()]
  const pathsOf = (column: TouchedColumn): readonly ColumnPath[] => [column.path, ...(unread.get(column)?.paths ?? [])]
  const needed = await neededColumns(deps, record, { ...asked, columns, pathsOf })
  return needed.map((column) => ({
    column,
    user: { kind: 'pipeline', id: record.id, isLive, unread: unread.get(column)?.rows },
  }))
}

/** Changes after which a pipeline cannot read the values that a column has in older snapshots. */
const LOSING: ReadonlySet<TouchedColumn['kind']> = new Set(['drop_column', 'alter_column'])

/** Rows that a pipeline has not read, and the paths that a column has in their schemas. */
interface UnreadColumn {
  readonly rows: UnreadRows
  readonly paths: readonly ColumnPath[]
}

/** Per column, the rows that a pipeline has not read and that may have a value of it. */
async function unreadColumns(
  { catalog }: PipelineGuardDeps,
  { sources, positions, error, state }: PipelineRecord,
  { table, columns }: Asked,
): Promise<ReadonlyMap<TouchedColumn, UnreadColumn>> {
  const found = new Map<TouchedColumn, UnreadColumn>()
  const isLost = state === 'failed' && !canReadOn(error?.code)
  const losing = columns.filter(({ kind }) => LOSING.has(kind))
  if (isLost || losing.length === 0) return found
  const read = sources.flatMap((source, at) => {
    const stored = positions?.[at]
    return stored !== undefined && mayBeSameTable(source, table) ? [fromStoredPosition(stored)] : []
  })
  if (read.length === 0) return found
  const loaded = await catalog().loadTable(parseIdentifier(table))
  for (const position of read) {
    const fieldIds = losing.map(({ fieldId }) => fieldId)
    const unread = await unreadValues(loaded, position, fieldIds)
    for (const column of losing) {
      const paths = unread?.paths.get(column.fieldId)
      if (unread !== undefined && paths !== undefined) found.set(column, { rows: unread.rows, paths })
    }
  }
  return found
}

interface AskedPaths extends Asked {
  readonly pathsOf: (column: TouchedColumn) => readonly ColumnPath[]
}

/** Those of the columns that a query reads under one of their paths; all of them for a copy. */
async function columnsRead(
  query: BatchQuery | undefined,
  { table, columns, pathsOf }: AskedPaths,
): Promise<readonly TouchedColumn[]> {
  const needed: TouchedColumn[] = []
  for (const column of columns) {
    for (const path of pathsOf(column)) {
      if (!((await query?.usesColumn?.({ table, path })) ?? true)) continue
      needed.push(column)
      break
    }
  }
  return needed
}

/** Those of the columns that a pipeline needs. */
async function neededColumns(
  { catalog, queryOf }: PipelineGuardDeps,
  record: PipelineRecord,
  { table, columns, pathsOf }: AskedPaths,
): Promise<readonly TouchedColumn[]> {
  const { lookups = [], diverts = [] } = record.options
  const isOneOf = (names: readonly string[]): boolean => names.some((name) => mayBeSameTable(name, table))
  // every column of a table of diverted rows may be filled
  if (isOneOf(diverts)) return columns
  if (isOneOf([...record.sources, ...lookups])) {
    const query = await queryOf?.(record)
    return columnsRead(query, { table, columns, pathsOf })
  }
  if (!mayBeSameTable(record.sinkTable, table)) return []
  const { metadata } = await catalog().loadTable(parseIdentifier(table))
  const { progress } = readSinkState(metadata, record.queryId)
  // before the first batch it is unknown which columns of the sink will be filled
  if (progress === undefined || progress.pairs.length === 0) return columns
  const filled = new Set(progress.pairs.map(([, sinkId]) => sinkId))
  return columns.filter(({ fieldId, topLevelId }) => filled.has(fieldId) || filled.has(topLevelId))
}
