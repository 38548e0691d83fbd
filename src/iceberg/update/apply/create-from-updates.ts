import { IcebergError } from '../../errors.ts'
import type { JsonObject } from '../../json/lossless-json.ts'
import { withoutTrailingSlash } from '../../metadata/builder.ts'
import type { TableMetadata } from '../../metadata/metadata.ts'
import { checkReadableByJava } from '../../metadata/readable-by-java.ts'
import { partitionIdBase } from '../../partitioning/partitioning.ts'
import type { TableUpdate } from '../table-update.ts'
import { addSortOrder, checkLayout, NO_SCHEMA, NO_SPEC } from './apply-layout-updates.ts'
import { applyStep, closeDraft } from './apply-updates.ts'
import { mergeUpdates } from './merge-updates.ts'
import { draftInt, draftList, draftOf, viewDraft } from './metadata-draft.ts'
import type { MetadataDraft } from './metadata-draft.ts'

const DEFAULT_FORMAT_VERSION = 2

/** Whether a change creates its table (requirement `assert-create`). */
export function isCreation(requirements: readonly { readonly type: string }[]): boolean {
  return requirements.some(({ type }) => type === 'assert-create')
}

/**
 * The first metadata of a table that a client describes by updates, as it does at the end of a staged creation (Iceberg
 * REST spec, `stage-create`): field ids stay those of the client, whose files may already use them.
 * `INVALID_ARGUMENT` when the updates lack a schema, a partition spec or a location, or do not fit together.
 */
export function createFromUpdates(updates: readonly TableUpdate[], nowMs: number): TableMetadata {
  const draft = draftOf(emptyDocument(updates), { nowMs, lastUpdatedMs: nowMs })
  for (const update of mergeUpdates(updates)) {
    if (update.action === 'assign-uuid' && draft.json['table-uuid'] === undefined) {
      draft.json['table-uuid'] = update.uuid
    }
    applyStep(draft, update)
  }
  draft.json['table-uuid'] ??= crypto.randomUUID()
  requireComplete(draft)
  checkLayout(draft)
  if (draftList(draft, 'sort-orders').length === 0) addSortOrder(draft, { 'order-id': 0, fields: [] })
  closeDraft(draft, nowMs)
  const created = viewDraft(draft)
  checkReadableByJava(created)
  return created
}

function emptyDocument(updates: readonly TableUpdate[]): JsonObject {
  const upgrade = updates.find((update) => update.action === 'upgrade-format-version')
  const version = upgrade?.['format-version'] ?? DEFAULT_FORMAT_VERSION
  if (version < 1 || version > 3) {
    throw new IcebergError('UNSUPPORTED', `format version ${version} is not supported, only 1 to 3 are`)
  }
  return {
    'format-version': version,
    location: '',
    ...(version >= 2 ? { 'last-sequence-number': 0 } : {}),
    'last-column-id': 0,
    'current-schema-id': NO_SCHEMA,
    schemas: [],
    'default-spec-id': NO_SPEC,
    'partition-specs': [],
    'last-partition-id': partitionIdBase,
    'default-sort-order-id': 0,
    'sort-orders': [],
    properties: {},
    'current-snapshot-id': version >= 3 ? null : -1,
    ...(version >= 3 ? { 'next-row-id': 0 } : {}),
    refs: {},
    snapshots: [],
    statistics: [],
    'partition-statistics': [],
    'snapshot-log': [],
    'metadata-log': [],
  }
}

function requireComplete(draft: MetadataDraft): void {
  const { location } = draft.json
  const missing = [
    ...(draftInt(draft, 'current-schema-id') === NO_SCHEMA ? ['a current schema'] : []),
    ...(draftInt(draft, 'default-spec-id') === NO_SPEC ? ['a default partition spec'] : []),
    ...(location === '' ? ['a location'] : []),
  ]
  if (missing.length > 0) {
    throw new IcebergError('INVALID_ARGUMENT', `the updates that create a table lack ${missing.join(' and ')}`)
  }
  if (typeof location === 'string') draft.json['location'] = withoutTrailingSlash(location)
}
