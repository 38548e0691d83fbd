import { asObject, invalid, isJsonObject, optionalArray, optionalInt, requireArray } from '../json/json-fields.ts'
import { parseJson, stringifyJson } from '../json/lossless-json.ts'
import type { JsonObject, JsonValue } from '../json/lossless-json.ts'
import { childFields } from './schema.ts'
import type { NestedField } from './types.ts'

/** Table property that holds the name mapping. */
export const nameMappingProperty = 'schema.name-mapping.default'

const where = `table property "${nameMappingProperty}"`

/** Names that a column may have in data files without field ids (Iceberg spec, "Column Projection", Appendix C). */
export interface MappedField {
  /** Undefined: the names do not belong to any column. */
  readonly fieldId?: number
  readonly names: readonly string[]
  /** Nested fields: fields of a struct, `element` of a list, `key` and `value` of a map. */
  readonly fields: readonly MappedField[]
}

export type NameMapping = readonly MappedField[]

/** A column that a schema change added or renamed. */
export type NameMappingChange =
  | { readonly kind: 'add'; readonly field: NestedField; readonly parentId?: number }
  | { readonly kind: 'rename'; readonly fieldId: number; readonly newName: string }

/** Reads a name mapping from the text of its table property; `INVALID_METADATA` when it is broken. */
export function parseNameMapping(text: string): NameMapping {
  return readLevel(mappingJson(text), where)
}

function mappingJson(text: string): readonly JsonValue[] {
  let json: JsonValue
  try {
    json = parseJson(text)
  } catch (cause) {
    throw invalid(where, `is not valid JSON: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  if (!Array.isArray(json)) throw invalid(where, 'must be an array of mapped fields')
  return json
}

function readLevel(entries: readonly JsonValue[], place: string): readonly MappedField[] {
  const taken = new Set<string>()
  return entries.map((entry, index) => {
    const field = readField(asObject(entry, `${place}[${index}]`), `${place}[${index}]`)
    for (const name of field.names) {
      if (taken.has(name)) throw invalid(place, `the name "${name}" is mapped twice`)
      taken.add(name)
    }
    return field
  })
}

function readField(entry: JsonObject, place: string): MappedField {
  const fieldId = optionalInt(entry, 'field-id', place)
  return {
    ...(fieldId === undefined ? {} : { fieldId }),
    names: requireArray(entry, 'names', place).map((name) => {
      if (typeof name !== 'string') throw invalid(place, 'key "names" must be an array of strings')
      return name
    }),
    fields: readLevel(optionalArray(entry, 'fields', place) ?? [], `${place}.fields`),
  }
}

/** Writes a name mapping in its JSON form. */
export function nameMappingToJson(mapping: NameMapping): JsonObject[] {
  return mapping.map((field) => ({
    ...(field.fieldId === undefined ? {} : { 'field-id': field.fieldId }),
    names: [...field.names],
    ...(field.fields.length === 0 ? {} : { fields: nameMappingToJson(field.fields) }),
  }))
}

/**
 * The text of the property after a schema change. A name that the mapping already assigns to another column, even a
 * dropped one, stays there: otherwise the new column would show that column's data in old files. The reference
 * implementation reassigns the name; this code does not, so that rows never change their meaning.
 */
export function updateNameMapping(text: string, change: NameMappingChange): string {
  const entries = mappingJson(text)
  readLevel(entries, where)
  const updated =
    change.kind === 'add'
      ? editLevelOf(entries, change.parentId, (level) => withAdded(level, change.field))
      : renameIn(entries, change)
  return stringifyJson([...updated])
}

/** Applies `edit` to the fields inside the column with `parentId`, or to the top level. */
function editLevelOf(
  entries: readonly JsonValue[],
  parentId: number | undefined,
  edit: (level: readonly JsonValue[]) => readonly JsonValue[],
): readonly JsonValue[] {
  if (parentId === undefined) return edit(entries)
  return entries.map((entry) => {
    if (!isJsonObject(entry)) return entry
    if (entry['field-id'] === parentId) return { ...entry, fields: [...edit(innerFields(entry))] }
    if (!Array.isArray(entry['fields'])) return entry
    return { ...entry, fields: [...editLevelOf(entry['fields'], parentId, edit)] }
  })
}

function withAdded(level: readonly JsonValue[], field: NestedField): readonly JsonValue[] {
  if (isTaken(level, field.name)) return level
  return [...level, ...nameMappingToJson([mappedField(field)])]
}

function mappedField(field: NestedField): MappedField {
  return { fieldId: field.id, names: [field.name], fields: childFields(field.type).map(mappedField) }
}

function renameIn(
  level: readonly JsonValue[],
  change: { readonly fieldId: number; readonly newName: string },
): readonly JsonValue[] {
  return level.map((entry) => {
    if (!isJsonObject(entry)) return entry
    if (entry['field-id'] === change.fieldId) {
      if (isTaken(level, change.newName)) return entry
      return { ...entry, names: [...(Array.isArray(entry['names']) ? entry['names'] : []), change.newName] }
    }
    if (!Array.isArray(entry['fields'])) return entry
    return { ...entry, fields: [...renameIn(entry['fields'], change)] }
  })
}

function isTaken(level: readonly JsonValue[], name: string): boolean {
  return level.some((entry) => isJsonObject(entry) && Array.isArray(entry['names']) && entry['names'].includes(name))
}

function innerFields(entry: JsonObject): readonly JsonValue[] {
  return Array.isArray(entry['fields']) ? entry['fields'] : []
}
