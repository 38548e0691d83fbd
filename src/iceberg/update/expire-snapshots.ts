import { IcebergError, isIcebergError } from '../errors.ts'
import { propertyBool, propertyCount, propertyLong } from '../metadata/metadata.ts'
import type { TableMetadata } from '../metadata/metadata.ts'
import { ancestorsIn, snapshotsById } from '../metadata/snapshot-ancestry.ts'
import { FOREVER_MS, mainBranch } from '../metadata/snapshots.ts'
import type { Snapshot, SnapshotRef } from '../metadata/snapshots.ts'
import type { Table } from '../metadata/table.ts'
import { findUsedMetadata, unusedMetadata } from './unused-metadata.ts'
import type { UsedMetadata } from './unused-metadata.ts'
import type { TableRequirement, TableUpdate } from './table-update.ts'

export interface ExpiryRequest {
  /** Now, in ms since the epoch. */
  readonly nowMs: number
  /** Snapshots older than this expire, ms since the epoch; default: now less `history.expire.max-snapshot-age-ms`. */
  readonly olderThanMs?: number
  /** Ancestors that each branch keeps regardless of age; default: `history.expire.min-snapshots-to-keep`. */
  readonly retainLast?: number
  /** Snapshots that expire regardless of age, in addition to those that are too old. */
  readonly snapshotIds?: readonly bigint[]
  /** Snapshots that are kept regardless of age, because a pipeline still has to read them. */
  readonly keep?: ReadonlySet<bigint>
  /** Whether unused schemas and partition specs are removed too; the current ones are kept. Default false. */
  readonly cleanExpiredMetadata?: boolean
}

/** What an expiry changes in the metadata of a table; `updates` is empty when nothing expires. */
export interface ExpiryPlan {
  readonly updates: readonly TableUpdate[]
  readonly requirements: readonly TableRequirement[]
  /** In the order of the table's snapshots. */
  readonly expiredSnapshotIds: readonly bigint[]
  readonly removedRefs: readonly string[]
  readonly removedSchemaIds: readonly number[]
  readonly removedSpecIds: readonly number[]
}

const DEFAULT_MAX_SNAPSHOT_AGE_MS = 432_000_000n
const DEFAULT_MIN_SNAPSHOTS = 1

/**
 * Chooses the snapshots and refs that expire, as Iceberg's `RemoveSnapshots` does: refs by age first, `main` never;
 * each branch keeps its newest snapshots by number or age up to the first that meets neither, tags keep their snapshot,
 * snapshots that no ref reaches are kept while they are young. The retention of a ref overrides everything else.
 *
 * Pure; it does not read manifests, so `cleanExpiredMetadata` removes only what is safe without them: use
 * {@link planExpiryOf} for that. Errors: `GC_DISABLED`; `INVALID_ARGUMENT` for `retainLast` below 1 and for a snapshot in
 * `snapshotIds` that a kept ref points to; `NO_SUCH_SNAPSHOT`.
 */
export function planExpiry(metadata: TableMetadata, request: ExpiryRequest): ExpiryPlan {
  return toPlan(metadata, request, chooseSnapshots(metadata, request))
}

/** Undefined when a file of a kept snapshot is missing or damaged: then nothing is known of what they use. */
async function usedIfReadable(table: Table, kept: readonly Snapshot[]): Promise<UsedMetadata | undefined> {
  try {
    return await findUsedMetadata(table, kept)
  } catch (error) {
    if (isIcebergError(error, 'FILE_NOT_FOUND') || isIcebergError(error, 'CORRUPT_FILE')) return undefined
    throw error
  }
}

/** As {@link planExpiry}; for `cleanExpiredMetadata` it reads which specs and columns the kept snapshots use. */
export async function planExpiryOf(table: Table, request: ExpiryRequest): Promise<ExpiryPlan> {
  const choice = chooseSnapshots(table.metadata, request)
  const used = request.cleanExpiredMetadata === true ? await usedIfReadable(table, choice.kept) : undefined
  return toPlan(table.metadata, request, { ...choice, used })
}

interface Choice {
  readonly kept: readonly Snapshot[]
  readonly expired: readonly Snapshot[]
  readonly refs: ReadonlyMap<string, SnapshotRef>
  readonly removedRefs: readonly string[]
}

