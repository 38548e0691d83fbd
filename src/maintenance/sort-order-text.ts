import { IcebergError } from '../iceberg/errors.ts'
import { currentSchema } from '../iceberg/metadata.ts'
import type { TableMetadata } from '../iceberg/metadata.ts'
import { findField } from '../iceberg/schema.ts'
import type { SortField, SortOrder } from '../iceberg/sort-order.ts'
import { isNested } from '../iceberg/types.ts'

const TERM = /^(?:`([^`]+)`|"([^"]+)"|([A-Za-z_][\w.]*))(?:\s+(ASC|DESC))?(?:\s+NULLS\s+(FIRST|LAST))?$/i

/**
 * Reads a sort order such as `a ASC NULLS FIRST, b DESC` against the current schema. Nulls come first when ascending and
 * last when descending unless said otherwise. An order that the table already has keeps its id; any other has id 0.
 * Throws `INVALID_ARGUMENT`, `NO_SUCH_COLUMN`.
 */
export function parseSortOrderText(text: string, metadata: TableMetadata): SortOrder {
  const fields = text.split(',').map((term) => parseTerm(term.trim(), metadata))
  const known = metadata.sortOrders.find((order) => sameFields(order.fields, fields))
  return known ?? { orderId: 0, fields }
}

/** The sort order a compaction uses: from the request's text, else the table's own; `INVALID_ARGUMENT` without either. */
export function resolveSortOrder(text: string | undefined, metadata: TableMetadata): SortOrder {
  if (text !== undefined) return parseSortOrderText(text, metadata)
  const own = metadata.sortOrders.find((order) => order.orderId === metadata.defaultSortOrderId)
  if (own === undefined || own.fields.length === 0) {
    throw new IcebergError(
      'INVALID_ARGUMENT',
      'strategy "sort" needs sort_order: the table itself has no sort order to use',
    )
  }
  return own
}

function parseTerm(term: string, metadata: TableMetadata): SortField {
  const match = TERM.exec(term)
  const name = match?.[1] ?? match?.[2] ?? match?.[3]
  if (match === null || name === undefined) {
    throw new IcebergError(
      'INVALID_ARGUMENT',
      `sort_order: cannot read "${term}"; write columns as "name [ASC|DESC] [NULLS FIRST|LAST]", separated by commas`,
    )
  }
  const field = findField(currentSchema(metadata), name)
  if (field === undefined) throw new IcebergError('NO_SUCH_COLUMN', `sort_order: the table has no column "${name}"`)
  if (isNested(field.type)) {
    throw new IcebergError('INVALID_ARGUMENT', `sort_order: column "${name}" is nested and has no order`)
  }
  const direction = match[4]?.toUpperCase() === 'DESC' ? 'desc' : 'asc'
  const nulls = match[5]?.toUpperCase()
  const nullsFirst = nulls === undefined ? direction === 'asc' : nulls === 'FIRST'
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
