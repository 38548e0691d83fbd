import type { DuckDBTypeId, DuckDBMapType, DuckDBStructType, DuckDBType } from '@duckdb/node-api'

import { mapBounded } from '../../../lib/bounded-map.ts'
import { IcebergError, isIcebergError } from '../../../iceberg/errors.ts'

import { memoryBytes, readFooter, vectorBytes } from '../parquet/footer.ts'
import type { ParquetNode } from '../parquet/footer.ts'
import { hasInt96 } from '../parquet/int96.ts'
import { requireCodecs, requireEncodings } from '../parquet/codecs.ts'
import type { DuckDbRun } from '../session/session.ts'
import { quoteText } from '../session/sql-text.ts'

/** A column of a Parquet file, or a nested member. */
export interface FileField {
  /** The name under which DuckDB shows it. */
  readonly name: string
  /** The name in the file. */
  readonly fileName: string
  readonly fieldId?: number
  readonly type: FileType
  /** Whether the engine does not find the field by its id, because the repeated group in it has an id too. */
  readonly isHiddenById?: boolean
}

/** The shape of a column in a Parquet file, as DuckDB reads it; `opaque` is an unknown shape. */
export type FileType =
  | {
      readonly kind: 'primitive'
      readonly duckType: string
      readonly isUtcNanos: boolean
      /** Whether the engine reads milliseconds as microseconds. */
      readonly isFromMillis?: boolean
      /** Position among the leaves of the file. */
      readonly leaf: number
    }
  | { readonly kind: 'struct'; readonly duckType: string; readonly fields: readonly FileField[] }
  | { readonly kind: 'list'; readonly duckType: string; readonly element: FileField }
  | { readonly kind: 'map'; readonly duckType: string; readonly key: FileField; readonly value: FileField }
  | { readonly kind: 'opaque'; readonly duckType: string }

/** What files of the same layout have in common. */
export interface FileShape {
  readonly columns: readonly FileField[]
  readonly hasFieldIds: boolean
  /** Every field id in the footer, also of fields that are not found where a table has them. */
  readonly footerIds: ReadonlySet<number>
  /** Whether the engine reads the columns by their names, which it then cannot confuse or miss. */
  readonly isReadByName: boolean
}

/** Names that the engine gives to columns of its own. */
export const RESERVED_COLUMNS: readonly string[] = ['file_row_number', 'file_index', 'filename']

/** Content of the footer of one Parquet file. */
export interface InspectedFile {
  readonly shape: FileShape
  readonly rowCount: number
  /** Whether it has timestamps that may be out of the engine's range. */
  readonly hasInt96: boolean
  /** About how many bytes its rows have in the engine's memory. */
  readonly memoryBytes: number
  /** About how many bytes the rows that are read together have in the engine's memory. */
  readonly vectorBytes: number
}

/** Parallel reads of footers; each has its bytes in memory. */
const FOOTERS_AT_ONCE = 8

/** Reads the footers of Parquet files, by path, without the engine; each distinct layout is analysed once. */
export async function inspectFiles(
  run: DuckDbRun,
  paths: readonly string[],
): Promise<ReadonlyMap<string, InspectedFile>> {
  const found = await mapBounded(paths, FOOTERS_AT_ONCE, async (path) => {
    run.check()
    const location = run.locationOf(path)
    const footer = await readFooter(path, location)
    requireCodecs(footer, location)
    requireEncodings(footer, location)
    const { root, layout, rowCount } = footer
    const sizes = { memoryBytes: memoryBytes(footer), vectorBytes: vectorBytes(footer) }
    return { path, root, layout, rowCount, hasInt96: hasInt96(footer), ...sizes }
  })
  const shapes = new Map<string, FileShape>()
  const inspected = new Map<string, InspectedFile>()
  for (const { path, root, layout, ...counted } of found) {
    const shape = shapes.get(layout) ?? (await readShape(run, root, path))
    shapes.set(layout, shape)
    inspected.set(path, { shape, ...counted })
  }
  return inspected
}

/** Pairs the schema of a file with the columns that the engine shows for it. */
export async function readShape(run: DuckDbRun, root: ParquetNode, path: string): Promise<FileShape> {
  const location = run.locationOf(path)
  const result = await run
    .result(`SELECT * FROM read_parquet(${quoteText(path)}, hive_partitioning = false) LIMIT 0`)
    .catch((error: unknown) => {
      throw unreadable(error, location)
    })
  const duckdb = await import('@duckdb/node-api')
  const names = result.columnNames()
  const types = result.columnTypes()
  if (types.length !== root.children.length) throw misread(location)
  const zip = zipper(duckdb.DuckDBTypeId)
  const columns = root.children.map((node, at) => {
    const type = types[at]
    if (type === undefined) throw misread(location)
    return zip(node, type, names[at] ?? node.name)
  })
  const footerIds = new Set(idsOf(root.children))
  return { columns, footerIds, hasFieldIds: footerIds.size > 0, isReadByName: hasPlainNames(columns) }
}

