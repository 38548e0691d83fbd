import type { Catalog } from '../../catalog/catalog.ts'
import { formatIdentifier, mayBeSameTable, parseIdentifier } from '../../catalog/table-identifier.ts'
import { snapshotById } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import type { TouchedColumn } from '../../maintenance/evolve.ts'
import type { SnapshotPin, TableGuard, TableUser } from '../../maintenance/table-guard.ts'
import type { PipelineRecord, PipelineStore } from '../../storage/stores/pipeline-store.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { BatchQuery } from '../sink/batch-query.ts'
import { canReadOn } from './pipeline-errors.ts'
import { withoutPinRetention, withoutPins } from '../pins/retention-pin.ts'
import { newestBatch, readSinkState } from '../sink/progress.ts'
import { fromStoredPosition } from '../checkpoint/stored-positions.ts'
import { isStart } from '../source/offset.ts'
import { foreignBatchProblem } from './foreign-batch.ts'
import { isLiveState, rollbackEffects } from './rollback-effects.ts'

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
    async usersOf(table, column) {
      const users = []
      for (const record of await deps.store.listLive()) {
        if (await usesColumn(deps, record, { table, column })) users.push({ kind: 'pipeline' as const, id: record.id })
      }
      return users
    },
    async pipelinesOf(table) {
      const records = await deps.store.list()
      return records.flatMap((record): TableUser[] => {
        const user = { id: record.id, state: record.state, isLive: isLiveState(record) }
        const isReader = record.sources.some((source) => mayBeSameTable(source, table))
        if (isReader) return [{ ...user, role: 'reader' }]
        return mayBeSameTable(record.sinkTable, table) ? [{ ...user, role: 'sink' }] : []
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
  readonly column: TouchedColumn
}

async function usesColumn(
  { catalog, queryOf }: PipelineGuardDeps,
  record: PipelineRecord,
  { table, column }: Asked,
): Promise<boolean> {
  if (record.sources.some((source) => mayBeSameTable(source, table))) {
    const query = await queryOf?.(record)
    return (await query?.usesColumn?.({ table, path: column.path })) ?? true
  }
  if (!mayBeSameTable(record.sinkTable, table)) return false
  const { metadata } = await catalog().loadTable(parseIdentifier(table))
  const { progress } = readSinkState(metadata, record.queryId)
  // before the first batch it is unknown which columns of the sink will be filled
  if (progress === undefined || progress.pairs.length === 0) return true
  return progress.pairs.some(([, sinkId]) => sinkId === column.fieldId || sinkId === column.topLevelId)
}