function chooseSnapshots(metadata: TableMetadata, request: ExpiryRequest): Choice {
  refuseWithoutGc(metadata)
  const retention = retentionOf(metadata, request)
  const snapshots = snapshotsById(metadata)
  const refs = keptRefs(metadata, snapshots, request.nowMs)
  const named = requireExpirable(request.snapshotIds ?? [], snapshots, refs)
  const retained = new Set<bigint>()
  for (const ref of refs.values()) for (const id of retainedBy(ref, snapshots, retention)) retained.add(id)
  const reachable = reachableFrom(refs, snapshots)
  const stays = ({ snapshotId, timestampMs }: Snapshot): boolean => {
    if (named.has(snapshotId)) return false
    if (request.keep?.has(snapshotId) === true) return true
    return retained.has(snapshotId) || (!reachable.has(snapshotId) && timestampMs >= retention.olderThanMs)
  }
  return {
    kept: metadata.snapshots.filter(stays),
    expired: metadata.snapshots.filter((snapshot) => !stays(snapshot)),
    refs,
    removedRefs: Object.keys(metadata.refs).filter((name) => !refs.has(name)),
  }
}

/** Times in ms since the epoch: exact, as an age can be as long as {@link FOREVER_MS}. */
interface Retention {
  readonly nowMs: bigint
  readonly olderThanMs: bigint
  readonly minSnapshots: number
}

function retentionOf(metadata: TableMetadata, { nowMs, olderThanMs, retainLast }: ExpiryRequest): Retention {
  if (retainLast !== undefined && !(Number.isSafeInteger(retainLast) && retainLast >= 1)) {
    throw new IcebergError('INVALID_ARGUMENT', `At least one snapshot must be retained, not ${retainLast}`)
  }
  const maxAgeMs = propertyAge(metadata, 'history.expire.max-snapshot-age-ms', DEFAULT_MAX_SNAPSHOT_AGE_MS)
  const now = BigInt(nowMs)
  return {
    nowMs: now,
    olderThanMs: olderThanMs === undefined ? now - maxAgeMs : BigInt(olderThanMs),
    minSnapshots: retainLast ?? propertyCount(metadata, 'history.expire.min-snapshots-to-keep', DEFAULT_MIN_SNAPSHOTS),
  }
}

/** A negative age would expire snapshots that were just committed. */
function propertyAge(metadata: TableMetadata, name: string, defaultMs: bigint): bigint {
  const ageMs = propertyLong(metadata, name, defaultMs)
  if (ageMs >= 0n) return ageMs
  throw new IcebergError('INVALID_METADATA', `table property "${name}" is ${ageMs}; an age cannot be negative`)
}

function refuseWithoutGc(metadata: TableMetadata): void {
  if (propertyBool(metadata, 'gc.enabled', true)) return
  throw new IcebergError(
    'GC_DISABLED',
    'Snapshots cannot expire: the table has gc.enabled=false, so its files may belong to other tables too',
  )
}

function keptRefs(
  metadata: TableMetadata,
  snapshots: ReadonlyMap<bigint, Snapshot>,
  nowMs: number,
): ReadonlyMap<string, SnapshotRef> {
  const defaultMaxAgeMs = propertyAge(metadata, 'history.expire.max-ref-age-ms', FOREVER_MS)
  const kept = new Map<string, SnapshotRef>()
  for (const [name, ref] of Object.entries(metadata.refs)) {
    const snapshot = snapshots.get(ref.snapshotId)
    const isYoung = snapshot !== undefined && nowMs - snapshot.timestampMs <= (ref.maxRefAgeMs ?? defaultMaxAgeMs)
    if (name === mainBranch || isYoung) kept.set(name, ref)
  }
  return kept
}

function requireExpirable(
  ids: readonly bigint[],
  snapshots: ReadonlyMap<bigint, Snapshot>,
  refs: ReadonlyMap<string, SnapshotRef>,
): ReadonlySet<bigint> {
  for (const id of ids) {
    if (!snapshots.has(id)) throw new IcebergError('NO_SUCH_SNAPSHOT', `The table has no snapshot ${id}`)
    const names = [...refs].filter(([, ref]) => ref.snapshotId === id).map(([name]) => name)
    if (names.length === 0) continue
    throw new IcebergError('INVALID_ARGUMENT', `Cannot expire ${id}. Still referenced by refs: [${names.join(', ')}]`)
  }
  return new Set(ids)
}

