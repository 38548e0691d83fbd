import { LAST_UPDATED, ROW_ID } from '../../../iceberg/schema/lineage-columns.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import { COMPACT } from '../parquet/compact-reader.ts'
import {
  encodeStruct,
  integerField,
  readInteger,
  readStored,
  readStructs,
  structField,
  structList,
  textField,
} from '../parquet/compact-struct.ts'
import type { StoredField, StoredStruct } from '../parquet/compact-struct.ts'
import { NotCopyableError } from '../parquet/not-copyable-error.ts'
import type { StoredChunk, StoredFooter, StoredRowGroup } from '../parquet/stored-footer.ts'

/** The columns of row lineage, in the order in which new files have them. */
export const LINEAGE: readonly NestedField[] = [ROW_ID, LAST_UPDATED]

/** A footer whose lineage columns are taken out. */
export interface SplitFooter {
  /** All other columns. */
  readonly rest: StoredFooter
  /**
   * The stored lineage columns alone, named {@link storedName}, without statistics, indexes and filters: nothing that could be wrong
   * about the values. Undefined when the file stores none.
   */
  readonly lineage: StoredFooter | undefined
  /** Field ids of the stored lineage columns. */
  readonly storedIds: ReadonlySet<number>
}

/** Name of a lineage column in {@link SplitFooter.lineage}. */
export const storedName = (id: number): string => `c${id}`

/** Fields of `ColumnMetaData` about values, which are left out: statistics, filters, sizes and boxes. */
const ABOUT_VALUES = [12, 13, 14, 15, 16, 17]
/** `Type.INT64` in parquet.thrift. */
const INT64 = 2
/** `FieldRepetitionType.OPTIONAL` in parquet.thrift. */
const OPTIONAL = 1

interface Column {
  readonly id: number | undefined
  readonly elements: readonly Uint8Array[]
  /** Positions of its leaves among those of the file. */
  readonly leaves: readonly number[]
}

/** Splits a footer of which `leafIds` was checked. {@link NotCopyableError} if the footer does not have one order for each column. */
export function splitLineage(footer: StoredFooter): SplitFooter {
  const columns = topLevel(footer)
  const isLineage = ({ id }: Column): boolean => LINEAGE.some((field) => field.id === id)
  const stored = columns.filter(isLineage)
  if (stored.length === 0) return { rest: footer, lineage: undefined, storedIds: new Set() }
  const named = stored.map((column) => ({
    ...column,
    elements: column.elements.map((bytes) => renamed(bytes, footer)),
  }))
  const others = columns.filter((column) => !isLineage(column))
  return {
    rest: project(footer, others, (chunk) => chunk),
    lineage: withoutOrders(project(footer, named, bare)),
    storedIds: new Set(stored.flatMap(({ id = 0 }) => id)),
  }
}

/** The footer's fields with both lineage columns at the end of the schema; `schema` has the elements of the others. */
export function withLineage({ fields, schema, location }: StoredFooter): StoredStruct {
  const changed = new Map(fields)
  const [root = new Uint8Array(), ...elements] = schema
  const top = readStored(root, location)
  const count = (readInteger(top.get(5), location) ?? 0) + LINEAGE.length
  changed.set(2, structList([withCount(top, count), ...elements, ...LINEAGE.map(lineageElement)]))
  const orders = fields.get(7)
  if (orders !== undefined) {
    const byType = encodeStruct(new Map([[1, structField(new Map())]]))
    changed.set(7, structList([...readStructs(orders, location), ...LINEAGE.map(() => byType)]))
  }
  return changed
}

function lineageElement({ id, name }: NestedField): Uint8Array {
  return encodeStruct(
    new Map([
      [1, integerField(INT64, COMPACT.i32)],
      [3, integerField(OPTIONAL, COMPACT.i32)],
      [4, textField(name)],
      [9, integerField(id, COMPACT.i32)],
    ]),
  )
}

function withCount(element: StoredStruct, count: number): Uint8Array {
  return encodeStruct(new Map([...element, [5, integerField(count, COMPACT.i32)]]))
}

