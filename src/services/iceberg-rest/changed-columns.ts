import { fieldById, fieldPath, type Schema, walkFields } from '../../iceberg/schema/schema.ts'
import { canPromote } from '../../iceberg/schema/type-json.ts'
import type { NestedField, Type } from '../../iceberg/schema/types.ts'
import { Turns } from '../../lib/turns.ts'
import { touchedColumn, type TouchedColumn } from '../../maintenance/evolve.ts'

/** Two schemas of a table. */
export interface SchemaStep {
  readonly before: Schema
  readonly after: Schema
  readonly formatVersion: number
}

/**
 * Columns that the later schema drops, names differently, requires, or gives a type that is no promotion (Iceberg spec,
 * "Schema Evolution"), in the order of the schema. A changed struct, list or map is listed without its fields, but a renamed
 * one with those of its fields that have another change. The time grows with the number of fields.
 */
export async function changedColumns({ before, after, formatVersion }: SchemaStep): Promise<readonly TouchedColumn[]> {
  const changed: TouchedColumn[] = []
  const covered = new Set<number>()
  const renamed = new Set<number>()
  const turns = new Turns()
  for (const { field, path, parentId } of walkFields(before)) {
    await turns.next()
    if (parentId !== undefined && covered.has(parentId)) {
      covered.add(field.id)
      continue
    }
    const kind = changeOf({ field, path }, after, formatVersion)
    if (kind === undefined) continue
    const isRenamed = kind === 'rename_column'
    ;(isRenamed ? renamed : covered).add(field.id)
    // the fields of a renamed column have another path, and mostly no other change
    if (isRenamed && parentId !== undefined && renamed.has(parentId)) continue
    changed.push(touchedColumn(before, kind, field.id))
  }
  return changed
}

/** Columns that the later schema adds, and that every row must have a value for: required ones without a default. */
export function addedRequiredColumns({ before, after }: SchemaStep): readonly string[] {
  return [...walkFields(after)]
    .filter(
      ({ field, parentId }) => isNewIn(before, field.id) && !(parentId !== undefined && isNewIn(before, parentId)),
    )
    .filter(({ field }) => field.required && field.writeDefault === undefined)
    .map(({ path }) => path)
}

function isNewIn(schema: Schema, id: number): boolean {
  return fieldById(schema, id) === undefined
}

interface Placed {
  readonly field: NestedField
  readonly path: string
}

function changeOf({ field, path }: Placed, after: Schema, formatVersion: number): TouchedColumn['kind'] | undefined {
  const now = fieldById(after, field.id)
  if (now === undefined) return 'drop_column'
  const isNarrower = (now.required && !field.required) || !keepsValues(field.type, now.type, formatVersion)
  if (isNarrower) return 'alter_column'
  return fieldPath(after, field.id) === path ? undefined : 'rename_column'
}

/** Whether a column of the first type can have the second one; fields of structs, lists and maps are compared alone. */
function keepsValues(from: Type, to: Type, formatVersion: number): boolean {
  if (from.kind === 'struct' || from.kind === 'list' || from.kind === 'map') return from.kind === to.kind
  return canPromote(from, to, formatVersion)
}
