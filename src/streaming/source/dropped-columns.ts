import { currentSchema, schemaById, type TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { NestedField, Type } from '../../iceberg/schema/types.ts'
import { IncompatibleSchemas } from '../pipeline-errors.ts'

/** Ids of the schemas that the rows of a batch were written with. */
export interface RowSchemas {
  /** Of rows that snapshots appended after the pipeline began to read. */
  readonly appended: readonly number[]
  /** Of the rows of the first snapshot. */
  readonly others: readonly number[]
  /** Whether there are rows for which the table does not tell the schema: of expired snapshots, or without a schema. */
  readonly hasUnknown: boolean
}

/** The columns of a source for a batch. */
export interface BatchSchema {
  readonly schema: Schema
  /** Field ids of the columns in `schema` that the source no longer has. */
  readonly dropped: readonly number[]
}

/**
 * The columns that a batch reads: those that the source has now, and those that the source dropped after the rows were
 * written. Of rows that were not appended while the pipeline read, only the dropped columns in `known` are read: the
 * pipeline copied them before, whereas a column that was dropped before the pipeline began stays dropped.
 *
 * Throws `IncompatibleSchemas` when rows without a known schema may have values of one of two columns.
 */
export function batchSchema(metadata: TableMetadata, rows: RowSchemas, known: ReadonlySet<number>): BatchSchema {
  let schema = currentSchema(metadata)
  const dropped = new Set<number>()
  const merge = (schemaId: number, isWanted: (id: number) => boolean): void => {
    const old = schemaById(metadata, schemaId)
    const ids = droppedIds(metadata, schemaId).filter((id) => isWanted(id) && !dropped.has(id))
    if (old === undefined || ids.length === 0) return
    for (const id of ids) dropped.add(id)
    const wanted = new Set(ids)
    schema = { ...schema, fields: withDropped(schema.fields, old.fields, (id) => wanted.has(id)) }
  }
  const isKnown = (id: number): boolean => known.has(id)
  for (const id of rows.appended) merge(id, () => true)
  for (const id of rows.others) merge(id, isKnown)
  if (rows.hasUnknown) {
    for (const { schemaId } of metadata.schemas) merge(schemaId, isKnown)
    requireAll(metadata, schema, known)
  }
  return { schema, dropped: [...dropped] }
}

const ADVICE = 'start another pipeline into a new sink'

/** Rows without a known schema may have values of any column: of each that the pipeline copied, and of each of today. */
function requireAll(metadata: TableMetadata, { fields }: Schema, known: ReadonlySet<number>): void {
  const all = new Set(metadata.schemas.flatMap((schema) => fieldIds(schema.fields)))
  const why = 'the table does not tell which columns the rows of some unread snapshots have'
  if (![...known].every((id) => all.has(id)))
    throw new IncompatibleSchemas(
      `${why}, and the schema with a column that the pipeline copied was removed; ${ADVICE}`,
    )
  const read = new Set(fieldIds(fields))
  const left = currentSchema(metadata).fields.find(({ id }) => !read.has(id))
  if (left === undefined) return
  throw new IncompatibleSchemas(`${why}, and column ${left.name} has the name of a column that was dropped; ${ADVICE}`)
}

/** The same with only some of the dropped columns. */
export function withoutDropped({ schema, dropped }: BatchSchema, keep: (field: NestedField) => boolean): BatchSchema {
  const isDropped = new Set(dropped)
  const fields = schema.fields.filter((field) => !isDropped.has(field.id) || keep(field))
  const ids = new Set(fieldIds(fields))
  return { schema: { ...schema, fields }, dropped: dropped.filter((id) => ids.has(id)) }
}

/** Whether the rows of two snapshots lack the same columns of today: then one batch can read both. */
export function dropsTheSame(metadata: TableMetadata, a: number | undefined, b: number | undefined): boolean {
  if (a === b) return true
  if (a === undefined || b === undefined) return false
  return droppedIds(metadata, a).join() === droppedIds(metadata, b).join()
}

/** Field ids, at any depth, of a schema that the current one no longer has, ascending. */
function droppedIds(metadata: TableMetadata, schemaId: number | undefined): readonly number[] {
  const old = schemaId === undefined ? undefined : schemaById(metadata, schemaId)
  if (old === undefined || schemaId === metadata.currentSchemaId) return []
  const current = new Set(fieldIds(currentSchema(metadata).fields))
  return fieldIds(old.fields)
    .filter((id) => !current.has(id))
    .sort((a, b) => a - b)
}

function fieldIds(fields: readonly NestedField[]): readonly number[] {
  return fields.flatMap(({ id, type }) => [id, ...idsInside(type)])
}

function idsInside(type: Type): readonly number[] {
  switch (type.kind) {
    case 'struct':
      return fieldIds(type.fields)
    case 'list':
      return [type.elementId, ...idsInside(type.element)]
    case 'map':
      return [type.keyId, type.valueId, ...idsInside(type.key), ...idsInside(type.value)]
    default:
      return []
  }
}

/** Columns of a struct with those that were dropped. A column that got the name of a dropped one later is left out. */
function withDropped(
  now: readonly NestedField[],
  old: readonly NestedField[],
  isWanted: (id: number) => boolean,
): NestedField[] {
  const byId = new Map(old.map((field) => [field.id, field]))
  const present = new Set(now.map(({ id }) => id))
  const back = old.filter(({ id }) => !present.has(id) && isWanted(id))
  const names = new Set(back.map(({ name }) => name.toLowerCase()))
  const isLater = ({ id, name }: NestedField): boolean => !byId.has(id) && names.has(name.toLowerCase())
  const kept = now
    .filter((field) => !isLater(field))
    .map((field) => {
      const before = byId.get(field.id)
      return before === undefined ? field : { ...field, type: typeWithDropped(field.type, before.type, isWanted) }
    })
  const taken = new Set(kept.map(({ name }) => name.toLowerCase()))
  const named = back.map((field) =>
    taken.has(field.name.toLowerCase()) ? { ...field, name: unusedName(field) } : field,
  )
  return [...kept, ...named]
}

/** A name for a dropped column whose name a renamed column has now. */
function unusedName({ name, id }: NestedField): string {
  return `${name}_dropped_${id}`
}

function typeWithDropped(now: Type, old: Type, isWanted: (id: number) => boolean): Type {
  if (now.kind === 'struct' && old.kind === 'struct') {
    return { ...now, fields: withDropped(now.fields, old.fields, isWanted) }
  }
  if (now.kind === 'list' && old.kind === 'list') {
    return { ...now, element: typeWithDropped(now.element, old.element, isWanted) }
  }
  if (now.kind === 'map' && old.kind === 'map') {
    return { ...now, value: typeWithDropped(now.value, old.value, isWanted) }
  }
  return now
}
