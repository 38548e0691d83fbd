/** A node of a Parquet schema as a test wants it, annotated or not, whatever other writers would do. */
export interface ParquetNode {
  readonly name: string
  readonly repetition: 'required' | 'optional' | 'repeated'
  readonly id?: number
  /** Number of the converted type (`ConvertedType` of parquet.thrift). */
  readonly converted?: number
  /** Members of a group; a node without members is a leaf. */
  readonly children?: readonly ParquetNode[]
  readonly physical?: Physical
}

/** Physical types, by their numbers in parquet.thrift. */
const PHYSICAL = { INT32: 1, INT64: 2, INT96: 3, DOUBLE: 5, BYTE_ARRAY: 6 } as const
type Physical = keyof typeof PHYSICAL

/** Numbers of `ConvertedType` in parquet.thrift. */
export const CONVERTED = { UTF8: 0, MAP: 1, MAP_KEY_VALUE: 2, LIST: 3, TIMESTAMP_MILLIS: 9 } as const

/**
 * A value of a node: an object for a group, an array for a repeated node, null for an optional node without a value,
 * a number, bigint, text or bytes for a leaf.
 */
export type ParquetValue =
  | null
  | number
  | bigint
  | string
  | Uint8Array
  | readonly ParquetValue[]
  | { readonly [name: string]: ParquetValue }

export interface ParquetOptions {
  /** Whether column chunks have statistics with their number of nulls; default true. */
  readonly hasStatistics?: boolean
  /** Codec that the footer names; the pages are never compressed. Default: none. */
  readonly codec?: number
  /** Numbers of the encodings that the footer names; the pages are plain. Default: plain and RLE. */
  readonly encodings?: readonly number[]
  /** What the pages say, true or not; default: plain data pages of as many values as they have. */
  readonly page?: PageOptions
}

interface PageOptions {
  /** Number of `PageType` in parquet.thrift; 0 is a data page. */
  readonly type?: number
  /** Number of `Encoding` in parquet.thrift; 0 is plain. */
  readonly encoding?: number
  /** Number of values that the header has. */
  readonly values?: number
  /** Bytes of the values, instead of theirs. */
  readonly content?: Uint8Array
}

/** A Parquet file of one row group: plain encoding, no compression, one page for each column. */
export function parquetBytes(
  columns: readonly ParquetNode[],
  rows: readonly Readonly<Record<string, ParquetValue>>[],
  { hasStatistics = true, codec = 0, encodings = [0, 3], page: pageOptions = {} }: ParquetOptions = {},
): Uint8Array {
  const body = [ascii('PAR1')]
  const leaves = leavesOf(columns)
  for (const row of rows) for (const column of columns) shred(column, row[column.name] ?? null, leaves)
  let offset = 4
  const chunks = [...leaves.entries()].map(([node, leaf]) => {
    const page = pageOf(leaf, pageOptions)
    body.push(page)
    const chunk = { node, leaf, offset, size: page.length }
    offset += page.length
    return chunk
  })
  const footer = new Thrift().struct({
    1: { i32: 1 },
    2: { structs: [rootOf(columns), ...columns.flatMap(elementsOf)] },
    3: { i64: rows.length },
    4: {
      structs: [
        {
          1: { structs: chunks.map((chunk) => chunkOf(chunk, { hasStatistics, codec, encodings })) },
          2: { i64: offset },
          3: { i64: rows.length },
        },
      ],
    },
  })
  return bytesOf([...body, footer, littleEndian(footer.length, 4), ascii('PAR1')])
}

interface Leaf {
  readonly path: readonly string[]
  readonly maxRepetition: number
  readonly maxDefinition: number
  readonly repetitions: number[]
  readonly definitions: number[]
  readonly values: Uint8Array[]
}

type Leaves = ReadonlyMap<ParquetNode, Leaf>

