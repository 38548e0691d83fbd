import { IcebergError } from '../../errors.ts'
import { isJsonObject, jsonEquals, jsonInteger, normalizeJson, toLong } from '../../json/json-fields.ts'
import type { JsonObject } from '../../json/lossless-json.ts'
import { mainBranch, parseSnapshot, parseSnapshotRef } from '../../metadata/snapshots.ts'
import type { Snapshot, SnapshotRef } from '../../metadata/snapshots.ts'
import { clearCurrentSnapshot, draftList, draftObject, draftVersion } from './metadata-draft.ts'
import { refuseUpdate, setDraftKey, setDraftList } from './metadata-draft.ts'
import type { ListKey, MetadataDraft } from './metadata-draft.ts'

const refKeys: ReadonlySet<string> = new Set([
  'snapshot-id',
  'type',
  'min-snapshots-to-keep',
  'max-snapshot-age-ms',
  'max-ref-age-ms',
])

/** Maximum clock difference of writers, ms; the reference implementation does not load tables beyond it. */
const allowedClockSkewMs = 60_000

/**
 * `add-snapshot`. `COMMIT_CONFLICT` when an earlier commit took the sequence number or row ids,
 * `INVALID_ARGUMENT` when the snapshot violates the spec.
 */
export function addSnapshot(draft: MetadataDraft, update: JsonObject): void {
  const json = normalizeJson(update)
  const snapshot = parseSnapshot(json, 'snapshot to add')
  const formatVersion = draftVersion(draft)
  const snapshots = draftList(draft, 'snapshots')
  if (snapshots.some((entry) => snapshotIdOf(entry) === snapshot.snapshotId)) {
    throw refuseUpdate(`snapshot ${snapshot.snapshotId} already exists`)
  }
  checkNewSnapshot(draft, snapshot, formatVersion)
  if (formatVersion >= 2) advanceSequenceNumber(draft, snapshot)
  if (formatVersion >= 3) advanceNextRowId(draft, snapshot)
  setDraftList(draft, 'snapshots', [...snapshots, isJsonObject(json) ? json : {}])
  draft.addedSnapshotIds.add(snapshot.snapshotId)
  draft.lastUpdatedMs = Math.max(draft.lastUpdatedMs, snapshot.timestampMs)
}

function checkNewSnapshot(draft: MetadataDraft, snapshot: Snapshot, formatVersion: number): void {
  const name = `snapshot ${snapshot.snapshotId}`
  if (snapshot.manifestList === undefined) throw refuseUpdate(`${name} has no manifest list`)
  if (formatVersion === 1 && snapshot.sequenceNumber !== 0) {
    throw refuseUpdate(`${name} has a sequence number, which version 1 tables do not have`)
  }
  if (formatVersion >= 2 && snapshot.summary['operation'] === undefined) {
    throw refuseUpdate(`${name} has no operation in its summary`)
  }
  if (snapshot.schemaId !== undefined) {
    const known = draftList(draft, 'schemas').some((schema) => schema['schema-id'] === snapshot.schemaId)
    if (!known) throw refuseUpdate(`${name} names schema ${snapshot.schemaId}, which does not exist`)
  }
  const lastMs = draftList(draft, 'snapshot-log').at(-1)?.['timestamp-ms']
  if (typeof lastMs === 'number' && snapshot.timestampMs < lastMs - allowedClockSkewMs) {
    throw refuseUpdate(
      `${name} is from ${snapshot.timestampMs}, more than a minute before the previous one at ${lastMs}: check the clock`,
    )
  }
}

/** A snapshot without a parent replaces the whole table, so it may be as old as any other (as in the reference implementation). */
function advanceSequenceNumber(draft: MetadataDraft, snapshot: Snapshot): void {
  const last = Number(draft.json['last-sequence-number'] ?? 0)
  if (snapshot.sequenceNumber <= last) {
    if (snapshot.parentSnapshotId === undefined) return
    throw conflict(
      `snapshot ${snapshot.snapshotId} has sequence number ${snapshot.sequenceNumber}, but the table is at ${last}`,
    )
  }
  setDraftKey(draft, 'last-sequence-number', snapshot.sequenceNumber)
}

