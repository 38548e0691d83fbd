import { IcebergError } from '../../errors.ts'
import { assignFreshTypeIds } from '../../schema/fresh-ids.ts'
import type { JsonObject } from '../../json/lossless-json.ts'
import { currentSchema } from '../../metadata/metadata.ts'
import type { TableMetadata } from '../../metadata/metadata.ts'
import { fieldById, fieldPath, highestFieldId, parentFieldId, parseSchema } from '../../schema/schema.ts'
import type { Schema } from '../../schema/schema.ts'
import { fieldToJson, formatType, minFormatVersion } from '../../schema/type-json.ts'
import type { NestedField, StructType, Type } from '../../schema/types.ts'
import { checkChangeable, checkNewName, checkNoCollision, checkOutsideMapKey } from './column-checks.ts'
import { checkPartitionNames, checkUnused, refused, requireColumn } from './column-checks.ts'
import { columnPropertyUpdates, nameMappingUpdates } from './column-properties.ts'
import { draftList, openDraft } from './metadata-draft.ts'
import { editStructFields } from './schema-json-edit.ts'
import type { FieldsEdit } from './schema-json-edit.ts'
import type { TableRequirement, TableUpdate } from '../table-update.ts'

/** Field ids from here on are reserved (Iceberg spec, "Reserved Field IDs"). */
const firstReservedId = 2_147_483_447

export interface AddColumnOptions {
  /** A dotted name adds into a struct, which may be inside a list or map value (`locations.lat`). */
  readonly name: string
  /** Ids in it are ignored; the table assigns new ones. */
  readonly type: Type
  /** The sibling that the column comes after; default: at the end. */
  readonly after?: string
  /** Before all siblings. */
  readonly first?: boolean
  readonly doc?: string
}

/** A change of schema, ready to be committed. */
export interface SchemaChange {
  readonly requirements: readonly TableRequirement[]
  readonly updates: readonly TableUpdate[]
  /** The schema after the change. */
  readonly schema: Schema
  /** The column that the change is about. */
  readonly fieldId: number
}

/**
 * Adds an optional column with a fresh id (Iceberg spec, "Schema Evolution"); old rows read as null.
 * `SCHEMA_CHANGE_REFUSED` when the name is taken or reserved or the type needs a higher format version,
 * `NO_SUCH_COLUMN` when the struct or the sibling does not exist, `INVALID_ARGUMENT` for an invalid name.
 */
export function addColumn(metadata: TableMetadata, options: AddColumnOptions): SchemaChange {
  const schema = currentSchema(metadata)
  const { parentId, siblings, leaf } = placeOf(schema, options.name)
  checkNewName(leaf, parentId === undefined)
  checkNoCollision(siblings, leaf)
  if (minFormatVersion(options.type) > metadata.formatVersion) {
    throw refused(`type ${formatType(options.type)} needs format version 3, the table has ${metadata.formatVersion}`)
  }
  const nextId = fieldIdSource(metadata)
  const field: NestedField = {
    id: nextId(),
    name: leaf,
    required: false,
    type: assignFreshTypeIds(options.type, nextId),
    ...(options.doc === undefined ? {} : { doc: options.doc }),
  }
  const position = insertPosition(schema, siblings, options)
  const insert: FieldsEdit = (fields) => fields.toSpliced(position, 0, fieldToJson(field))
  const change = { kind: 'add', field, ...(parentId === undefined ? {} : { parentId }) } as const
  return schemaChange(metadata, { structId: parentId, edit: insert, fieldId: field.id }, [
    ...nameMappingUpdates(metadata, change),
  ])
}

/**
 * Renames a column; its id and data stay, partition fields keep their names. `newName` is the last part only.
 * `NO_SUCH_COLUMN`, `SCHEMA_CHANGE_REFUSED` when the name is taken or reserved, `INVALID_ARGUMENT` for an
 * invalid name.
 */
export function renameColumn(
  metadata: TableMetadata,
  options: { readonly name: string; readonly newName: string },
): SchemaChange {
  const schema = currentSchema(metadata)
  const field = requireColumn(schema, options.name)
  checkChangeable(schema, field, 'rename')
  const parentId = parentFieldId(schema, field.id)
  checkNewName(options.newName, parentId === undefined)
  if (field.name === options.newName) throw refused(`column "${options.name}" already has that name`)
  checkNoCollision(structFields(schema, parentId), options.newName, field.id)
  const rename: FieldsEdit = (fields) =>
    fields.map((entry) => (entry['id'] === field.id ? { ...entry, name: options.newName } : entry))
  const from = fieldPath(schema, field.id) ?? field.name
  const to = from.slice(0, from.length - field.name.length) + options.newName
  return schemaChange(metadata, { structId: parentId, edit: rename, fieldId: field.id }, [
    ...nameMappingUpdates(metadata, { kind: 'rename', fieldId: field.id, newName: options.newName }),
    ...columnPropertyUpdates(metadata, { from, to }),
  ])
}

/**
 * Drops a column with its nested fields; its id is never used again. `NO_SUCH_COLUMN`; `SCHEMA_CHANGE_REFUSED`
 * when any partition spec or sort order, present or past, or the identifier fields need it, when it is the last column,
 * or in a map key.
 */
