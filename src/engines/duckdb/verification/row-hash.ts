import type { NestedField, Type } from '../../../iceberg/schema/types.ts'

import { quoteName } from '../session/sql-text.ts'
import { structMembers } from '../session/type-mapping.ts'

/**
 * SQL of a 64-bit hash of some columns of one row; `columns` are SQL expressions of the given types. Two rows have the
 * same hash when all their values are the same: -0.0 differs from 0.0, NULL from a default, an empty list from NULL and
 * from a list of NULL, a NULL struct from a struct of NULLs. All NaNs are the same value.
 *
 * DuckDB's own `hash` does not distinguish those, so its input states them explicitly. The result is hashed again, because the
 * last argument enters `hash` unmixed.
 */
export function rowHash(columns: readonly HashedColumn[]): string {
  return `hash(hash(${columns.flatMap(({ sql, type }) => hashArguments(type, sql, 0)).join(', ')}))`
}

/** A column of a {@link rowHash}: SQL of its value, and its type. */
export interface HashedColumn {
  readonly sql: string
  readonly type: Type
}

/** The columns `c<id>` of a scan `s`. */
export function scanColumns(fields: readonly NestedField[]): readonly HashedColumn[] {
  return fields.map(({ id, type }) => ({ sql: `s.c${id}`, type }))
}

/** The arguments of `hash` for a value. `depth` makes lambda parameters unique. */
function hashArguments(type: Type, value: string, depth: number): readonly string[] {
  switch (type.kind) {
    case 'float':
    case 'double':
      return [value, `(${value} = 0 AND signbit(${value}))`]
    case 'struct':
      return [
        `(${value} IS NULL)`,
        ...structMembers(type.fields).flatMap(([name, member]) =>
          hashArguments(member.type, `(${value}).${quoteName(name)}`, depth),
        ),
      ]
    case 'list':
      return listArguments(type.element, value, depth)
    case 'map':
      return [
        ...listArguments(type.key, `map_keys(${value})`, depth),
        ...listArguments(type.value, `map_values(${value})`, depth),
      ]
    default:
      return [value]
  }
}

/** The length distinguishes NULL, an empty list and lists of NULLs or zeros. */
function listArguments(element: Type, list: string, depth: number): readonly string[] {
  const item = `h${depth}`
  const parts = hashArguments(element, item, depth + 1)
  const isPlain = parts.length === 1 && parts[0] === item
  const elements = isPlain ? list : `list_transform(${list}, lambda ${item}: hash(${parts.join(', ')}))`
  return [`len(${list})`, elements]
}
