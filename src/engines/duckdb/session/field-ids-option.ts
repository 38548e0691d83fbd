import type { NestedField, Type } from '../../../iceberg/schema/types.ts'

import { quoteName } from './sql-text.ts'
import { structMembers } from './type-mapping.ts'

/** DuckDB's FIELD_IDS option for the columns of a file, ids of nested fields included. */
export function fieldIdsOption(fields: readonly NestedField[]): string {
  return `{${structMembers(fields)
    .map(([name, field]) => `${quoteName(name)}: ${idTree(field.id, field.type)}`)
    .join(', ')}}`
}

function idTree(id: number, type: Type): string {
  switch (type.kind) {
    case 'struct': {
      const members = structMembers(type.fields).map(
        ([name, field]) => `, ${quoteName(name)}: ${idTree(field.id, field.type)}`,
      )
      return `{__duckdb_field_id: ${id}${members.join('')}}`
    }
    case 'list':
      return `{__duckdb_field_id: ${id}, element: ${idTree(type.elementId, type.element)}}`
    case 'map':
      return `{__duckdb_field_id: ${id}, key: ${idTree(type.keyId, type.key)}, value: ${idTree(type.valueId, type.value)}}`
    default:
      return String(id)
  }
}
