import { IcebergError } from '../../errors.ts'
import type { JsonObject } from '../../json/lossless-json.ts'
import type { TableMetadata } from '../../metadata/metadata.ts'
import { checkReadableByJava } from '../../metadata/readable-by-java.ts'
import { addSchema, addSortOrder, addSpec, removePartitionSpecs, removeSchemas } from './apply-layout-updates.ts'
import { checkLayout, setCurrentSchema, setDefaultSortOrder, setDefaultSpec } from './apply-layout-updates.ts'
import { addSnapshot, removeSnapshotRefs, removeSnapshots, removeStatistics } from './apply-snapshot-updates.ts'
import { setStatistics } from './apply-snapshot-updates.ts'
import { restoreSnapshots } from './restore-snapshots.ts'
import { setSnapshotRef, tidySnapshotLog, upgradeFormatVersion } from './apply-snapshot-updates.ts'
import {
  draftList,
  draftObject,
  openDraft,
  refuseUpdate,
  setDraftKey,
  setDraftList,
  viewDraft,
} from './metadata-draft.ts'
import type { MetadataDraft } from './metadata-draft.ts'
import { mergeUpdates, type UpdateStep } from './merge-updates.ts'
import type { TableUpdate } from '../table-update.ts'

const defaultPreviousVersionsMax = 100

/** Updates after which the schema may no longer have what the partition spec and sort order in use need. */
const LAYOUT_ACTIONS: ReadonlySet<string> = new Set<TableUpdate['action']>([
  'set-current-schema',
  'set-default-spec',
  'set-default-sort-order',
])

export interface ApplyContext {
  /** Current time, ms since the epoch. */
  readonly nowMs: number
  /** Location of the base document, recorded in the metadata log of the new one. */
  readonly previousMetadataLocation?: string
}

/**
 * The metadata after a change, built as in the reference implementation. The base is not changed; unknown keys are kept;
 * the result is checked as if it were read from a file. Updates that change nothing return the base itself.
 * `INVALID_ARGUMENT` for an update that is invalid for this table, `COMMIT_CONFLICT` for a snapshot that was built on an
 * older state, `UNSUPPORTED` for an unknown action.
 */
export function applyUpdates(
  base: TableMetadata,
  updates: readonly TableUpdate[],
  context: ApplyContext,
): TableMetadata {
  const draft = openDraft(base, context.nowMs)
  for (const step of mergeUpdates(updates)) applyStep(draft, step)
  if (!draft.changed) return base
  if (updates.some(({ action }) => LAYOUT_ACTIONS.has(action))) checkLayout(draft)
  const next = nextVersion(base, draft, context)
  checkReadableByJava(next, base)
  return next
}

/** The next version of a document with the same content: only its time and the log of metadata files change. */
export function restateMetadata(base: TableMetadata, context: ApplyContext): TableMetadata {
  return nextVersion(base, openDraft(base, context.nowMs), context)
}

function nextVersion(
  base: TableMetadata,
  draft: MetadataDraft,
  { nowMs, previousMetadataLocation }: ApplyContext,
): TableMetadata {
  closeDraft(draft, nowMs)
  if (previousMetadataLocation !== undefined) {
    appendMetadataLog(draft, { 'timestamp-ms': base.lastUpdatedMs, 'metadata-file': previousMetadataLocation })
  }
  return viewDraft(draft)
}

/** What a change does besides its updates: tidies the history, and sets the time. */
export function closeDraft(draft: MetadataDraft, nowMs: number): void {
  tidySnapshotLog(draft)
  draft.json['last-updated-ms'] = Math.max(draft.lastUpdatedMs, nowMs)
}

