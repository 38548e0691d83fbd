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
 * only if all names agree with the table's. `UNSUPPORTED` when a column cannot be identified, or when readers disagree.
 */
export function withFieldIds(shape: FileShape, metadata: TableMetadata, location: string): FileShape {
  const property = metadata.properties[nameMappingProperty]
  const mapping = property === undefined ? undefined : parseNameMapping(property)
  if (shape.hasFieldIds) {
    requireUniqueIds(shape.columns, location)
    if (mapping !== undefined) requireAllIds(shape.columns, mapping, location)
    return shape
  }
  requireDistinctNames(shape, location)
  const columns =
    mapping === undefined
      ? shape.columns.map((column, at) => byPosition(column, { at, metadata, location }))
      : byMapping(shape.columns, mapping, location)
  requireUniqueIds(columns, location)
  return { ...shape, columns, footerIds: new Set(idsOf(columns)) }
}

function idsOf(fields: readonly FileField[]): number[] {
  return fields.flatMap(({ fieldId, type }) => [...(fieldId === undefined ? [] : [fieldId]), ...idsOf(partsOf(type))])
}

function partsOf(type: FileType): readonly FileField[] {
  if (type.kind === 'struct') return type.fields
  if (type.kind === 'list') return [type.element]
  return type.kind === 'map' ? [type.key, type.value] : []
}

/** Of two fields with one id, readers return different ones. */
function requireUniqueIds(fields: readonly FileField[], location: string): void {
  const seen = new Map<number, FileField>()
  for (const field of fields) {
    const { fieldId, fileName, type } = field
    requireUniqueIds(partsOf(type), location)
    if (fieldId === undefined) continue
    const other = seen.get(fieldId)
    if (other !== undefined) {
      throw unsupported(location, `has two columns with field id ${fieldId}, ${other.fileName} and ${fileName}`)
    }
    seen.set(fieldId, field)
  }
}

/** With some ids, Java ignores the columns without one, where other readers use the name mapping for them. */
function requireAllIds(fields: readonly FileField[], mapping: readonly MappedField[], location: string): void {
  for (const { fieldId, fileName, name, type } of fields) {
    const mapped = mapping.find((candidate) =>
      fieldId === undefined
        ? candidate.names.includes(fileName) || candidate.names.includes(name)
        : candidate.fieldId === fieldId,
    )
    if (fieldId === undefined && mapped?.fieldId !== undefined) {
      throw unsupported(
        location,
        `has field ids, but none for column ${fileName}, which the name mapping of the table has`,
      )
    }
    if (mapped !== undefined) requireAllIds(partsOf(type), mapped.fields ?? [], location)
  }
}

function unsupported(location: string, what: string): IcebergError {
  return new IcebergError(
    'UNSUPPORTED',
    `${location} ${what}: readers disagree about such files; rewrite the file with another engine`,
  )
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

function byMapping(fields: readonly FileField[], mapping: readonly MappedField[], location: string): FileField[] {
  return fields.map((field) => {
    const found = mapping.find((candidate) => candidate.names.includes(field.fileName))
    if (found === undefined) requireOtherName(field, mapping, location)
    return applyMapping(field, found, location)
  })
}

/** Java compares the names of a mapping with case, and some readers do not. */
function requireOtherName({ fileName }: FileField, mapping: readonly MappedField[], location: string): void {
  const alike = mapping.flatMap(({ names }) => names).find((name) => name.toLowerCase() === fileName.toLowerCase())
  if (alike === undefined) return
  throw unsupported(
    location,
    `has no field ids and column ${fileName}, where the name mapping of the table has ${alike}`,
  )
}

function applyMapping(field: FileField, mapped: MappedField | undefined, location: string): FileField {
  const inner = mapped?.fields ?? []
  const { fieldId: _, ...rest } = field
  const type = mapChildren(field.type, {
    members: (members) => byMapping(members, inner, location),
    // parts of lists and maps have these names, regardless of their names in the file
    part: (child, name) =>
      applyMapping(
        child,
        inner.find((candidate) => candidate.names.includes(name)),
        location,
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
