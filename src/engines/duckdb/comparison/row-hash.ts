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
  return `hash(hash(${columns.flatMap(({ sql, type }) => distinguish('hash', { type, value: sql, depth: 0 })).join(', ')}))`
}

/**
 * SQL expressions over some columns of one row, which `GROUP BY` and `DISTINCT` compare exactly: two rows have the same results
 * when all their values are the same in the sense of {@link rowHash}.
 */
export function rowIdentity(columns: readonly HashedColumn[]): readonly string[] {
  return columns.flatMap(({ sql, type }) => distinguish('row', { type, value: sql, depth: 0 }))
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

/** How the parts of a list element become one value: its hash, or a struct of them. */
type Combine = 'hash' | 'row'

/** A value, as SQL; `depth` makes lambda parameters unique. */
interface Distinguished {
  readonly type: Type
  readonly value: string
  readonly depth: number
}

/** SQL that states all that distinguishes a value. */
function distinguish(combine: Combine, { type, value, depth }: Distinguished): readonly string[] {
  switch (type.kind) {
    case 'float':
    case 'double':
      return [value, `(${value} = 0 AND signbit(${value}))`]
    case 'struct':
      return [
        `(${value} IS NULL)`,
        ...structMembers(type.fields).flatMap(([name, member]) =>
          distinguish(combine, { type: member.type, value: `(${value}).${quoteName(name)}`, depth }),
        ),
      ]
    case 'list':
      return distinguishList(combine, { type: type.element, value, depth })
    case 'map':
      return [
        ...distinguishList(combine, { type: type.key, value: `map_keys(${value})`, depth }),
        ...distinguishList(combine, { type: type.value, value: `map_values(${value})`, depth }),
      ]
    default:
      return [value]
  }
}

/** `value` is a list of elements of `type`. The length distinguishes NULL, an empty list and lists of NULLs or zeros. */
function distinguishList(combine: Combine, { type, value, depth }: Distinguished): readonly string[] {
  const item = `h${depth}`
  const parts = distinguish(combine, { type, value: item, depth: depth + 1 })
  const isPlain = parts.length === 1 && parts[0] === item
  const elements = isPlain ? value : `list_transform(${value}, lambda ${item}: ${combine}(${parts.join(', ')}))`
  return [`len(${value})`, elements]
}
