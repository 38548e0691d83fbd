import { IcebergError } from '../errors.ts'
import { isJsonObject } from '../json/json-fields.ts'
import { parseJson } from '../json/lossless-json.ts'
import type { JsonObject, JsonValue } from '../json/lossless-json.ts'
import { integerMember } from './avro-schema.ts'
import type { AvroField, AvroPrimitiveKind, AvroSchema } from './avro-schema.ts'

const PRIMITIVES: ReadonlySet<string> = new Set<AvroPrimitiveKind>([
  'null',
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'bytes',
  'string',
])

/** References to named types can expand a small schema into a huge one; real schemas stay far below this limit. */
const MAX_TYPES = 100_000
const MAX_FIXED_SIZE = 1 << 24

/**
 * Parses an Avro schema (`avro.schema` of a container file) with Iceberg's `field-id`, `element-id` and
 * `logicalType: map`. Any name is accepted: identity comes from field ids, and files with illegal names exist.
 * Throws `CORRUPT_FILE` for an invalid schema, and `UNSUPPORTED` for recursive types.
 */
export function parseAvroSchema(text: string | Uint8Array): AvroSchema {
  return new SchemaParser().parse(parseJson(text), '')
}

class SchemaParser {
  readonly #named = new Map<string, AvroSchema | 'open'>()
  #types = 0

  parse(json: JsonValue, namespace: string): AvroSchema {
    if (++this.#types > MAX_TYPES) throw broken('it has too many types')
    if (typeof json === 'string') return this.#reference(json, namespace)
    if (Array.isArray(json)) return this.#union(json, namespace)
    if (!isJsonObject(json)) throw broken(`a type is ${json === null ? 'null' : typeof json}`)
    return this.#definition(json, namespace)
  }

  #reference(name: string, namespace: string): AvroSchema {
    if (isPrimitive(name)) return { kind: name }
    const found = this.#named.get(fullName(name, namespace)) ?? this.#named.get(name)
    if (found === undefined) throw broken(`type "${name}" is not defined`)
    if (found === 'open') throw new IcebergError('UNSUPPORTED', `Avro type "${name}" contains itself.`)
    this.#types += countTypes(found)
    return found
  }

  #union(branches: readonly JsonValue[], namespace: string): AvroSchema {
    return { kind: 'union', branches: branches.map((branch) => this.parse(branch, namespace)) }
  }

  #definition(json: JsonObject, namespace: string): AvroSchema {
    const type = json['type']
    switch (type) {
      case 'record':
      case 'error':
      case 'enum':
      case 'fixed':
        return this.#namedType(json, namespace)
      case 'array': {
        const elementId = integerMember(json['element-id'])
        const items = this.parse(member(json, 'items'), namespace)
        const isMap = json['logicalType'] === 'map'
        return { kind: 'array', items, isMap, ...(elementId !== undefined && { elementId }) }
      }
      case 'map':
        return { kind: 'map', values: this.parse(member(json, 'values'), namespace) }
      default:
        return withLogicalType(this.parse(member(json, 'type'), namespace), json)
    }
  }

  #namedType(json: JsonObject, namespace: string): AvroSchema {
    const given = typeof json['name'] === 'string' ? json['name'] : ''
    const own = typeof json['namespace'] === 'string' ? json['namespace'] : namespace
    const name = fullName(given, own)
    this.#named.set(name, 'open')
    const schema = this.#namedBody(json, { name, namespace: name.slice(0, Math.max(name.lastIndexOf('.'), 0)) })
    this.#named.set(name, schema)
    return schema
  }

  #namedBody(json: JsonObject, { name, namespace }: { name: string; namespace: string }): AvroSchema {
    if (json['type'] === 'enum') return { kind: 'enum', symbols: stringArray(json['symbols']) }
    if (json['type'] !== 'fixed') return { kind: 'record', name, fields: this.#fields(json['fields'], namespace) }
    const size = integerMember(json['size'])
    if (size === undefined || size < 0 || size > MAX_FIXED_SIZE) throw broken(`fixed type "${name}" has no valid size`)
    return withLogicalType({ kind: 'fixed', size }, json)
  }

  #fields(json: JsonValue | undefined, namespace: string): AvroField[] {
    if (!Array.isArray(json)) throw broken('a record has no fields')
    return json.map((field) => {
      if (!isJsonObject(field)) throw broken('a field is not an object')
      const fieldId = integerMember(field['field-id'])
      const name = typeof field['name'] === 'string' ? field['name'] : ''
      const schema = this.parse(member(field, 'type'), namespace)
      return { name, schema, ...(fieldId !== undefined && { fieldId }) }
    })
  }
}

function isPrimitive(name: string): name is AvroPrimitiveKind {
  return PRIMITIVES.has(name)
}

function fullName(name: string, namespace: string): string {
  return name.includes('.') || namespace === '' ? name : `${namespace}.${name}`
}

function withLogicalType(schema: AvroSchema, json: JsonObject): AvroSchema {
  const logicalType = json['logicalType']
  if (typeof logicalType !== 'string') return schema
  switch (schema.kind) {
    case 'record':
    case 'enum':
    case 'array':
    case 'map':
    case 'union':
      return schema
    default:
      return { ...schema, logicalType }
  }
}

function countTypes(schema: AvroSchema): number {
  switch (schema.kind) {
    case 'record':
      return schema.fields.reduce((sum, field) => sum + countTypes(field.schema), 1)
    case 'union':
      return schema.branches.reduce((sum, branch) => sum + countTypes(branch), 1)
    case 'array':
      return 1 + countTypes(schema.items)
    case 'map':
      return 1 + countTypes(schema.values)
    default:
      return 1
  }
}

function member(json: JsonObject, key: string): JsonValue {
  const value = json[key]
  if (value === undefined) throw broken(`a type has no "${key}"`)
  return value
}

function stringArray(json: JsonValue | undefined): string[] {
  if (!Array.isArray(json) || !json.every((symbol) => typeof symbol === 'string'))
    throw broken('an enum has no symbols')
  return json
}

function broken(what: string): IcebergError {
  return new IcebergError('CORRUPT_FILE', `The Avro schema is not valid: ${what}.`)
}