function topLevel({ schema, location }: StoredFooter): readonly Column[] {
  const columns: Column[] = []
  let leaves = 0
  for (let at = 1; at < schema.length;) {
    const start = at
    const own: number[] = []
    for (let open = 1; open > 0; at += 1) {
      const bytes = schema[at]
      if (bytes === undefined) throw new NotCopyableError('the schema of a file is cut off')
      const element = readStored(bytes, location)
      if (element.has(1)) own.push(leaves++)
      open += (readInteger(element.get(5), location) ?? 0) - 1
    }
    const id = readInteger(readStored(schema[start] ?? new Uint8Array(), location).get(9), location)
    columns.push({ id, elements: schema.slice(start, at), leaves: own })
  }
  return columns
}

function project(
  footer: StoredFooter,
  columns: readonly Column[],
  change: (chunk: StoredChunk) => StoredChunk,
): StoredFooter {
  const { location } = footer
  const leaves = columns.flatMap((column) => column.leaves)
  const [root = new Uint8Array()] = footer.schema
  const schema = [withCount(readStored(root, location), columns.length), ...columns.flatMap(({ elements }) => elements)]
  const fields = new Map(footer.fields)
  fields.set(2, structList(schema))
  const orders = fields.get(7)
  if (orders !== undefined) fields.set(7, chosenOrders(orders, leaves, footer))
  const rowGroups = footer.rowGroups.map((group) => chosenChunks(group, leaves, change))
  return { ...footer, fields, schema, rowGroups }
}

function chosenOrders(orders: StoredField, leaves: readonly number[], { location }: StoredFooter): StoredField {
  const stored = readStructs(orders, location)
  return structList(
    leaves.map((leaf) => {
      const order = stored[leaf]
      if (order === undefined) throw new NotCopyableError('a file does not have an order for each column')
      return order
    }),
  )
}

function chosenChunks(
  { fields, rows, chunks }: StoredRowGroup,
  leaves: readonly number[],
  change: (chunk: StoredChunk) => StoredChunk,
): StoredRowGroup {
  const chosen = leaves.map((leaf) => {
    const chunk = chunks[leaf]
    if (chunk === undefined) throw new NotCopyableError('a row group does not have one chunk for each column')
    return change(chunk)
  })
  const changed = new Map(fields)
  // the columns that a row group is sorted by are named by their positions
  changed.delete(4)
  const left = chunks.filter((_, leaf) => !leaves.includes(leaf))
  const size = readInteger(fields.get(2), 'a row group') ?? 0
  changed.set(2, integerField(Math.max(0, size - left.reduce((sum, chunk) => sum + plainSize(chunk), 0))))
  return {
    fields: changed,
    rows,
    chunks: chosen,
    bytes: chosen.reduce((sum, { pages }) => sum + pages.end - pages.start, 0),
  }
}

/** Bytes of the pages of a chunk before compression. */
export function plainSize({ meta }: StoredChunk): number {
  return readInteger(meta.get(6), 'a column chunk') ?? 0
}

function bare(chunk: StoredChunk): StoredChunk {
  const meta = new Map(chunk.meta)
  for (const id of ABOUT_VALUES) meta.delete(id)
  const fields = new Map(chunk.chunk)
  for (const id of [4, 5, 6, 7]) fields.delete(id)
  return { ...chunk, chunk: fields, meta, nulls: undefined, ...NOTHING }
}

const NOTHING = { columnIndex: undefined, offsetIndex: undefined, bloomFilter: undefined } as const

function renamed(bytes: Uint8Array, { location }: StoredFooter): Uint8Array {
  const element = readStored(bytes, location)
  const name = storedName(readInteger(element.get(9), location) ?? 0)
  return encodeStruct(new Map([...element, [4, textField(name)]]))
}

function withoutOrders(footer: StoredFooter): StoredFooter {
  const fields = new Map(footer.fields)
  fields.delete(7)
  return { ...footer, fields }
}
