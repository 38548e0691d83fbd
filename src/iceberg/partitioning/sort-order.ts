import { asObject, invalid, requireArray, requireInt, requireString } from '../json/json-fields.ts'
import type { JsonObject, JsonValue } from '../json/lossless-json.ts'
import { parseTransformSource, transformSourceToJson } from './partitioning.ts'
import { formatTransform } from './transforms.ts'
import type { Transform } from './transforms.ts'

export interface SortField {
  readonly sourceId: number
  /** v3 transforms of several columns (their transform is `unknown` here): all sources, `sourceId` first. */
  readonly sourceIds?: readonly number[]
  readonly transform: Transform
  readonly direction: 'asc' | 'desc'
  readonly nullOrder: 'nulls-first' | 'nulls-last'
}

/** A sort order (Iceberg spec, "Sorting"); order 0 is unsorted. */
export interface SortOrder {
  readonly orderId: number
  readonly fields: readonly SortField[]
}

/** Reads a sort order (Iceberg spec, Appendix C). */
export function parseSortOrder(json: JsonValue, where = 'sort order'): SortOrder {
  const object = asObject(json, where)
  const fields = requireArray(object, 'fields', where)
  return {
    orderId: requireInt(object, 'order-id', where),
    fields: fields.map((entry, index) => {
      const place = `${where}: field ${index}`
      return parseSortField(asObject(entry, place), place)
    }),
  }
}

function parseSortField(json: JsonObject, where: string): SortField {
  return {
    ...parseTransformSource(json, where),
    direction: oneOf(requireString(json, 'direction', where), ['asc', 'desc'] as const, `${where}: "direction"`),
    nullOrder: oneOf(
      requireString(json, 'null-order', where),
      ['nulls-first', 'nulls-last'] as const,
      `${where}: "null-order"`,
    ),
  }
}

function oneOf<T extends string>(text: string, choices: readonly T[], where: string): T {
  const found = choices.find((choice) => choice === text.toLowerCase())
  if (found === undefined) throw invalid(where, `must be ${choices.join(' or ')}, found "${text.slice(0, 40)}"`)
  return found
}

/** Writes a sort order in its JSON form. */
export function sortOrderToJson(order: SortOrder): JsonObject {
  return {
    'order-id': order.orderId,
    fields: order.fields.map((field) => ({
      transform: formatTransform(field.transform),
      ...transformSourceToJson(field),
      direction: field.direction,
      'null-order': field.nullOrder,
    })),
  }
}