function leavesOf(columns: readonly ParquetNode[]): Leaves {
  const leaves = new Map<ParquetNode, Leaf>()
  const visit = (node: ParquetNode, outer: Pick<Leaf, 'path' | 'maxRepetition' | 'maxDefinition'>): void => {
    const own = {
      path: [...outer.path, node.name],
      maxRepetition: outer.maxRepetition + Number(node.repetition === 'repeated'),
      maxDefinition: outer.maxDefinition + Number(node.repetition !== 'required'),
    }
    if (node.children) for (const child of node.children) visit(child, own)
    else leaves.set(node, { ...own, repetitions: [], definitions: [], values: [] })
  }
  for (const column of columns) visit(column, { path: [], maxRepetition: 0, maxDefinition: 0 })
  return leaves
}

interface Levels {
  /** Level of the next value: lower than `depth` for the first of a list. */
  readonly repetition: number
  readonly definition: number
  /** Number of repeated nodes above. */
  readonly depth: number
}

/** Writes the values of a row with their levels (Dremel paper, section 4.1). */
function shred(
  node: ParquetNode,
  value: ParquetValue,
  leaves: Leaves,
  at: Levels = { repetition: 0, definition: 0, depth: 0 },
): void {
  if (node.repetition === 'repeated') {
    const items = Array.isArray(value) ? (value as readonly ParquetValue[]) : []
    const depth = at.depth + 1
    if (items.length === 0) return absent(node, leaves, at)
    items.forEach((item, index) => {
      const repetition = index === 0 ? at.repetition : depth
      present(node, item, leaves, { repetition, definition: at.definition + 1, depth })
    })
    return undefined
  }
  if (node.repetition === 'required') return present(node, value, leaves, at)
  if (value === null) return absent(node, leaves, at)
  return present(node, value, leaves, { ...at, definition: at.definition + 1 })
}

function present(node: ParquetNode, value: ParquetValue, leaves: Leaves, at: Levels): void {
  if (node.children) {
    const members = value as Readonly<Record<string, ParquetValue>>
    for (const child of node.children) shred(child, members[child.name] ?? null, leaves, at)
    return
  }
  const leaf = leaves.get(node)
  leaf?.repetitions.push(at.repetition)
  leaf?.definitions.push(at.definition)
  leaf?.values.push(plain(node.physical ?? 'INT32', value))
}

function absent(node: ParquetNode, leaves: Leaves, at: Levels): void {
  if (node.children) for (const child of node.children) absent(child, leaves, at)
  const leaf = leaves.get(node)
  leaf?.repetitions.push(at.repetition)
  leaf?.definitions.push(at.definition)
}

function plain(physical: Physical, value: ParquetValue): Uint8Array {
  if (physical === 'INT96') return value as Uint8Array
  const bytes = new Uint8Array(physical === 'INT32' ? 4 : 8)
  const view = new DataView(bytes.buffer)
  if (physical === 'BYTE_ARRAY') {
    const content = typeof value === 'string' ? ascii(value) : (value as Uint8Array)
    return bytesOf([littleEndian(content.length, 4), content])
  }
  if (physical === 'INT32') view.setInt32(0, Number(value), true)
  else if (physical === 'INT64') view.setBigInt64(0, BigInt(value as number), true)
  else view.setFloat64(0, Number(value), true)
  return bytes
}

function pageOf({ maxRepetition, maxDefinition, ...leaf }: Leaf, options: PageOptions): Uint8Array {
  const { type = 0, encoding = 0, values = leaf.definitions.length } = options
  const content = bytesOf([
    levels(leaf.repetitions, maxRepetition),
    levels(leaf.definitions, maxDefinition),
    ...(options.content === undefined ? leaf.values : [options.content]),
  ])
  const header = new Thrift().struct({
    1: { i32: type },
    2: { i32: content.length },
    3: { i32: content.length },
    5: { struct: { 1: { i32: values }, 2: { i32: encoding }, 3: { i32: 3 }, 4: { i32: 3 } } },
  })
  return bytesOf([header, content])
}

/** Levels as runs of one value each, with their length in front. */
function levels(values: readonly number[], max: number): Uint8Array {
  if (max === 0) return new Uint8Array()
  const runs = bytesOf(values.map((value) => Uint8Array.of(2, value)))
  return bytesOf([littleEndian(runs.length, 4), runs])
}

interface Chunk {
  readonly node: ParquetNode
  readonly leaf: Leaf
  readonly offset: number
  readonly size: number
}