/** A footer that could be read belongs to an intact file, so what the engine cannot open is not supported. */
function unreadable(error: unknown, location: string): unknown {
  if (!isIcebergError(error) || !['ENGINE_FAILED', 'CORRUPT_FILE'].includes(error.code)) return error
  return new IcebergError(
    'UNSUPPORTED',
    `the embedded engine cannot read the schema of ${location}: ${error.message}; rewrite the file with another engine`,
    { cause: error },
  )
}

function idsOf(nodes: readonly ParquetNode[]): number[] {
  return nodes.flatMap(({ fieldId, children }) => [...(fieldId === undefined ? [] : [fieldId]), ...idsOf(children)])
}

/** Whether names distinguish the columns for the engine, which ignores case and replaces empty names. */
function hasPlainNames(columns: readonly FileField[]): boolean {
  const names = new Set([...columns.map(({ name }) => name.toLowerCase()), ...RESERVED_COLUMNS])
  return (
    names.size === columns.length + RESERVED_COLUMNS.length && columns.every(({ name, fileName }) => name === fileName)
  )
}

type TypeIds = typeof DuckDBTypeId
type Zip = (node: ParquetNode, type: DuckDBType, name: string) => FileField

/**
 * Pairs the schema in the file, which has the field ids, with DuckDB's types for it, which handle old list
 * layouts. If the two do not match, the column is opaque, and refused only when it is needed.
 */
function zipper(ids: TypeIds): Zip {
  const zip: Zip = (node, type, name) => {
    if (node.repetition === 'repeated') return field(node, name, listType(type, { ...node, repetition: 'required' }))
    if (type.typeId === ids.LIST) return field(node, name, listType(type, elementNode(node)))
    if (type.typeId === ids.MAP) return field(node, name, mapType(type, node))
    if (type.typeId === ids.STRUCT) return field(node, name, structType(type, node))
    if (node.leaf === undefined) return field(node, name, opaque(type))
    const isUtcNanos = type.typeId === ids.TIMESTAMP_TZ && node.isNanos
    const isFromMillis = node.isMillis && (type.typeId === ids.TIMESTAMP_TZ || type.typeId === ids.TIMESTAMP)
    const { leaf } = node
    return field(node, name, { kind: 'primitive', duckType: type.toString(), isUtcNanos, isFromMillis, leaf })
  }
  const listType = (type: DuckDBType, element: ParquetNode | undefined): FileType => {
    if (type.typeId !== ids.LIST || element === undefined) return opaque(type)
    return {
      kind: 'list',
      duckType: type.toString(),
      element: zip(element, type.valueType, 'element'),
    }
  }
  const mapType = (type: DuckDBMapType, node: ParquetNode): FileType => {
    const [entry] = node.children
    const [key, value] = entry?.children ?? []
    if (node.children.length !== 1 || entry?.children.length !== 2 || !key || !value) return opaque(type)
    return {
      kind: 'map',
      duckType: type.toString(),
      key: zip(key, type.keyType, 'key'),
      value: zip(value, type.valueType, 'value'),
    }
  }
  const structType = (type: DuckDBStructType, node: ParquetNode): FileType => {
    if (type.entryTypes.length !== node.children.length) return opaque(type)
    const fields = node.children.map((child, at) => zip(child, type.entryTypes[at] ?? type, type.entryNames[at] ?? ''))
    return { kind: 'struct', duckType: type.toString(), fields }
  }
  return zip
}

/**
 * The node of a list's elements: below a repeated group of one child, or the repeated node itself in old layouts
 * (LogicalTypes.md, "Lists", backward-compatibility rules). Undefined where the engine takes the only member of an
 * element for the element itself.
 */
function elementNode(node: ParquetNode): ParquetNode | undefined {
  const [repeated] = node.children
  if (node.children.length !== 1 || repeated?.repetition !== 'repeated') return undefined
  const [only] = repeated.children
  const isElement = repeated.children.length !== 1 || only === undefined || only.repetition === 'repeated'
  if (isElement) return { ...repeated, repetition: 'required' }
  const isOldStruct = repeated.name === 'array' || repeated.name === `${node.name}_tuple`
  return isOldStruct && only.fieldId === undefined ? undefined : only
}

function field(node: ParquetNode, name: string, type: FileType): FileField {
  return {
    name,
    fileName: node.name,
    ...(node.fieldId === undefined ? {} : { fieldId: node.fieldId }),
    ...(hidesId(node) ? { isHiddenById: true } : {}),
    type,
  }
}

/** DuckDB 1.5 gives a list or map the id of its repeated node, if that has one. */
function hidesId({ annotation, children }: ParquetNode): boolean {
  return (
    annotation !== undefined &&
    children.some(({ repetition, fieldId }) => repetition === 'repeated' && fieldId !== undefined)
  )
}

function opaque(type: DuckDBType): FileType {
  return { kind: 'opaque', duckType: type.toString() }
}

function misread(location: string): IcebergError {
  return new IcebergError(
    'UNSUPPORTED',
    `the embedded engine does not read the columns that the schema of ${location} has`,
  )
}
