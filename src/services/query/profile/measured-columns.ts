import type { NestedField, PrimitiveType, Type } from '../../../iceberg/schema/types.ts'
import { isNested } from '../../../iceberg/schema/types.ts'

/** A column whose values are measured: a field of the table or, at any depth, of its structs. */
export interface MeasuredColumn {
  readonly fieldId: number
  readonly type: PrimitiveType
  /** The field id of the top-level column that has it. */
  readonly rootId: number
  /** From there, the number of the member in each struct, counted from 1. */
  readonly members: readonly number[]
}

/** Most columns that are measured. */
const MAX_COLUMNS = 1000

/** Types that the embedded engine does not read, or whose values it cannot compare. */
const UNMEASURED: ReadonlySet<string> = new Set(['timestamptz_ns', 'unknown', 'variant', 'geometry', 'geography'])

/** Most columns of one query: a query holds 2,048 rows at once, of which each may have long texts. */
export const COLUMNS_PER_QUERY = 200

/** Columns that one query measures, and the top-level fields that have them. */
export interface ColumnGroup {
  readonly columns: readonly MeasuredColumn[]
  readonly fields: readonly NestedField[]
}

/** The first columns of a table that can be measured, for one query after the other. Lists and maps are left out. */
export function columnGroups(fields: readonly NestedField[]): readonly ColumnGroup[] {
  const all: MeasuredColumn[] = []
  for (const { id, type } of fields) if (isReadable(type)) all.push(...leaves(type, { fieldId: id, rootId: id }))
  const groups: ColumnGroup[] = []
  for (let at = 0; at < Math.min(all.length, MAX_COLUMNS); at += COLUMNS_PER_QUERY) {
    const columns = all.slice(at, Math.min(at + COLUMNS_PER_QUERY, MAX_COLUMNS))
    const roots = new Set(columns.map(({ rootId }) => rootId))
    groups.push({ columns, fields: fields.filter(({ id }) => roots.has(id)) })
  }
  return groups
}

/** Whether the engine can read a column: with all members, because it reads structs as a whole. */
function isReadable(type: Type): boolean {
  switch (type.kind) {
    case 'struct':
      return type.fields.every((field) => isReadable(field.type))
    case 'list':
      return isReadable(type.element)
    case 'map':
      return isReadable(type.key) && isReadable(type.value)
    default:
      return !UNMEASURED.has(type.kind)
  }
}

interface Place {
  readonly fieldId: number
  readonly rootId: number
  readonly members?: readonly number[]
}

function leaves(type: Type, { fieldId, rootId, members = [] }: Place): readonly MeasuredColumn[] {
  if (!isNested(type)) return [{ fieldId, rootId, members, type }]
  if (type.kind !== 'struct') return []
  return type.fields.flatMap((field, at) =>
    leaves(field.type, { fieldId: field.id, rootId, members: [...members, at + 1] }),
  )
}
