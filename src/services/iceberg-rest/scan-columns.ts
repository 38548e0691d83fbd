import { isJsonObject } from '../../iceberg/json/json-fields.ts'
import type { JsonObject, JsonValue } from '../../iceberg/json/lossless-json.ts'

/** The columns that a scan read, and those that it filtered by; dotted names. */
export interface ScanColumns {
  readonly columns: readonly string[]
  readonly filterColumns: readonly string[]
}

/** Columns of a scan that are counted, per use. */
const MAX_COLUMNS = 300
const MAX_NAME_LENGTH = 1000
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u

/** Reads the columns of a scan report (Iceberg REST specification, `ScanReport`); names that no column can have are left out. */
export function scanColumns(report: JsonObject): ScanColumns {
  const names = report['projected-field-names']
  return {
    columns: distinctNames(Array.isArray(names) ? names : []),
    filterColumns: distinctNames(terms(report['filter'])),
  }
}

/** The references of a filter expression, without recursion, because clients decide how deep an expression is. */
function terms(filter: JsonValue | undefined): readonly JsonValue[] {
  const found: JsonValue[] = []
  const open = [filter]
  for (let part = open.pop(); part !== undefined || open.length > 0; part = open.pop()) {
    if (!isJsonObject(part)) continue
    const term = part['term']
    const name = isJsonObject(term) ? term['term'] : term // a transform has a term of its own
    if (name !== undefined) found.push(name)
    open.push(part['left'], part['right'], part['child'])
  }
  return found
}

function distinctNames(values: readonly JsonValue[]): readonly string[] {
  const names = values.filter((value) => typeof value === 'string')
  const valid = names.filter((name) => name !== '' && name.length <= MAX_NAME_LENGTH && !UNPRINTABLE.test(name))
  return [...new Set(valid)].slice(0, MAX_COLUMNS)
}
