import { IcebergError } from '../errors.ts'
import { sourceIdsOf } from '../partitioning/partitioning.ts'
import type { PartitionField, PartitionSpec } from '../partitioning/partitioning.ts'
import { fieldById, fieldPath, findField, parentFieldId, walkFields } from '../schema/schema.ts'
import type { Schema } from '../schema/schema.ts'
import type { SortOrder } from '../partitioning/sort-order.ts'
import { formatTransform, transformResultType } from '../partitioning/transforms.ts'
import { formatType, minFormatVersion } from '../schema/type-json.ts'
import { isNested } from '../schema/types.ts'

/** Refuses (`INVALID_ARGUMENT`) a schema with types or defaults that the format version does not have. */
export function checkSchemaVersion(schema: Schema, formatVersion: number): void {
  if (formatVersion >= 3) return
  for (const { field, path } of walkFields(schema)) {
    if (!isNested(field.type) && minFormatVersion(field.type) > formatVersion) {
      throw refuse(
        `column "${path}": type ${formatType(field.type)} needs format version 3, the table has ${formatVersion}`,
      )
    }
    if (field.initialDefault !== undefined) {
      throw refuse(`column "${path}": a default value needs format version 3, the table has ${formatVersion}`)
    }
  }
}

/** Refuses identifier fields that cannot identify a row (Iceberg spec, "Identifier Field IDs"). */
export function checkIdentifierFields(schema: Schema): void {
  for (const id of schema.identifierFieldIds) {
    const field = fieldById(schema, id)
    if (field === undefined) throw refuse(`identifier field ${id} is not in the schema`)
    const name = fieldPath(schema, id) ?? field.name
    if (isNested(field.type)) throw refuse(`identifier field "${name}" is not primitive`)
    if (field.type.kind === 'float' || field.type.kind === 'double')
      throw refuse(`identifier field "${name}" is a float`)
    for (let at: number | undefined = id; at !== undefined; at = parentFieldId(schema, at)) {
      const enclosing = fieldById(schema, at)
      if (enclosing?.required !== true) throw refuse(`identifier field "${name}" is not required`)
      if (enclosing.type.kind === 'list' || enclosing.type.kind === 'map') {
        throw refuse(`identifier field "${name}" is inside a ${enclosing.type.kind}`)
      }
    }
  }
}

/** Refuses a new partition spec that the schema does not allow (Iceberg spec, "Partitioning"). */
export function checkPartitionSpec(spec: PartitionSpec, schema: Schema): void {
  checkFieldCount('partition spec', spec.fields.length)
  const names = new Set<string>()
  const partitions = new Set<string>()
  for (const field of spec.fields) {
    checkSource(schema, field, `partition field "${field.name}"`)
    const partition = `${field.sourceId} ${formatTransform(field.transform)}`
    if (field.name === '') throw refuse('a partition field has an empty name')
    if (names.has(field.name)) throw refuse(`two partition fields are named "${field.name}"`)
    if (field.transform.kind !== 'void' && partitions.has(partition)) {
      throw refuse(`partition field "${field.name}" repeats an earlier one`)
    }
    names.add(field.name)
    partitions.add(partition)
    checkPartitionName(field, schema)
  }
}

/** A partition field may have the name of a column only if it holds that column's values unchanged. */
function checkPartitionName(field: PartitionField, schema: Schema): void {
  const column = findField(schema, field.name)
  if (column === undefined) return
  const unchanged = field.transform.kind === 'identity' || field.transform.kind === 'void'
  if (!unchanged || column.id !== field.sourceId) {
    throw refuse(`partition field "${field.name}" has the name of another column`)
  }
}

/** Refuses a sort order that the schema does not allow (Iceberg spec, "Sorting"). */
export function checkSortOrder(order: SortOrder, schema: Schema): void {
  checkFieldCount('sort order', order.fields.length)
  for (const [index, field] of order.fields.entries()) checkSource(schema, field, `sort field ${index}`)
}

/** Each manifest and data file has a value for each partition field. */
const MAX_LAYOUT_FIELDS = 1000

function checkFieldCount(what: string, count: number): void {
  if (count > MAX_LAYOUT_FIELDS)
    throw refuse(`the ${what} has ${count} fields, and at most ${MAX_LAYOUT_FIELDS} are allowed`)
}

function checkSource(
  schema: Schema,
  field: Pick<PartitionField, 'sourceId' | 'sourceIds' | 'transform'>,
  what: string,
): void {
  const { transform } = field
  for (const id of sourceIdsOf(field)) {
    const source = fieldById(schema, id)
    // in version 1, the field of a dropped column stays in its place as void (Iceberg spec, "Partition Transforms")
    if (source === undefined && transform.kind === 'void') continue
    if (source === undefined) throw refuse(`${what}: there is no column with id ${id}`)
    transformResultType(transform, source.type)
    for (let at = parentFieldId(schema, id); at !== undefined; at = parentFieldId(schema, at)) {
      if (fieldById(schema, at)?.type.kind !== 'struct') throw refuse(`${what}: column ${id} is inside a list or map`)
    }
  }
}

/** Refuses a schema that lacks a column which the partition spec or sort order in use needs. */
export function checkSourcesExist(schema: Schema, spec: PartitionSpec, order: SortOrder): void {
  const needed = [
    ...spec.fields
      .filter((field) => field.transform.kind !== 'void')
      .map((field) => ({ field, what: `partition field "${field.name}"` })),
    ...order.fields.map((field, index) => ({ field, what: `sort field ${index}` })),
  ]
  for (const { field, what } of needed) {
    for (const id of sourceIdsOf(field)) {
      if (fieldById(schema, id) === undefined) throw refuse(`${what} needs the column with id ${id}`)
    }
  }
}

function refuse(problem: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', problem)
}
