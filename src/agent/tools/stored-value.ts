import type { StoredJson } from '../../storage/json-column.ts'

/** What a value is as JSON: without members that are undefined. */
export function toStoredJson(value: unknown): StoredJson {
  const json: StoredJson = JSON.parse(JSON.stringify(value ?? null))
  return json
}