export function dropColumn(metadata: TableMetadata, options: { readonly name: string }): SchemaChange {
  const schema = currentSchema(metadata)
  const field = requireColumn(schema, options.name)
  checkChangeable(schema, field, 'drop')
  const parentId = parentFieldId(schema, field.id)
  if (structFields(schema, parentId).length === 1) {
    throw refused(
      `cannot drop "${options.name}": it is the last column of its ${parentId === undefined ? 'table' : 'struct'}`,
    )
  }
  checkUnused(metadata, schema, field)
  const drop: FieldsEdit = (fields) => fields.filter((entry) => entry['id'] !== field.id)
  const from = fieldPath(schema, field.id) ?? field.name
  const change = schemaChange(
    metadata,
    { structId: parentId, edit: drop, fieldId: field.id },
    columnPropertyUpdates(metadata, { from }),
  )
  return { ...change, requirements: [...change.requirements, ...layoutRequirements(metadata)] }
}

/** No concurrent commit may have started to partition or sort by the column. */
function layoutRequirements(metadata: TableMetadata): readonly TableRequirement[] {
  return [
    { type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': metadata.lastPartitionId },
    { type: 'assert-default-spec-id', 'default-spec-id': metadata.defaultSpecId },
    { type: 'assert-default-sort-order-id', 'default-sort-order-id': metadata.defaultSortOrderId },
  ]
}

interface StructEdit {
  readonly structId: number | undefined
  readonly edit: FieldsEdit
  readonly fieldId: number
}

function schemaChange(
  metadata: TableMetadata,
  change: StructEdit,
  propertyUpdates: readonly TableUpdate[],
): SchemaChange {
  const before = currentSchema(metadata)
  const nextSchemaId = Math.max(...metadata.schemas.map((schema) => schema.schemaId)) + 1
  const edited = editStructFields(currentSchemaJson(metadata), change.structId, change.edit)
  const json: JsonObject = { ...edited, 'schema-id': nextSchemaId }
  const schema = parseSchema(json, 'changed schema')
  checkPartitionNames(metadata, before, schema)
  return {
    requirements: [
      ...(metadata.tableUuid === '' ? [] : [{ type: 'assert-table-uuid', uuid: metadata.tableUuid } as const]),
      { type: 'assert-current-schema-id', 'current-schema-id': metadata.currentSchemaId },
      { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': metadata.lastColumnId },
    ],
    updates: [
      { action: 'add-schema', schema: json },
      { action: 'set-current-schema', 'schema-id': -1 },
      ...propertyUpdates,
    ],
    schema,
    fieldId: change.fieldId,
  }
}

/** The document of the current schema, with unknown keys. */
function currentSchemaJson(metadata: TableMetadata): JsonObject {
  const schemas = draftList(openDraft(metadata, 0), 'schemas')
  const json = schemas.find((entry) => (entry['schema-id'] ?? 0) === metadata.currentSchemaId)
  if (json === undefined)
    throw new IcebergError('INVALID_METADATA', `schema ${metadata.currentSchemaId} does not exist`)
  return json
}

/** Ids above all ids that any schema of the table ever used. */
function fieldIdSource(metadata: TableMetadata): () => number {
  let last = Math.max(metadata.lastColumnId, ...metadata.schemas.map(highestFieldId))
  return () => {
    last += 1
    if (last >= firstReservedId) throw refused('the table has no field ids left')
    return last
  }
}

/** Where a column with a dotted name belongs; the struct may be inside a list or a map value. */
function placeOf(
  schema: Schema,
  name: string,
): { readonly parentId?: number; readonly siblings: readonly NestedField[]; readonly leaf: string } {
  const dot = name.lastIndexOf('.')
  if (dot < 0) return { siblings: schema.fields, leaf: name }
  const parentName = name.slice(0, dot)
  const parent = requireColumn(schema, parentName)
  const holder = structHolder(parent.id, parent.type)
  if (holder === undefined) {
    throw refused(`cannot add a column into "${parentName}": its type is ${formatType(parent.type)}, not a struct`)
  }
  checkOutsideMapKey(schema, holder.id, 'add a column into')
  return { parentId: holder.id, siblings: holder.type.fields, leaf: name.slice(dot + 1) }
}

function structHolder(id: number, type: Type): { readonly id: number; readonly type: StructType } | undefined {
  switch (type.kind) {
    case 'struct':
      return { id, type }
    case 'list':
      return structHolder(type.elementId, type.element)
    case 'map':
      return structHolder(type.valueId, type.value)
    default:
      return undefined
  }
}

function structFields(schema: Schema, structId: number | undefined): readonly NestedField[] {
  if (structId === undefined) return schema.fields
  const type = fieldById(schema, structId)?.type
  return type?.kind === 'struct' ? type.fields : []
}

function insertPosition(schema: Schema, siblings: readonly NestedField[], options: AddColumnOptions): number {
  if (options.first === true && options.after !== undefined) {
    throw new IcebergError('INVALID_ARGUMENT', 'a column cannot be first and after another one')
  }
  if (options.first === true) return 0
  if (options.after === undefined) return siblings.length
  const { after } = options
  const index = siblings.findIndex((field) => field.name === after || fieldPath(schema, field.id) === after)
  if (index < 0) throw new IcebergError('NO_SUCH_COLUMN', `there is no column "${after}" next to "${options.name}"`)
  return index + 1
}
