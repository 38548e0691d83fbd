import { isJsonObject, optionalArray, requireObject, toLong } from '../../iceberg/json/json-fields.ts'
import type { JsonObject } from '../../iceberg/json/lossless-json.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { RemovedHistory } from '../../iceberg/update/table-update.ts'

/** What an expiry removed from a table's metadata. */
export interface ExpiredHistory extends RemovedHistory {
  /** Branches and tags by name. */
  readonly refs: JsonObject
}

const IDS = {
  snapshots: 'snapshot-id',
  statistics: 'snapshot-id',
  'partition-statistics': 'snapshot-id',
  schemas: 'schema-id',
  'partition-specs': 'spec-id',
} as const

/** What `before` has and `after` does not; undefined when no snapshot, branch or tag is missing. */
export function expiredHistory(before: TableMetadata, after: TableMetadata): ExpiredHistory | undefined {
  const missing = (key: keyof typeof IDS): readonly JsonObject[] => {
    const kept = new Set(entriesOf(after, key).map((entry) => toLong(entry[IDS[key]])))
    return entriesOf(before, key).filter((entry) => !kept.has(toLong(entry[IDS[key]])))
  }
  const refs = Object.entries(refsOf(before)).filter(([name]) => !Object.hasOwn(after.refs, name))
  const snapshots = missing('snapshots')
  if (snapshots.length + refs.length === 0) return undefined
  return {
    snapshots,
    'snapshot-log': entriesOf(before, 'snapshot-log'),
    statistics: missing('statistics'),
    'partition-statistics': missing('partition-statistics'),
    schemas: missing('schemas'),
    'partition-specs': missing('partition-specs'),
    refs: Object.fromEntries(refs),
  }
}

/** The history as it was stored. `INVALID_METADATA` when it is damaged. */
export function historyFromJson(json: JsonObject): ExpiredHistory {
  const list = (key: keyof RemovedHistory): readonly JsonObject[] =>
    (optionalArray(json, key, WHERE) ?? []).filter(isJsonObject)
  return {
    snapshots: list('snapshots'),
    'snapshot-log': list('snapshot-log'),
    statistics: list('statistics'),
    'partition-statistics': list('partition-statistics'),
    schemas: list('schemas'),
    'partition-specs': list('partition-specs'),
    refs: requireObject(json, 'refs', WHERE),
  }
}

/** The form in which a history is stored. */
export function historyToJson(history: ExpiredHistory): JsonObject {
  return Object.fromEntries(
    Object.entries(history).map(([key, value]) => [key, Array.isArray(value) ? [...value] : value]),
  )
}

const WHERE = 'history of a quarantine entry'

function entriesOf({ json }: TableMetadata, key: keyof RemovedHistory): readonly JsonObject[] {
  const value = json[key]
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

function refsOf({ json }: TableMetadata): JsonObject {
  const refs = json['refs']
  return isJsonObject(refs) ? refs : {}
}
