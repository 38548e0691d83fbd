import { IcebergError } from '../../iceberg/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { findField } from '../../iceberg/schema/schema.ts'
import type { SortField, SortOrder } from '../../iceberg/partitioning/sort-order.ts'
import { isNested } from '../../iceberg/schema/types.ts'

/** One term and its terminator; quotes inside a quoted name are doubled. */
const TERM =
  /\s*(?:`((?:[^`]|``)+)`|"((?:[^"]|"")+)"|([A-Za-z_][\w.]*))(?:\s+(ASC|DESC))?(?:\s+NULLS\s+(FIRST|LAST))?\s*(,|$)/iy

/**
 * Reads a sort order such as `a ASC NULLS FIRST, "odd, name" DESC` against the current schema. Nulls come first when ascending and
 * last when descending unless said otherwise. An order that the table already has keeps its id; any other has id 0.
 * Throws `INVALID_ARGUMENT`, `NO_SUCH_COLUMN`.
 */
export function parseSortOrderText(text: string, metadata: TableMetadata): SortOrder {
  const fields = termsOf(text).map((term) => toSortField(term, metadata))
  const known = metadata.sortOrders.find((order) => sameFields(order.fields, fields))
  return known ?? { orderId: 0, fields }
}

/** The sort order a compaction uses: from the request's text, else the table's own; `INVALID_ARGUMENT` without either. */
export function resolveSortOrder(text: string | undefined, metadata: TableMetadata): SortOrder {
  if (text !== undefined) return parseSortOrderText(text, metadata)
  const own = metadata.sortOrders.find((order) => order.orderId === metadata.defaultSortOrderId)
  if (own === undefined || own.fields.length === 0) {
    throw new IcebergError('INVALID_ARGUMENT', 'strategy "sort" needs sort_order: the table has no sort order')
  }
  return own
}

interface Term {
  readonly name: string
  readonly direction: string | undefined
  readonly nulls: string | undefined
}

function termsOf(text: string): readonly Term[] {
  const terms: Term[] = []
  for (let at = 0; ;) {
    TERM.lastIndex = at
    const match = TERM.exec(text)
    const name = match === null ? undefined : columnNameOf(match)
    if (match === null || name === undefined) throw unreadable(text.slice(at).trim())
    terms.push({ name, direction: match[4]?.toUpperCase(), nulls: match[5]?.toUpperCase() })
    if (match[6] === '') return terms
    at = TERM.lastIndex
  }
}

function columnNameOf(match: RegExpExecArray): string | undefined {
  return match[1]?.replaceAll('``', '`') ?? match[2]?.replaceAll('""', '"') ?? match[3]
}

function unreadable(rest: string): IcebergError {
  const rule =
    'write columns as "name [ASC|DESC] [NULLS FIRST|LAST]", separated by commas, and quote names with special characters'
  return new IcebergError('INVALID_ARGUMENT', `sort_order: cannot read "${rest.slice(0, 100)}"; ${rule}`)
}

function toSortField({ name, ...term }: Term, metadata: TableMetadata): SortField {
  const field = findField(currentSchema(metadata), name)
  if (field === undefined) throw new IcebergError('NO_SUCH_COLUMN', `sort_order: the table has no column "${name}"`)
  if (isNested(field.type)) {
    throw new IcebergError('INVALID_ARGUMENT', `sort_order: column "${name}" is nested and cannot be sorted`)
  }
  const direction = term.direction === 'DESC' ? 'desc' : 'asc'
  const nullsFirst = term.nulls === undefined ? direction === 'asc' : term.nulls === 'FIRST'
  return {
    sourceId: field.id,
    transform: { kind: 'identity' },
    direction,
    nullOrder: nullsFirst ? 'nulls-first' : 'nulls-last',
  }
}

function sameFields(a: readonly SortField[], b: readonly SortField[]): boolean {
  return (
    a.length === b.length &&
    a.every((field, index) => {
      const other = b[index]
      return (
        other !== undefined &&
        field.sourceId === other.sourceId &&
        field.transform.kind === other.transform.kind &&
        field.direction === other.direction &&
        field.nullOrder === other.nullOrder
      )
    })
  )
}