function retainedBy(
  ref: SnapshotRef,
  snapshots: ReadonlyMap<bigint, Snapshot>,
  { nowMs, olderThanMs, minSnapshots }: Retention,
): ReadonlySet<bigint> {
  const retained = new Set([ref.snapshotId])
  if (ref.type === 'tag') return retained
  const keepFromMs = ref.maxSnapshotAgeMs === undefined ? olderThanMs : nowMs - ref.maxSnapshotAgeMs
  const keepAtLeast = ref.minSnapshotsToKeep ?? minSnapshots
  let kept = 0
  for (const ancestor of ancestorsIn(snapshots, ref.snapshotId)) {
    if (kept >= keepAtLeast && ancestor.timestampMs < keepFromMs) return retained
    retained.add(ancestor.snapshotId)
    kept += 1
  }
  return retained
}

/** Snapshots in the history of a ref, whether or not the ref retains them. */
function reachableFrom(
  refs: ReadonlyMap<string, SnapshotRef>,
  snapshots: ReadonlyMap<bigint, Snapshot>,
): ReadonlySet<bigint> {
  const reachable = new Set<bigint>()
  for (const ref of refs.values()) {
    if (ref.type === 'tag') {
      reachable.add(ref.snapshotId)
      continue
    }
    for (const { snapshotId } of ancestorsIn(snapshots, ref.snapshotId)) reachable.add(snapshotId)
  }
  return reachable
}

function toPlan(
  metadata: TableMetadata,
  request: ExpiryRequest,
  { kept, expired, refs, removedRefs, used }: Choice & { readonly used?: UsedMetadata | undefined },
): ExpiryPlan {
  const unused =
    request.cleanExpiredMetadata === true ? unusedMetadata(metadata, kept, used) : { schemaIds: [], specIds: [] }
  const expiredSnapshotIds = expired.map((snapshot) => snapshot.snapshotId)
  const updates: TableUpdate[] = [
    ...removedRefs.map((name) => ({ action: 'remove-snapshot-ref', 'ref-name': name }) as const),
    ...statisticsUpdates(metadata, new Set(expiredSnapshotIds)),
  ]
  if (expired.length > 0) updates.push({ action: 'remove-snapshots', 'snapshot-ids': expiredSnapshotIds })
  if (unused.specIds.length > 0) updates.push({ action: 'remove-partition-specs', 'spec-ids': unused.specIds })
  if (unused.schemaIds.length > 0) updates.push({ action: 'remove-schemas', 'schema-ids': unused.schemaIds })
  return {
    updates,
    requirements: requirementsFor(metadata, refs),
    expiredSnapshotIds,
    removedRefs,
    removedSchemaIds: unused.schemaIds,
    removedSpecIds: unused.specIds,
  }
}

function statisticsUpdates(metadata: TableMetadata, expired: ReadonlySet<bigint>): readonly TableUpdate[] {
  const idsIn = (files: TableMetadata['statistics']): readonly bigint[] => [
    ...new Set(files.map((file) => file.snapshotId).filter((id) => expired.has(id))),
  ]
  return [
    ...idsIn(metadata.statistics).map((id) => ({ action: 'remove-statistics', 'snapshot-id': id }) as const),
    ...idsIn(metadata.partitionStatistics).map(
      (id) => ({ action: 'remove-partition-statistics', 'snapshot-id': id }) as const,
    ),
  ]
}

/** No ref may have moved, because that changes what is kept, and the current snapshot must be the same. */
function requirementsFor(metadata: TableMetadata, refs: ReadonlyMap<string, SnapshotRef>): readonly TableRequirement[] {
  const requirements: TableRequirement[] = []
  if (metadata.tableUuid !== '') requirements.push({ type: 'assert-table-uuid', uuid: metadata.tableUuid })
  for (const [ref, { snapshotId }] of refs) {
    requirements.push({ type: 'assert-ref-snapshot-id', ref, 'snapshot-id': snapshotId })
  }
  requirements.push({ type: 'assert-current-schema-id', 'current-schema-id': metadata.currentSchemaId })
  requirements.push({ type: 'assert-default-spec-id', 'default-spec-id': metadata.defaultSpecId })
  return requirements
}
