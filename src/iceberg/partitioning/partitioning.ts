import { humanValue } from './human-value.ts'
import { invalid, asObject, intList, optionalArray, optionalInt } from '../json/json-fields.ts'
import { requireArray, requireInt, requireString } from '../json/json-fields.ts'
import type { JsonObject, JsonValue } from '../json/lossless-json.ts'
import { fieldById } from '../schema/schema.ts'
import type { Schema } from '../schema/schema.ts'
import { formatTransform, parseTransform, transformResultType } from './transforms.ts'
import type { Transform } from './transforms.ts'
import { isNested } from '../schema/types.ts'
import type { PrimitiveType, Type, Value } from '../schema/types.ts'
import { valueKey } from '../values/values.ts'

export type { Transform } from './transforms.ts'

/** Ids of partition fields start above this one. */
export const partitionIdBase = 999

export interface PartitionField {
  readonly fieldId: number
  readonly sourceId: number
  /** v3 transforms of several columns (their transform is `unknown` here): all sources, `sourceId` first. */
  readonly sourceIds?: readonly number[]
  readonly name: string
  readonly transform: Transform
}

/** How a table is (or was) partitioned; no fields means unpartitioned. */
export interface PartitionSpec {
  readonly specId: number
  readonly fields: readonly PartitionField[]
}

/** Partition values in the order of the spec's fields. */
export type PartitionTuple = readonly (Value | null)[]

/** Reads a partition spec (Iceberg spec, Appendix C); field ids missing in old v1 specs count from 1000. */
export function parsePartitionSpec(json: JsonValue, where = 'partition spec'): PartitionSpec {
  const object = asObject(json, where)
  return {
    specId: requireInt(object, 'spec-id', where),
    fields: parsePartitionFields(requireArray(object, 'fields', where), where),
  }
}

/** Reads the fields of a partition spec, the form of the v1 key `partition-spec`. */
export function parsePartitionFields(fields: readonly JsonValue[], where: string): readonly PartitionField[] {
  const ids = new Set<number>()
  const names = new Set<string>()
  return fields.map((entry, index) => {
    const place = `${where}: field ${index}`
    const field = parsePartitionField(asObject(entry, place), place, partitionIdBase + 1 + index)
    if (ids.has(field.fieldId)) throw invalid(where, `partition field id ${field.fieldId} is used twice`)
    if (names.has(field.name)) throw invalid(where, `two partition fields are named "${field.name}"`)
    ids.add(field.fieldId)
    names.add(field.name)
    return field
  })
}

function parsePartitionField(json: JsonObject, where: string, defaultId: number): PartitionField {
  return {
    fieldId: optionalInt(json, 'field-id', where) ?? defaultId,
    ...parseTransformSource(json, where),
    name: requireString(json, 'name', where),
  }
}

/** Source and transform of a partition or sort field; several sources (v3 `source-ids`) make the transform unknown. */
export function parseTransformSource(
  json: JsonObject,
  where: string,
): { readonly sourceId: number; readonly sourceIds?: readonly number[]; readonly transform: Transform } {
  const text = requireString(json, 'transform', where)
  const sourceIds = intList(optionalArray(json, 'source-ids', where) ?? [], `${where}: "source-ids"`)
  const [first] = sourceIds
  if (first === undefined) return { sourceId: requireInt(json, 'source-id', where), transform: parseTransform(text) }
  if (sourceIds.length === 1) return { sourceId: first, transform: parseTransform(text) }
  return { sourceId: first, sourceIds, transform: { kind: 'unknown', text } }
}

/** Writes a partition spec in its JSON form. */
export function partitionSpecToJson(spec: PartitionSpec): JsonObject {
  return {
    'spec-id': spec.specId,
    fields: spec.fields.map((field) => ({
      name: field.name,
      transform: formatTransform(field.transform),
      ...transformSourceToJson(field),
      'field-id': field.fieldId,
    })),
  }
}

/** The keys that name the source of a partition or sort field. */
export function transformSourceToJson(field: {
  readonly sourceId: number
  readonly sourceIds?: readonly number[]
}): JsonObject {
  return field.sourceIds === undefined ? { 'source-id': field.sourceId } : { 'source-ids': [...field.sourceIds] }
}

/** Every source column of a partition or sort field. */
export function sourceIdsOf(field: {
  readonly sourceId: number
  readonly sourceIds?: readonly number[]
}): readonly number[] {
  return field.sourceIds ?? [field.sourceId]
}

/** Whether a spec puts all rows in one partition, as one with only void fields does. */
export function isUnpartitioned(spec: PartitionSpec): boolean {
  return spec.fields.every((field) => field.transform.kind === 'void')
}

/** The highest field id of a spec, 999 when it has no fields. */
export function lastPartitionFieldId(spec: PartitionSpec): number {
  return spec.fields.reduce((highest, field) => Math.max(highest, field.fieldId), partitionIdBase)
}

/**
 * Types of a spec's partition values. Sources are looked up in all schemas, newest first, because a column may be missing in
 * the current one; the type of a source that no schema has is `unknown` unless the transform determines it.
 */
export function partitionType(spec: PartitionSpec, schemas: readonly Schema[]): PrimitiveType[] {
  const newestFirst = schemas.toSorted((a, b) => b.schemaId - a.schemaId)
  return spec.fields.map((field) => {
    const source = sourceType(newestFirst, field.sourceId)
    if (source === undefined) return typeWithoutSource(field.transform)
    if (isNested(source) && field.transform.kind !== 'void' && field.transform.kind !== 'unknown') {
      throw invalid(`partition field "${field.name}"`, `the source column ${field.sourceId} is nested`)
    }
    return transformResultType(field.transform, source)
  })
}

function sourceType(schemas: readonly Schema[], sourceId: number): Type | undefined {
  for (const schema of schemas) {
    const field = fieldById(schema, sourceId)
    if (field) return field.type
  }
  return undefined
}

function typeWithoutSource(transform: Transform): PrimitiveType {
  switch (transform.kind) {
    case 'identity':
    case 'truncate':
    case 'void':
      return { kind: 'unknown' }
    case 'day':
      return { kind: 'date' }
    case 'unknown':
      return { kind: 'string' }
    default:
      return { kind: 'int' }
  }
}

/** A key that is equal if and only if files are in the same partition of the same spec (see {@link valueKey}). */
export function partitionKey(spec: PartitionSpec, types: readonly PrimitiveType[], tuple: PartitionTuple): string {
  let key = `${spec.specId}`
  for (let at = 0; at < spec.fields.length; at += 1) {
    const part = valueKey(types[at] ?? { kind: 'unknown' }, tuple[at] ?? null)
    key += `|${part.length}:${part}`
  }
  return key
}

/**
 * The folder of a partition below the data location: `a=1/ts_day=2024-05-01/name=x%2Fy`, with names and values escaped
 * as form data and null as `null`, the layout that other writers of Iceberg tables use. Empty without fields.
 */
export function partitionPath(spec: PartitionSpec, types: readonly PrimitiveType[], tuple: PartitionTuple): string {
  return spec.fields
    .map((field, at) => {
      const text = humanValue(field.transform, types[at] ?? { kind: 'unknown' }, tuple[at] ?? null)
      return `${escapeFormData(field.name)}=${escapeFormData(text)}`
    })
    .join('/')
}

/** Percent-encoding of HTML form data: space becomes `+`; letters, digits and `.-*_` stay. */
function escapeFormData(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '?'))
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+')
}
