import { IcebergError } from '../errors.ts'
import { invalid, isJsonObject, requireArray, requireBoolean, requireInt, requireString } from '../json/json-fields.ts'
import { asObject, has, optionalString } from '../json/json-fields.ts'
import type { JsonObject, JsonValue } from '../json/lossless-json.ts'
import { formatType, maxTypeDepth, parsePrimitiveType } from './type-names.ts'
import { isNested } from './types.ts'
import type { NestedField, PrimitiveType, Type } from './types.ts'

export { formatType } from './type-names.ts'
export { parseTypeText } from './type-text.ts'

/** Reads a type from its JSON form (Iceberg spec, Appendix C); `INVALID_METADATA` when it is not a type. */
export function parseType(json: JsonValue, where = 'type', depth = 0): Type {
  if (depth > maxTypeDepth) throw invalid(where, `types are nested deeper than ${maxTypeDepth} levels`)
  if (typeof json === 'string') {
    const type = parsePrimitiveType(json)
    if (type === undefined) throw invalid(where, `unknown type "${json.slice(0, 100)}"`)
    return type
  }
  if (!isJsonObject(json)) throw invalid(where, 'a type must be a string or an object')
  const kind = requireString(json, 'type', where)
  switch (kind) {
    case 'struct':
      return { kind: 'struct', fields: parseFields(json, where, depth) }
    case 'list':
      return {
        kind: 'list',
        elementId: requireInt(json, 'element-id', where),
        element: parseType(json['element'] ?? null, `${where}.element`, depth + 1),
        elementRequired: requireBoolean(json, 'element-required', where),
      }
    case 'map':
      return {
        kind: 'map',
        keyId: requireInt(json, 'key-id', where),
        key: parseType(json['key'] ?? null, `${where}.key`, depth + 1),
        valueId: requireInt(json, 'value-id', where),
        value: parseType(json['value'] ?? null, `${where}.value`, depth + 1),
        valueRequired: requireBoolean(json, 'value-required', where),
      }
    default:
      throw invalid(where, `unknown nested type "${kind.slice(0, 100)}"`)
  }
}

/** Reads the `fields` of a struct or schema; names must be unique within it. */
export function parseFields(json: JsonObject, where: string, depth = 0): readonly NestedField[] {
  const names = new Set<string>()
  return requireArray(json, 'fields', where).map((entry, index) => {
    const field = parseField(asObject(entry, `${where}.fields[${index}]`), `${where}.fields[${index}]`, depth)
    if (names.has(field.name)) throw invalid(where, `two fields are named "${field.name}"`)
    names.add(field.name)
    return field
  })
}

function parseField(json: JsonObject, where: string, depth: number): NestedField {
  const name = requireString(json, 'name', where)
  const doc = optionalString(json, 'doc', where)
  return {
    id: requireInt(json, 'id', where),
    name,
    required: requireBoolean(json, 'required', where),
    type: parseType(json['type'] ?? null, `${where} ("${name}")`, depth + 1),
    ...(doc === undefined ? {} : { doc }),
    ...(has(json, 'initial-default') ? { initialDefault: json['initial-default'] } : {}),
    ...(has(json, 'write-default') ? { writeDefault: json['write-default'] } : {}),
  }
}

/** Writes a type in its JSON form (Iceberg spec, Appendix C). */
export function typeToJson(type: Type): JsonValue {
  switch (type.kind) {
    case 'struct':
      return { type: 'struct', fields: type.fields.map(fieldToJson) }
    case 'list':
      return {
        type: 'list',
        'element-id': type.elementId,
        element: typeToJson(type.element),
        'element-required': type.elementRequired,
      }
    case 'map':
      return {
        type: 'map',
        'key-id': type.keyId,
        key: typeToJson(type.key),
        'value-id': type.valueId,
        value: typeToJson(type.value),
        'value-required': type.valueRequired,
      }
    case 'decimal':
      return `decimal(${type.precision}, ${type.scale})`
    default:
      return formatType(type)
  }
}

/** Writes a field in its JSON form (Iceberg spec, Appendix C). */
export function fieldToJson(field: NestedField): JsonObject {
  return {
    id: field.id,
    name: field.name,
    required: field.required,
    type: typeToJson(field.type),
    ...(field.doc === undefined ? {} : { doc: field.doc }),
    ...(field.initialDefault === undefined ? {} : { 'initial-default': field.initialDefault as JsonValue }),
    ...(field.writeDefault === undefined ? {} : { 'write-default': field.writeDefault as JsonValue }),
  }
}

/**
 * Whether a column may change its type from `from` to `to` without rewriting files
 * (Iceberg spec, "Schema Evolution"). True for equal types; nested types never change.
 */
export function canPromote(from: Type, to: Type, formatVersion: number): boolean {
  if (isNested(from) || isNested(to)) return formatVersion >= 3 && from.kind === 'unknown'
  if (formatType(from) === formatType(to)) return true
  switch (from.kind) {
    case 'int':
      return to.kind === 'long'
    case 'float':
      return to.kind === 'double'
    case 'decimal':
      return to.kind === 'decimal' && to.scale === from.scale && to.precision > from.precision
    case 'date':
      return formatVersion >= 3 && (to.kind === 'timestamp' || to.kind === 'timestamp_ns')
    case 'unknown':
      return formatVersion >= 3
    default:
      return false
  }
}

/** The lowest format version that has a type (Iceberg spec, "Primitive Types"). */
export function minFormatVersion(type: Type): 1 | 3 {
  switch (type.kind) {
    case 'timestamp_ns':
    case 'timestamptz_ns':
    case 'unknown':
    case 'variant':
    case 'geometry':
    case 'geography':
      return 3
    case 'struct':
      return type.fields.some((field) => minFormatVersion(field.type) === 3) ? 3 : 1
    case 'list':
      return minFormatVersion(type.element)
    case 'map':
      return minFormatVersion(type.key) === 3 ? 3 : minFormatVersion(type.value)
    default:
      return 1
  }
}

/** Asserts that a type is primitive; `INVALID_ARGUMENT` naming it otherwise. */
export function requirePrimitive(type: Type, what: string): PrimitiveType {
  if (isNested(type)) throw new IcebergError('INVALID_ARGUMENT', `${what} has the nested type ${formatType(type)}`)
  return type
}