function chunkOf(
  { node, leaf, offset, size }: Chunk,
  { hasStatistics, codec, encodings }: Required<Omit<ParquetOptions, 'page'>>,
): Fields {
  const metadata: Fields = {
    1: { i32: PHYSICAL[node.physical ?? 'INT32'] },
    2: { i32s: encodings },
    3: { texts: leaf.path },
    4: { i32: codec },
    5: { i64: leaf.definitions.length },
    6: { i64: size },
    7: { i64: size },
    9: { i64: offset },
    ...(hasStatistics ? { 12: { struct: { 3: { i64: leaf.definitions.length - leaf.values.length } } } } : {}),
  }
  return { 2: { i64: offset }, 3: { struct: metadata } }
}

function rootOf(columns: readonly ParquetNode[]): Fields {
  return { 4: { text: 'table' }, 5: { i32: columns.length } }
}

function elementsOf(node: ParquetNode): Fields[] {
  const repetition = { required: 0, optional: 1, repeated: 2 }[node.repetition]
  const element: Fields = {
    ...(node.children ? {} : { 1: { i32: PHYSICAL[node.physical ?? 'INT32'] } }),
    3: { i32: repetition },
    4: { text: node.name },
    ...(node.children ? { 5: { i32: node.children.length } } : {}),
    ...(node.converted === undefined ? {} : { 6: { i32: node.converted } }),
    ...(node.id === undefined ? {} : { 9: { i32: node.id } }),
  }
  return [element, ...(node.children ?? []).flatMap(elementsOf)]
}

type ThriftValue =
  | { readonly i32: number }
  | { readonly i64: number }
  | { readonly text: string }
  | { readonly struct: Fields }
  | { readonly structs: readonly Fields[] }
  | { readonly i32s: readonly number[] }
  | { readonly texts: readonly string[] }

/** The fields of a Thrift struct by their numbers, in ascending order. */
interface Fields {
  readonly [id: number]: ThriftValue
}

/** Thrift's compact protocol, as far as a footer needs it. */
class Thrift {
  readonly #bytes: number[] = []

  struct(fields: Fields): Uint8Array {
    this.#struct(fields)
    return Uint8Array.from(this.#bytes)
  }

  #struct(fields: Fields): void {
    let last = 0
    for (const [key, value] of Object.entries(fields) as [string, ThriftValue][]) {
      const id = Number(key)
      this.#bytes.push(((id - last) << 4) | typeOf(value))
      last = id
      this.#value(value)
    }
    this.#bytes.push(0)
  }

  #value(value: ThriftValue): void {
    if ('i32' in value) this.#varint(value.i32 * 2)
    else if ('i64' in value) this.#varint(value.i64 * 2)
    else if ('text' in value) this.#text(value.text)
    else if ('struct' in value) this.#struct(value.struct)
    else if ('structs' in value) this.#list(12, value.structs, (item) => this.#struct(item))
    else if ('i32s' in value) this.#list(5, value.i32s, (item) => this.#varint(item * 2))
    else this.#list(8, value.texts, (item) => this.#text(item))
  }

  #list<T>(type: number, items: readonly T[], write: (item: T) => void): void {
    if (items.length < 15) this.#bytes.push((items.length << 4) | type)
    else {
      this.#bytes.push(0xf0 | type)
      this.#varint(items.length)
    }
    for (const item of items) write(item)
  }

  #text(text: string): void {
    const bytes = ascii(text)
    this.#varint(bytes.length)
    this.#bytes.push(...bytes)
  }

  #varint(value: number): void {
    let rest = value
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#bytes.push((rest % 128) | 128)
    this.#bytes.push(rest)
  }
}

function typeOf(value: ThriftValue): number {
  if ('i32' in value) return 5
  if ('i64' in value) return 6
  if ('text' in value) return 8
  return 'struct' in value ? 12 : 9
}

function ascii(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function littleEndian(value: number, width: number): Uint8Array {
  return Uint8Array.from({ length: width }, (_, at) => (value >>> (8 * at)) & 255)
}

function bytesOf(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts))
}
