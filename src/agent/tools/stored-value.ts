import type { StoredJson } from '../../storage/json-column.ts'

/** A value as JSON, without undefined members. */
export function toStoredJson(value: unknown): StoredJson {
  const json: StoredJson = JSON.parse(JSON.stringify(value ?? null))
  return json
}
