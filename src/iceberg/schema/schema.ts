import { asObject, intList, invalid, optionalArray, optionalInt, requireString } from '../json/json-fields.ts'
import type { JsonObject, JsonValue } from '../json/lossless-json.ts'
import { fieldToJson, parseFields } from './type-json.ts'
import type { NestedField, Type } from './types.ts'

/** A table schema (Iceberg spec, "Schemas"); field ids are unique over all nesting levels. */
export interface Schema {
  readonly schemaId: number
  readonly fields: readonly NestedField[]
  readonly identifierFieldIds: readonly number[]
}

/** A field at any depth: `path` is its dotted name (`a.b`, `list.element`, `map.key`), `parentId` the enclosing field. */
export interface SchemaEntry {
  readonly field: NestedField
  readonly path: string
  readonly parentId?: number
}

interface SchemaIndex {
  readonly byId: ReadonlyMap<number, SchemaEntry>
  readonly byPath: ReadonlyMap<string, NestedField>
  readonly byShortPath: ReadonlyMap<string, NestedField>
}

const indexes = new WeakMap<Schema, SchemaIndex>()

/** Reads a schema (Iceberg spec, Appendix C); a missing `schema-id` is 0 as in v1. `INVALID_METADATA` when broken. */
export function parseSchema(json: JsonValue, where = 'schema'): Schema {
  const object = asObject(json, where)
  const kind = requireString(object, 'type', where)
  if (kind !== 'struct') throw invalid(where, `key "type" must be "struct", found "${kind.slice(0, 100)}"`)
  const schema: Schema = {
    schemaId: optionalInt(object, 'schema-id', where) ?? 0,
    fields: parseFields(object, where),
    identifierFieldIds: intList(
      optionalArray(object, 'identifier-field-ids', where) ?? [],
      `${where}: "identifier-field-ids"`,
    ),
  }
  const seen = new Set<number>()
  for (const { field, path } of walkFields(schema)) {
    if (seen.has(field.id)) throw invalid(where, `field id ${field.id} is used twice, the second time by "${path}"`)
    seen.add(field.id)
  }
  return schema
}

/** Writes a schema in its JSON form (Iceberg spec, Appendix C). */
export function schemaToJson(schema: Schema): JsonObject {
  return {
    type: 'struct',
    'schema-id': schema.schemaId,
    ...(schema.identifierFieldIds.length === 0 ? {} : { 'identifier-field-ids': [...schema.identifierFieldIds] }),
    fields: schema.fields.map(fieldToJson),
  }
}

/** Every field of a schema, parents before children, list elements and map keys and values included. */
export function* walkFields(schema: { readonly fields: readonly NestedField[] }): Iterable<SchemaEntry> {
  for (const field of schema.fields) yield* walkField({ field, path: field.name })
}

function* walkField(entry: SchemaEntry): Iterable<SchemaEntry> {
  yield entry
  for (const child of childFields(entry.field.type)) {
    yield* walkField({ field: child, path: `${entry.path}.${child.name}`, parentId: entry.field.id })
  }
}

/** The fields directly inside a type; those of lists and maps are `element`, `key` and `value`. */
export function childFields(type: Type): readonly NestedField[] {
  switch (type.kind) {
    case 'struct':
      return type.fields
    case 'list':
      return [{ id: type.elementId, name: 'element', required: type.elementRequired, type: type.element }]
    case 'map':
      return [
        { id: type.keyId, name: 'key', required: true, type: type.key },
        { id: type.valueId, name: 'value', required: type.valueRequired, type: type.value },
      ]
    default:
      return []
  }
}

/** The field with an id at any depth, or undefined. */
export function fieldById(schema: Schema, id: number): NestedField | undefined {
  return indexOf(schema).byId.get(id)?.field
}

/** The dotted name of a field (`a.b`, `list.element`, `map.key`, `map.value`), or undefined. */
export function fieldPath(schema: Schema, id: number): string | undefined {
  return indexOf(schema).byId.get(id)?.path
}

/** A field and the fields that enclose it, outermost first; empty when there is no field with this id. */
export function fieldChain(schema: Schema, id: number): readonly NestedField[] {
  const { byId } = indexOf(schema)
  const chain: NestedField[] = []
  for (let entry = byId.get(id); entry !== undefined;) {
    chain.unshift(entry.field)
    entry = entry.parentId === undefined ? undefined : byId.get(entry.parentId)
  }
  return chain
}

/** The id of the field that encloses a field, or undefined for top-level columns and unknown ids. */
export function parentFieldId(schema: Schema, id: number): number | undefined {
  return indexOf(schema).byId.get(id)?.parentId
}

/**
 * The field with a dotted name, case-sensitive. Full names take precedence; `list.a` and `map.a` mean
 * `list.element.a` and `map.value.a` when nothing else has that name, as in the reference implementation.
 */
export function findField(schema: Schema, dottedName: string): NestedField | undefined {
  const index = indexOf(schema)
  return index.byPath.get(dottedName) ?? index.byShortPath.get(dottedName)
}

/** The highest field id at any depth, 0 for an empty schema. */
export function highestFieldId(schema: { readonly fields: readonly NestedField[] }): number {
  let highest = 0
  for (const { field } of walkFields(schema)) highest = Math.max(highest, field.id)
  return highest
}

function indexOf(schema: Schema): SchemaIndex {
  const known = indexes.get(schema)
  if (known) return known
  const byId = new Map<number, SchemaEntry>()
  const byPath = new Map<string, NestedField>()
  const byShortPath = new Map<string, NestedField>()
  const shortPaths = new Map<number, string>()
  for (const entry of walkFields(schema)) {
    byId.set(entry.field.id, entry)
    if (!byPath.has(entry.path)) byPath.set(entry.path, entry.field)
    const short = shortPath(entry, byId, shortPaths)
    shortPaths.set(entry.field.id, short)
    if (!byShortPath.has(short)) byShortPath.set(short, entry.field)
  }
  const index = { byId, byPath, byShortPath }
  indexes.set(schema, index)
  return index
}

/** The name without `element` and `value` if a struct is inside. */
function shortPath(
  entry: SchemaEntry,
  byId: ReadonlyMap<number, SchemaEntry>,
  shortPaths: ReadonlyMap<number, string>,
): string {
  if (entry.parentId === undefined) return entry.path
  const parentPath = shortPaths.get(entry.parentId) ?? ''
  const parentKind = byId.get(entry.parentId)?.field.type.kind
  const skipped = parentKind === 'list' || (parentKind === 'map' && entry.field.name === 'value')
  return skipped && entry.field.type.kind === 'struct' ? parentPath : `${parentPath}.${entry.field.name}`
}
