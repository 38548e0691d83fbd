import { ORIGINAL_WRITERS } from '../parquet/footer.ts'
import { COMPACT } from '../parquet/compact-reader.ts'
import {
  concat,
  encodeStruct,
  integerField,
  readInteger,
  structField,
  structList,
  textField,
} from '../parquet/compact-struct.ts'
import type { StoredField, StoredStruct } from '../parquet/compact-struct.ts'
import { withLineage } from './lineage-leaves.ts'
import { NotCopyableError } from '../parquet/not-copyable-error.ts'
import { MAX_ROW_GROUPS } from '../parquet/stored-footer.ts'
import type { ByteRange, StoredChunk, StoredFooter, StoredRowGroup } from '../parquet/stored-footer.ts'

/** Where a copied column chunk is in the new file. */
export interface PlacedChunk {
  readonly source: StoredChunk
  readonly pages: ByteRange
  /** First data page. */
  readonly dataStart: number
  columnIndex?: ByteRange
  offsetIndex?: ByteRange
  bloomFilter?: ByteRange
}

/** A copied row group. */
export interface PlacedRowGroup {
  readonly source: StoredRowGroup
  readonly chunks: readonly PlacedChunk[]
}

/** The program that wrote a file, in the form of parquet.thrift. Pages are those of other programs, see {@link ORIGINAL_WRITERS}. */
const CREATED_BY = 'lockhouse version 1.0.0 (build row-group-copy)'
/** Key-value metadata about the schema, which is kept where all inputs agree. Others may be about the rows of one file. */
const KEPT_KEYS: readonly string[] = [
  'iceberg.schema',
  'ARROW:schema',
  'parquet.avro.schema',
  'org.apache.spark.sql.parquet.row.metadata',
]
/** Readers that know these keys would read columns in another way without them. */
const REFUSED_KEYS: readonly string[] = ['geo']
/**
 * Writers whose statistics and pages readers take as they are. Readers do not trust others (old ones of Parquet in Java and C++, for
 * example) and would no longer recognize them in a joined file.
 */
const TRUSTED_WRITERS: readonly RegExp[] = [
  /^DuckDB\b/,
  /^parquet-mr version 1\.1\d\b/,
  /^parquet-cpp-arrow version ([4-9]|\d\d)\b/,
  /^parquet-rs version \d+/,
  /^Polars\b/,
  /^lockhouse\b/,
]

/** The programs that wrote the pages of a file. */
function writersOf({ createdBy, keyValues }: Pick<StoredFooter, 'createdBy' | 'keyValues'>): readonly string[] {
  const originals = keyValues.get(ORIGINAL_WRITERS)
  return originals === undefined ? [createdBy] : originals.split('\n')
}

/** Refuses files that cannot stand under one footer: other schemas, column orders or writers. */
export function requireJoinable(inputs: readonly StoredFooter[]): void {
  const [first] = inputs
  if (first === undefined) return
  const key = joinKey(first)
  for (const input of inputs) {
    if (joinKey(input) !== key) throw new NotCopyableError('the files have different Parquet schemas')
    const refused = REFUSED_KEYS.find((name) => input.keyValues.has(name))
    if (refused !== undefined) throw new NotCopyableError(`a file has the metadata "${refused}"`)
    const unknown = writersOf(input).find((writer) => !TRUSTED_WRITERS.some((pattern) => pattern.test(writer)))
    if (unknown !== undefined) throw new NotCopyableError(`a file was written by "${unknown}", which is not known here`)
  }
  const rowGroups = inputs.reduce((sum, input) => sum + input.rowGroups.length, 0)
  if (rowGroups > MAX_ROW_GROUPS) throw new NotCopyableError(`the files have more than ${MAX_ROW_GROUPS} row groups`)
}

const latin1 = new TextDecoder('latin1')

/** The same text for schemas with the same elements below the root, whose name means nothing, and the same column orders. */
export function joinKey({ schema, fields }: StoredFooter): string {
  const orders = fields.get(7)
  return latin1.decode(concat([...schema.slice(1), Uint8Array.of(0), orders?.bytes ?? new Uint8Array()]))
}

/**
 * The footer of a file with copied row groups: everything as it was but positions, ordinals and the writer. With `hasLineage`, the
 * schema has the lineage columns as well, and metadata about the schema is left out.
 */
export function joinedFooter(
  inputs: readonly StoredFooter[],
  rowGroups: readonly PlacedRowGroup[],
  { hasLineage }: { readonly hasLineage: boolean },
): Uint8Array {
  const [first] = inputs
  const version = Math.max(...inputs.map(({ fields, location }) => readInteger(fields.get(1), location) ?? 1))
  const fields = new Map<number, StoredField>([
    ...(first === undefined ? [] : hasLineage ? withLineage(first) : first.fields),
    [1, integerField(version, COMPACT.i32)],
    [3, integerField(rowGroups.reduce((sum, { source }) => sum + source.rows, 0))],
    [4, structList(rowGroups.map(encodeRowGroup))],
    [5, structList(joinedKeyValues(inputs, hasLineage ? [] : KEPT_KEYS).map(encodeKeyValue))],
    [6, textField(CREATED_BY)],
  ])
  return encodeStruct(fields)
}

function joinedKeyValues(
  inputs: readonly StoredFooter[],
  keys: readonly string[],
): readonly (readonly [string, string])[] {
  const writers = new Set(inputs.flatMap(writersOf))
  const kept = keys.flatMap((key) => {
    const [value, ...others] = new Set(inputs.map(({ keyValues }) => keyValues.get(key)))
    return value === undefined || others.length > 0 ? [] : [[key, value] as const]
  })
  return [...kept, [ORIGINAL_WRITERS, [...writers].join('\n')]]
}

function encodeKeyValue([key, value]: readonly [string, string]): Uint8Array {
  return encodeStruct(
    new Map([
      [1, textField(key)],
      [2, textField(value)],
    ]),
  )
}

function encodeRowGroup({ source, chunks }: PlacedRowGroup, ordinal: number): Uint8Array {
  return encodeStruct(
    new Map([
      ...source.fields,
      [1, structList(chunks.map(encodeChunk))],
      [5, integerField(Math.min(...chunks.map(({ pages }) => pages.start)))],
      [6, integerField(source.bytes)],
      [7, integerField(ordinal, 4)],
    ]),
  )
}

function encodeChunk(placed: PlacedChunk): Uint8Array {
  const { source, pages, dataStart, columnIndex, offsetIndex, bloomFilter } = placed
  const meta = moved(source.meta, [
    [9, dataStart],
    [11, dataStart > pages.start ? pages.start : undefined],
    [14, bloomFilter?.start],
  ])
  if (bloomFilter !== undefined) meta.set(15, integerField(bloomFilter.end - bloomFilter.start, COMPACT.i32))
  const chunk = moved(source.chunk, [
    [2, pages.start],
    [4, offsetIndex?.start],
    [6, columnIndex?.start],
  ])
  chunk.set(3, structField(meta))
  if (offsetIndex !== undefined) chunk.set(5, integerField(offsetIndex.end - offsetIndex.start, COMPACT.i32))
  return encodeStruct(chunk)
}

/** A struct with other offsets; an offset that is undefined is left out. */
function moved(
  fields: StoredStruct,
  offsets: readonly (readonly [id: number, offset: number | undefined])[],
): Map<number, StoredField> {
  const changed = new Map(fields)
  for (const [id, offset] of offsets) {
    if (offset === undefined) changed.delete(id)
    else changed.set(id, integerField(offset))
  }
  return changed
}
