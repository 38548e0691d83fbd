import { IcebergError } from '../../errors.ts'
import type { TableMetadata } from '../../metadata/metadata.ts'
import { sourceIdsOf } from '../../partitioning/partitioning.ts'
import { fieldById, fieldPath, findField, parentFieldId, walkFields } from '../../schema/schema.ts'
import type { Schema } from '../../schema/schema.ts'
import type { NestedField } from '../../schema/types.ts'

/** Names of metadata columns of readers (Iceberg spec, "Reserved Field IDs"). */
const metadataColumns: ReadonlySet<string> = new Set([
  '_file',
  '_pos',
  '_deleted',
  '_spec_id',
  '_partition',
  '_row_id',
  '_last_updated_sequence_number',
  '_change_type',
  '_change_ordinal',
  '_commit_snapshot_id',
])

/** The field with a dotted name; `NO_SUCH_COLUMN`, with a hint when only the case is wrong. */
export function requireColumn(schema: Schema, name: string): NestedField {
  const field = findField(schema, name)
  if (field) return field
  const alike = [...walkFields(schema)].find((entry) => entry.path.toLowerCase() === name.toLowerCase())
  const hint = alike ? `; did you mean "${alike.path}"? Names are case-sensitive` : ''
  throw new IcebergError('NO_SUCH_COLUMN', `there is no column "${name}"${hint}`)
}

/** Refuses an invalid column name. */
export function checkNewName(name: string, topLevel: boolean): void {
  if (name.trim() === '') throw new IcebergError('INVALID_ARGUMENT', 'a column name must not be empty')
  if (name.includes('.')) {
    throw new IcebergError('INVALID_ARGUMENT', `the column name "${name}" must not contain a dot: dots separate levels`)
  }
  if (/\p{Cc}|\p{Surrogate}/u.test(name)) {
    throw new IcebergError('INVALID_ARGUMENT', `the column name ${JSON.stringify(name)} contains control characters`)
  }
  if (topLevel && metadataColumns.has(name.toLowerCase())) {
    throw refused(`"${name}" is reserved: engines show row metadata under that name`)
  }
}

/** Refuses the name of a sibling, also in another case: engines that ignore case could not distinguish them. */
export function checkNoCollision(siblings: readonly NestedField[], name: string, exceptId?: number): void {
  const taken = siblings.find((field) => field.id !== exceptId && field.name.toLowerCase() === name.toLowerCase())
  if (taken === undefined) return
  const detail = taken.name === name ? 'already exists' : `differs from the existing "${taken.name}" only in case`
  throw refused(`column "${name}" ${detail}`)
}

/** Refuses a schema in which a column has the name of a partition field with other values. */
export function checkPartitionNames(metadata: TableMetadata, before: Schema, after: Schema): void {
  for (const spec of metadata.partitionSpecs) {
    for (const field of spec.fields) {
      const column = findField(after, field.name)
      if (column === undefined || findField(before, field.name)?.id === column.id) continue
      const holdsColumn = field.transform.kind === 'identity' && field.sourceId === column.id
      if (!holdsColumn) {
        throw refused(
          `"${field.name}" is the name of a partition field (spec ${spec.specId}); a column of that name would` +
            ' make the table unreadable for other engines',
        )
      }
    }
  }
}

/** Refuses changes inside a map key, and of the element, key and value of lists and maps themselves. */
export function checkChangeable(schema: Schema, field: NestedField, verb: string): void {
  const path = fieldPath(schema, field.id) ?? field.name
  const parentId = parentFieldId(schema, field.id)
  const parentKind = parentId === undefined ? 'struct' : fieldById(schema, parentId)?.type.kind
  if (parentKind === 'list' || parentKind === 'map') {
    throw refused(`cannot ${verb} "${path}": it is the ${field.name} of a ${parentKind}, not a column`)
  }
  checkOutsideMapKey(schema, field.id, verb)
}

/** Refuses changes to a field in a map key: keys written before and after would not be equal. */
export function checkOutsideMapKey(schema: Schema, fieldId: number, verb: string): void {
  let at = fieldId
  for (let parent = parentFieldId(schema, at); parent !== undefined; parent = parentFieldId(schema, at)) {
    const type = fieldById(schema, parent)?.type
    if (type?.kind === 'map' && type.keyId === at) {
      throw refused(`cannot ${verb} "${fieldPath(schema, fieldId) ?? fieldId}": map keys cannot change`)
    }
    at = parent
  }
}

/** Refuses to drop a column that a partition spec or sort order, present or past, or the row identity needs. */
export function checkUnused(metadata: TableMetadata, schema: Schema, field: NestedField): void {
  const dropped = new Set([field.id, ...[...walkFields({ fields: [field] })].map((entry) => entry.field.id)])
  const name = (id: number): string => fieldPath(schema, id) ?? String(id)
  for (const { schemaId, identifierFieldIds } of metadata.schemas) {
    const id = identifierFieldIds.find((fieldId) => dropped.has(fieldId))
    if (id === undefined) continue
    const when = schemaId === schema.schemaId ? 'is' : `was, in schema ${schemaId},`
    throw refused(`cannot drop "${name(field.id)}": "${name(id)}" ${when} an identifier field`)
  }
  for (const spec of metadata.partitionSpecs) {
    const user = spec.fields.find((entry) => sourceIdsOf(entry).some((id) => dropped.has(id)))
    if (user) {
      throw refused(
        `cannot drop "${name(field.id)}": partition field "${user.name}" of spec ${spec.specId} needs` +
          ` "${name(user.sourceId)}", and data files may still be partitioned by it`,
      )
    }
  }
  for (const order of metadata.sortOrders) {
    const user = order.fields.find((entry) => sourceIdsOf(entry).some((id) => dropped.has(id)))
    if (user)
      throw refused(`cannot drop "${name(field.id)}": sort order ${order.orderId} needs "${name(user.sourceId)}"`)
  }
}

/** The error for a change that the table format forbids. */
export function refused(problem: string): IcebergError {
  return new IcebergError('SCHEMA_CHANGE_REFUSED', problem)
}
