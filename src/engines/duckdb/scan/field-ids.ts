import { IcebergError } from '../../../iceberg/errors.ts'
import { nameMappingProperty, parseNameMapping } from '../../../iceberg/schema/name-mapping.ts'
import type { MappedField } from '../../../iceberg/schema/name-mapping.ts'
import type { TableMetadata } from '../../../iceberg/metadata/metadata.ts'
import { childFields } from '../../../iceberg/schema/schema.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import type { FileField, FileShape, FileType } from './file-schema.ts'

/**
 * The shape of a file with a field id for every column that has one. A file with ids keeps them; one without gets those
 * of the table's name mapping; without a mapping the n-th column is field n, as readers of migrated tables assume, but
 * only if all names agree with the table's. `UNSUPPORTED` when a column cannot be identified.
 */
export function withFieldIds(shape: FileShape, metadata: TableMetadata, location: string): FileShape {
  if (shape.hasFieldIds) return requireUniqueIds(shape, location)
  requireDistinctNames(shape, location)
  const mapping = metadata.properties[nameMappingProperty]
  if (mapping !== undefined) return { ...shape, columns: byMapping(shape.columns, parseNameMapping(mapping)) }
  return { ...shape, columns: shape.columns.map((column, at) => byPosition(column, { at, metadata, location })) }
}

function requireUniqueIds(shape: FileShape, location: string): FileShape {
  const seen = new Set<number>()
  for (const { fieldId } of shape.columns) {
    if (fieldId !== undefined && seen.has(fieldId)) {
      throw new IcebergError('CORRUPT_FILE', `${location} has two columns with field id ${fieldId}`)
    }
    if (fieldId !== undefined) seen.add(fieldId)
  }
  return shape
}

/** Columns without ids are read by name, and DuckDB ignores case. */
function requireDistinctNames(shape: FileShape, location: string): void {
  const names = new Set(shape.columns.map((column) => column.fileName.toLowerCase()))
  if (names.size === shape.columns.length) return
  throw new IcebergError(
    'UNSUPPORTED',
    `${location} has no field ids, and columns whose names differ only in case, which the embedded engine cannot distinguish`,
  )
}

function byMapping(fields: readonly FileField[], mapping: readonly MappedField[]): FileField[] {
  return fields.map((field) => {
    const found = mapping.find((candidate) => candidate.names.includes(field.fileName))
    return applyMapping(field, found)
  })
}

function applyMapping(field: FileField, mapped: MappedField | undefined): FileField {
  const inner = mapped?.fields ?? []
  const { fieldId: _, ...rest } = field
  const type = mapChildren(field.type, {
    members: (members) => byMapping(members, inner),
    // parts of lists and maps have these names, regardless of their names in the file
    part: (child, name) =>
      applyMapping(
        child,
        inner.find((candidate) => candidate.names.includes(name)),
      ),
  })
  return mapped?.fieldId === undefined ? { ...rest, type } : { ...rest, fieldId: mapped.fieldId, type }
}

interface Position {
  readonly at: number
  readonly metadata: TableMetadata
  readonly location: string
}

function byPosition(column: FileField, { at, metadata, location }: Position): FileField {
  const candidates = metadata.schemas.flatMap((schema) => schema.fields).filter((field) => field.id === at + 1)
  const match = candidates.find((field) => field.name.toLowerCase() === column.fileName.toLowerCase())
  const resolved = match && byName(column, match)
  if (resolved) return resolved
  throw new IcebergError(
    'UNSUPPORTED',
    `${location} has no field ids and the table has no property ${nameMappingProperty}: column ${at + 1}, "${column.fileName}", ` +
      `cannot be matched to a column of the table; set a name mapping`,
  )
}

function byName(field: FileField, target: NestedField): FileField | undefined {
  const targets = childFields(target.type)
  let isComplete = true
  const match = (child: FileField, name: string): FileField => {
    const wanted = targets.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase())
    const found = wanted && byName(child, wanted)
    if (!found) isComplete = false
    return found ?? child
  }
  const type = mapChildren(field.type, {
    members: (members) => members.map((member) => match(member, member.fileName)),
    part: match,
  })
  return isComplete ? { ...field, fieldId: target.id, type } : undefined
}

interface ChildMapper {
  readonly members: (members: readonly FileField[]) => FileField[]
  readonly part: (part: FileField, name: 'element' | 'key' | 'value') => FileField
}

function mapChildren(type: FileType, { members, part }: ChildMapper): FileType {
  switch (type.kind) {
    case 'struct':
      return { ...type, fields: members(type.fields) }
    case 'list':
      return { ...type, element: part(type.element, 'element') }
    case 'map':
      return { ...type, key: part(type.key, 'key'), value: part(type.value, 'value') }
    default:
      return type
  }
}
