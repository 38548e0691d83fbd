import { fieldPath, type Schema, walkFields } from '../../../iceberg/schema/schema.ts'
import { Turns } from '../../../iceberg/turns.ts'
import { touchedColumn, type TouchedColumn } from '../../../maintenance/evolve.ts'

/**
 * Columns of a schema that the next one drops or names differently, in the order of the schema; a dropped or renamed
 * struct, list or map is listed without its fields. The time grows with the number of fields.
 */
export async function changedColumns(before: Schema, after: Schema): Promise<readonly TouchedColumn[]> {
  const changed: TouchedColumn[] = []
  const covered = new Set<number>()
  const turns = new Turns()
  for (const { field, path, parentId } of walkFields(before)) {
    await turns.next()
    const now = fieldPath(after, field.id)
    if (now === path) continue
    covered.add(field.id)
    if (parentId !== undefined && covered.has(parentId)) continue
    changed.push(touchedColumn(before, now === undefined ? 'drop_column' : 'rename_column', field.id))
  }
  return changed
}
