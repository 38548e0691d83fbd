import { jsonEquals, toLong } from '../../json/json-fields.ts'
import type { JsonObject } from '../../json/lossless-json.ts'
import { parseSnapshot } from '../../metadata/snapshots.ts'
import type { RemovedHistory } from '../table-update.ts'
import { draftList, draftVersion, refuseUpdate, setDraftList } from './metadata-draft.ts'
import type { ListKey, MetadataDraft } from './metadata-draft.ts'

/**
 * `restore-snapshots`: the snapshots come back before the others, with their statistics, schemas and specs; branches, tags
 * and the current snapshot do not change. `INVALID_ARGUMENT` when an entry contradicts what the table has now.
 */
export function restoreSnapshots(draft: MetadataDraft, history: RemovedHistory): void {
  for (const [key, id] of [
    ['schemas', 'schema-id'],
    ['partition-specs', 'spec-id'],
  ] as const) {
    restoreEntries(draft, key, { entries: history[key], id })
  }
  for (const snapshot of history.snapshots) checkRestored(draft, snapshot)
  restoreEntries(draft, 'snapshots', { entries: history.snapshots, id: 'snapshot-id' })
  for (const key of ['statistics', 'partition-statistics'] as const) {
    restoreEntries(draft, key, { entries: history[key], id: 'snapshot-id' })
  }
  restoreLog(draft, history['snapshot-log'])
}

/** A snapshot of this table has a sequence number and row ids that the table has already given out. */
function checkRestored(draft: MetadataDraft, json: JsonObject): void {
  const { snapshotId, sequenceNumber, schemaId, firstRowId, addedRows } = parseSnapshot(json)
  const name = `snapshot ${snapshotId}`
  const last = toLong(draft.json['last-sequence-number']) ?? 0n
  if (BigInt(sequenceNumber) > last) throw refuseUpdate(`${name} is newer than the table`)
  if (schemaId !== undefined && !draftList(draft, 'schemas').some((schema) => schema['schema-id'] === schemaId)) {
    throw refuseUpdate(`${name} names schema ${schemaId}, which does not exist`)
  }
  if (draftVersion(draft) < 3 || firstRowId === undefined) return
  const nextRowId = toLong(draft.json['next-row-id']) ?? 0n
  if (BigInt(firstRowId) + BigInt(addedRows ?? 0) > nextRowId) throw refuseUpdate(`${name} has row ids of later rows`)
}

interface Restored {
  readonly entries: readonly JsonObject[]
  /** The key that identifies an entry. */
  readonly id: string
}

/** Adds the missing entries before the others. */
function restoreEntries(draft: MetadataDraft, key: ListKey, { entries, id }: Restored): void {
  const present = draftList(draft, key)
  const byId = new Map(present.toReversed().map((entry) => [toLong(entry[id]), entry]))
  const missing: JsonObject[] = []
  for (const entry of entries) {
    const same = byId.get(toLong(entry[id]))
    if (same === undefined) missing.push(entry)
    else if (key !== 'snapshots' && !jsonEquals(same, entry)) {
      throw refuseUpdate(`the table has another entry ${toLong(entry[id])} in ${key}`)
    }
  }
  if (missing.length > 0) setDraftList(draft, key, [...missing, ...present])
}

/** The history before what the table still has of it; entries of snapshots that did not come back are left out later. */
function restoreLog(draft: MetadataDraft, entries: readonly JsonObject[]): void {
  const present = draftList(draft, 'snapshot-log')
  const first = present[0]
  const until = first === undefined ? -1 : entries.findIndex((entry) => jsonEquals(entry, first))
  const earlier = until === -1 ? [] : entries.slice(0, until)
  if (earlier.length === 0) return
  setDraftList(draft, 'snapshot-log', [...earlier, ...present])
  draft.removedSnapshots = true
}