/** Applies one step of a change to its draft. */
export function applyStep(draft: MetadataDraft, update: UpdateStep): void {
  switch (update.action) {
    case 'assign-uuid':
      return assignUuid(draft, update.uuid)
    case 'upgrade-format-version':
      return upgradeFormatVersion(draft, update['format-version'])
    case 'add-schema':
      return addSchema(draft, update.schema)
    case 'set-current-schema':
      return setCurrentSchema(draft, update['schema-id'])
    case 'remove-schemas':
      return removeSchemas(draft, update['schema-ids'])
    case 'add-spec':
      return addSpec(draft, update.spec)
    case 'set-default-spec':
      return setDefaultSpec(draft, update['spec-id'])
    case 'remove-partition-specs':
      return removePartitionSpecs(draft, update['spec-ids'])
    case 'add-sort-order':
      return addSortOrder(draft, update['sort-order'])
    case 'set-default-sort-order':
      return setDefaultSortOrder(draft, update['sort-order-id'])
    default:
      return applySnapshotUpdate(draft, update)
  }
}

function applySnapshotUpdate(draft: MetadataDraft, update: UpdateStep): void {
  switch (update.action) {
    case 'add-snapshot':
      return addSnapshot(draft, update.snapshot)
    case 'set-snapshot-ref':
      return setSnapshotRef(draft, update['ref-name'], update)
    case 'remove':
      return removeAll(draft, update)
    case 'restore-snapshots':
      return restoreSnapshots(draft, update)
    case 'set-statistics':
      return setStatistics(draft, 'statistics', update.statistics)
    case 'set-partition-statistics':
      return setStatistics(draft, 'partition-statistics', update['partition-statistics'])
    case 'set-location':
      return setLocation(draft, update.location)
    case 'set-properties':
      return setProperties(draft, update.updates)
    case 'remove-properties':
      return removeProperties(draft, update.removals)
    default:
      throw new IcebergError('UNSUPPORTED', `metadata update "${update.action}" is not supported`)
  }
}

/** Branches and tags first: a snapshot that one points to is not removed. */
function removeAll(draft: MetadataDraft, removal: Extract<UpdateStep, { readonly action: 'remove' }>): void {
  removeSnapshotRefs(draft, removal.refs)
  removeStatistics(draft, 'statistics', removal.statistics)
  removeStatistics(draft, 'partition-statistics', removal.partitionStatistics)
  removeSnapshots(draft, removal.snapshots)
}

/** Checked only: a table keeps its uuid. */
function assignUuid(draft: MetadataDraft, uuid: string): void {
  const known = draft.json['table-uuid']
  if (typeof known === 'string' && known.toLowerCase() !== uuid.toLowerCase()) {
    throw refuseUpdate(`the uuid of a table cannot be changed from ${known}`)
  }
}

function setLocation(draft: MetadataDraft, location: string): void {
  if (location === '') throw refuseUpdate('the location must not be empty')
  if (draft.json['location'] !== location) setDraftKey(draft, 'location', location)
}

function setProperties(draft: MetadataDraft, updates: Readonly<Record<string, string>>): void {
  const before = draftObject(draft, 'properties')
  const changes = Object.entries(updates).filter(
    ([name, value]) => !Object.hasOwn(before, name) || before[name] !== value,
  )
  for (const [name, value] of changes) {
    if (typeof value !== 'string') throw refuseUpdate(`property "${name}" must be a string`)
  }
  if (changes.length === 0) return
  setDraftKey(draft, 'properties', Object.fromEntries([...Object.entries(before), ...changes]))
}

function removeProperties(draft: MetadataDraft, removals: readonly string[]): void {
  const names = new Set(removals)
  const before = Object.entries(draftObject(draft, 'properties'))
  const after = before.filter(([name]) => !names.has(name))
  if (after.length < before.length) setDraftKey(draft, 'properties', Object.fromEntries(after))
}

/** Adds the base document to the log and removes the oldest entries beyond `write.metadata.previous-versions-max`. */
function appendMetadataLog(draft: MetadataDraft, entry: JsonObject): void {
  const text = draftObject(draft, 'properties')['write.metadata.previous-versions-max']
  const max =
    typeof text === 'string' && /^\d{1,9}$/.test(text) ? Math.max(1, Number(text)) : defaultPreviousVersionsMax
  setDraftList(draft, 'metadata-log', [...draftList(draft, 'metadata-log'), entry].slice(-max))
}
