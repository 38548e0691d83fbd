import { IcebergError } from '../../../iceberg/errors.ts'
import type { NestedField, Type } from '../../../iceberg/schema/types.ts'
import { isNested } from '../../../iceberg/schema/types.ts'

import { leafIds } from '../parquet/file-columns.ts'
import type { StoredSchema } from '../parquet/file-columns.ts'
import { NotCopyableError } from '../parquet/not-copyable-error.ts'
import { quoteName } from '../session/sql-text.ts'
import { structMembers } from '../session/type-mapping.ts'

/** A primitive of an output file that has statistics. */
export interface LeafColumn {
  readonly field: NestedField
  /** Its name in statistics. */
  readonly statisticsKey: string
  /** Dotted path of table names, as in metrics properties. */
  readonly path: string
  /** The top-level column it is in. */
  readonly topLevelId: number
  /** Whether it is inside a list or map, where a file has many values per row and bounds mean nothing. */
  readonly isRepeated: boolean
}

/** All primitives of the columns, in order. */
export function leafColumns(fields: readonly NestedField[]): readonly LeafColumn[] {
  const leaves: LeafColumn[] = []
  const visit = (leaf: LeafColumn): void => {
    const { field, statisticsKey, path } = leaf
    const { type } = field
    const inner = (child: NestedField, name: string, isRepeated: boolean): void =>
      visit({
        ...leaf,
        field: child,
        statisticsKey: `${statisticsKey}.${quoteName(name)}`,
        path: `${path}.${child.name}`,
        isRepeated,
      })
    if (!isNested(type)) leaves.push(leaf)
    else if (type.kind === 'struct')
      for (const [name, child] of structMembers(type.fields)) inner(child, name, leaf.isRepeated)
    else for (const child of parts(type)) inner(child, child.name, true)
  }
  for (const [name, field] of structMembers(fields)) {
    visit({ field, statisticsKey: quoteName(name), path: field.name, topLevelId: field.id, isRepeated: false })
  }
  return leaves
}

function parts(type: Type): NestedField[] {
  if (type.kind === 'list')
    return [{ id: type.elementId, name: 'element', required: type.elementRequired, type: type.element }]
  if (type.kind !== 'map') return []
  return [
    { id: type.keyId, name: 'key', required: true, type: type.key },
    { id: type.valueId, name: 'value', required: type.valueRequired, type: type.value },
  ]
}

/**
 * Compares the schema in the footer of a written file with the table's: field ids, types and nesting (docs/iceberg-notes.md#parquet-types);
 * `ENGINE_FAILED` when they differ. The engine that wrote the footer has no part in this.
 */
export function verifyLayout(footer: StoredSchema, fields: readonly NestedField[]): void {
  try {
    leafIds(footer, fields, new Set(fields.map(({ id }) => id)))
  } catch (error) {
    if (!(error instanceof NotCopyableError)) throw error
    const message = `a new file does not have the layout of the table's schema: ${error.message}`
    throw new IcebergError('ENGINE_FAILED', message, { cause: error })
  }
}