function advanceNextRowId(draft: MetadataDraft, snapshot: Snapshot): void {
  const nextRowId = Number(draft.json['next-row-id'] ?? 0)
  const { firstRowId, addedRows } = snapshot
  if (firstRowId === undefined) throw refuseUpdate(`snapshot ${snapshot.snapshotId} lacks "first-row-id"`)
  if (addedRows === undefined) throw refuseUpdate(`snapshot ${snapshot.snapshotId} lacks "added-rows"`)
  if (firstRowId < nextRowId) {
    throw conflict(
      `snapshot ${snapshot.snapshotId} assigns row ids from ${firstRowId}, but the table is at ${nextRowId}`,
    )
  }
  const next = firstRowId + addedRows
  if (!Number.isSafeInteger(next)) throw refuseUpdate(`snapshot ${snapshot.snapshotId} assigns row ids up to ${next}`)
  setDraftKey(draft, 'next-row-id', next)
}

/** `set-snapshot-ref`: moves or creates a branch or tag; moving `main` changes the current snapshot and the history. */
export function setSnapshotRef(draft: MetadataDraft, name: string, update: JsonObject): void {
  const ref = parseSnapshotRef(update, `reference "${name}"`)
  checkRef(name, ref)
  const snapshot = draftList(draft, 'snapshots').find((entry) => snapshotIdOf(entry) === ref.snapshotId)
  if (snapshot === undefined)
    throw refuseUpdate(`"${name}" cannot point to snapshot ${ref.snapshotId}, which does not exist`)
  const refs = draftObject(draft, 'refs')
  const before = Object.hasOwn(refs, name) ? refs[name] : undefined
  const kept = isJsonObject(before) ? Object.entries(before).filter(([key]) => !refKeys.has(key)) : []
  const given = Object.entries(update).filter(([key, value]) => refKeys.has(key) && value !== null)
  const entry = Object.fromEntries([...kept, ...given.map(([key, value]) => [key, normalizeJson(value)] as const)])
  if (jsonEquals(before, entry)) return
  setDraftKey(draft, 'refs', Object.fromEntries([...Object.entries(refs), [name, entry]]))
  if (name === mainBranch) moveMain(draft, ref.snapshotId, parseSnapshot(snapshot))
}

function checkRef(name: string, ref: SnapshotRef): void {
  const { minSnapshotsToKeep, maxSnapshotAgeMs, maxRefAgeMs } = ref
  if (name === '') throw refuseUpdate('a branch or tag needs a name')
  if (name === mainBranch && ref.type !== 'branch') throw refuseUpdate('"main" must be a branch')
  if (ref.type === 'tag' && (minSnapshotsToKeep !== undefined || maxSnapshotAgeMs !== undefined)) {
    throw refuseUpdate(`tag "${name}" cannot have the snapshot retention of a branch`)
  }
  for (const limit of [minSnapshotsToKeep, maxSnapshotAgeMs, maxRefAgeMs]) {
    if (limit !== undefined && limit <= 0) throw refuseUpdate(`retention of "${name}" must be above 0, found ${limit}`)
  }
}

function moveMain(draft: MetadataDraft, snapshotId: bigint, snapshot: Snapshot): void {
  if (toLong(draft.json['current-snapshot-id']) === snapshotId) return
  setDraftKey(draft, 'current-snapshot-id', jsonInteger(snapshotId))
  const log = draftList(draft, 'snapshot-log')
  const added = draft.addedSnapshotIds.has(snapshotId)
  const timestampMs = added ? snapshot.timestampMs : Math.max(draft.nowMs, draft.lastUpdatedMs)
  draft.lastUpdatedMs = Math.max(draft.lastUpdatedMs, timestampMs)
  setDraftList(draft, 'snapshot-log', [...log, { 'timestamp-ms': timestampMs, 'snapshot-id': jsonInteger(snapshotId) }])
}

/** `remove-snapshot-ref`; without `main` the table has no current snapshot. Missing references are ignored. */
export function removeSnapshotRefs(draft: MetadataDraft, names: ReadonlySet<string>): void {
  const before = Object.entries(draftObject(draft, 'refs'))
  const after = before.filter(([name]) => !names.has(name))
  if (after.length === before.length) return
  setDraftKey(draft, 'refs', Object.fromEntries(after))
  if (before.some(([name]) => name === mainBranch) && names.has(mainBranch)) clearCurrentSnapshot(draft)
}

/**
 * `remove-snapshots`: also removes their statistics; `COMMIT_CONFLICT` while a branch or tag points to one (remove it
 * in the same change). Ids that do not exist are ignored.
 */
export function removeSnapshots(draft: MetadataDraft, removed: ReadonlySet<bigint>): void {
  const snapshots = draftList(draft, 'snapshots')
  const kept = snapshots.filter((entry) => !removed.has(snapshotIdOf(entry)))
  if (kept.length === snapshots.length) return
  setDraftList(draft, 'snapshots', kept)
  draft.removedSnapshots = true
  for (const key of ['statistics', 'partition-statistics'] as const) removeStatistics(draft, key, removed)
  refuseReferenced(draft, removed)
}

/** A branch or tag that was created after the plan keeps its snapshot: the removal has to be planned again. */
function refuseReferenced(draft: MetadataDraft, removed: ReadonlySet<bigint>): void {
  for (const [name, ref] of Object.entries(draftObject(draft, 'refs'))) {
    if (!isJsonObject(ref) || !removed.has(snapshotIdOf(ref))) continue
    throw new IcebergError('COMMIT_CONFLICT', `Snapshot ${snapshotIdOf(ref)} cannot be removed: ${name} points to it`)
  }
}

/** Records a statistics file of a snapshot, in the place of an earlier one. */
export function setStatistics(draft: MetadataDraft, key: ListKey, entry: JsonObject): void {
  const json = normalizeJson(entry)
  const id = snapshotIdOf(entry)
  if (!isJsonObject(json)) throw refuseUpdate('a statistics file must be an object')
  if (!draftList(draft, 'snapshots').some((snapshot) => snapshotIdOf(snapshot) === id)) {
    throw refuseUpdate(`there is no snapshot ${id} for a statistics file`)
  }
  const others = draftList(draft, key).filter((one) => snapshotIdOf(one) !== id)
  setDraftList(draft, key, [...others, json])
}

/** Removes the entries of some snapshots from a list of statistics files. */
export function removeStatistics(draft: MetadataDraft, key: ListKey, snapshotIds: ReadonlySet<bigint>): void {
  const entries = draftList(draft, key)
  const kept = entries.filter((entry) => !snapshotIds.has(snapshotIdOf(entry)))
  if (kept.length < entries.length) setDraftList(draft, key, kept)
}

/**
 * Keeps the history correct: entries before one whose snapshot was removed are removed too, and a snapshot that was added
 * and replaced within one change is left out, because no reader saw it as current.
 */
export function tidySnapshotLog(draft: MetadataDraft): void {
  const current = toLong(draft.json['current-snapshot-id'])
  const log = draftList(draft, 'snapshot-log')
  const intermediate = log.some((entry) => isIntermediate(draft, entry, current))
  if (!draft.removedSnapshots && !intermediate) return
  const ids = new Set(draftList(draft, 'snapshots').map(snapshotIdOf))
  let kept: JsonObject[] = []
  for (const entry of log) {
    if (!ids.has(snapshotIdOf(entry))) kept = []
    else if (!isIntermediate(draft, entry, current)) kept.push(entry)
  }
  setDraftList(draft, 'snapshot-log', kept)
}

function isIntermediate(draft: MetadataDraft, entry: JsonObject, current: bigint | undefined): boolean {
  const id = snapshotIdOf(entry)
  return id !== current && draft.addedSnapshotIds.has(id)
}

/** Raises the format version and converts the document to its form. Never lowers it. */
export function upgradeFormatVersion(draft: MetadataDraft, target: number): void {
  const from = draftVersion(draft)
  if (target === from) return
  if (target < from) throw refuseUpdate(`format version ${from} cannot be lowered to ${target}`)
  if (target > 3) throw new IcebergError('UNSUPPORTED', `format version ${target} is not supported, only 1 to 3 are`)
  if (from === 1) upgradeFromV1(draft)
  if (target === 3) setDraftKey(draft, 'next-row-id', 0)
  setDraftKey(draft, 'format-version', target)
  // Version 3 uses null for "none".
  if (draft.json['current-snapshot-id'] === -1) clearCurrentSnapshot(draft)
}

function upgradeFromV1(draft: MetadataDraft): void {
  const snapshots = draftList(draft, 'snapshots')
  const inline = snapshots.find((entry) => typeof entry['manifest-list'] !== 'string')
  if (inline) {
    throw refuseUpdate(
      `snapshot ${snapshotIdOf(inline)} lists its manifests inline, which only version 1 allows: expire it first`,
    )
  }
  setDraftKey(draft, 'last-sequence-number', 0)
  setDraftList(
    draft,
    'snapshots',
    snapshots.map((entry) => ({ ...entry, 'sequence-number': 0 })),
  )
  delete draft.json['schema']
  delete draft.json['partition-spec']
}

function snapshotIdOf(entry: JsonObject): bigint {
  return toLong(entry['snapshot-id']) ?? -1n
}

function conflict(problem: string): IcebergError {
  return new IcebergError('COMMIT_CONFLICT', `${problem}: another commit came first`)
}
