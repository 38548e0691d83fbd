import type { DuckDBTypeId, DuckDBMapType, DuckDBStructType, DuckDBType } from '@duckdb/node-api'

import { IcebergError } from '../../../iceberg/errors.ts'

import type { DuckDbRun, ResultRow } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'
import { quoteText, textList } from '../session/sql-text.ts'

/** A column of a Parquet file, or a nested member. */
export interface FileField {
  /** The name under which DuckDB shows it. */
  readonly name: string
  /** The name in the file. */
  readonly fileName: string
  readonly fieldId?: number
  readonly type: FileType
}

/** The shape of a column in a Parquet file, as DuckDB reads it; `opaque` is an unknown shape. */
export type FileType =
  | { readonly kind: 'primitive'; readonly duckType: string; readonly isUtcNanos: boolean }
  | { readonly kind: 'struct'; readonly duckType: string; readonly fields: readonly FileField[] }
  | { readonly kind: 'list'; readonly duckType: string; readonly element: FileField }
  | { readonly kind: 'map'; readonly duckType: string; readonly key: FileField; readonly value: FileField }
  | { readonly kind: 'opaque'; readonly duckType: string }

/** What files of the same layout have in common. */
export interface FileShape {
  readonly columns: readonly FileField[]
  readonly hasFieldIds: boolean
}

/** Content of the footer of one Parquet file. */
export interface InspectedFile {
  readonly shape: FileShape
  readonly rowCount: number
}

/** One node of a Parquet schema, from `parquet_schema`. */
interface SchemaNode {
  readonly name: string
  readonly fieldId?: number
  readonly repeated: boolean
  readonly annotation: string
  readonly logical: string
  readonly children: readonly SchemaNode[]
}

/** Reads the footers of Parquet files, by path; each distinct layout is analysed once. */
export async function inspectFiles(
  run: DuckDbRun,
  paths: readonly string[],
): Promise<ReadonlyMap<string, InspectedFile>> {
  const inspected = new Map<string, InspectedFile>()
  if (paths.length === 0) return inspected
  const list = textList(paths)
  const counts = new Map<string, number>()
  for (const row of await run.rows(`SELECT file_name, num_rows FROM parquet_file_metadata(${list})`)) {
    counts.set(textOf(row['file_name']), Number(row['num_rows']))
  }
  const groups = await run.rows(`
    SELECT nodes, list(file_name) AS files FROM (
      SELECT file_name, list({
        n: name, i: field_id, r: repetition_type, c: num_children,
        t: concat_ws(' ', converted_type), l: logical_type, p: type, d: duckdb_type
      } ORDER BY column_id) AS nodes
      FROM parquet_schema(${list}) GROUP BY file_name
    ) GROUP BY nodes`)
  for (const group of groups) {
    const files = (group['files'] as string[]).toSorted()
    const shape = await readShape(run, group['nodes'] as unknown as readonly ResultRow[], files[0] ?? '')
    for (const path of files) inspected.set(path, { shape, rowCount: counts.get(path) ?? 0 })
  }
  return inspected
}

async function readShape(run: DuckDbRun, rows: readonly ResultRow[], path: string): Promise<FileShape> {
  const root = buildTree(rows)
  const result = await run.result(`SELECT * FROM read_parquet(${quoteText(path)}, hive_partitioning = false) LIMIT 0`)
  const duckdb = await import('@duckdb/node-api')
  const names = result.columnNames()
  const types = result.columnTypes()
  if (types.length !== root.children.length) throw misread(path)
  const zip = zipper(duckdb.DuckDBTypeId)
  const columns = root.children.map((node, at) => {
    const type = types[at]
    if (type === undefined) throw misread(path)
    return zip(node, type, names[at] ?? node.name)
  })
  return { columns, hasFieldIds: hasIds(root.children) }
}

function hasIds(nodes: readonly SchemaNode[]): boolean {
  return nodes.some((node) => node.fieldId !== undefined || hasIds(node.children))
}

function buildTree(rows: readonly ResultRow[]): SchemaNode {
  let next = 0
  const build = (depth: number): SchemaNode => {
    const row = rows[next++]
    if (row === undefined || depth > 200)
      throw new IcebergError('CORRUPT_FILE', 'a Parquet schema is truncated or too deep')
    const children: SchemaNode[] = []
    for (let left = Number(row['c'] ?? 0); left > 0; left -= 1) children.push(build(depth + 1))
    return {
      name: textOf(row['n']),
      ...(row['i'] === null || row['i'] === undefined ? {} : { fieldId: Number(row['i']) }),
      repeated: row['r'] === 'REPEATED',
      annotation: textOf(row['t']),
      logical: textOf(row['l']),
      children,
    }
  }
  return build(0)
}

type TypeIds = typeof DuckDBTypeId
type Zip = (node: SchemaNode, type: DuckDBType, name: string) => FileField

/**
 * Pairs the schema in the file, which has the field ids, with DuckDB's types for it, which handle old list
 * layouts. If the two do not match, the column is opaque, and refused only when it is needed.
 */
function zipper(ids: TypeIds): Zip {
  const zip: Zip = (node, type, name) => {
    if (node.repeated) return field(node, name, listType(type, { ...node, repeated: false }))
    if (type.typeId === ids.LIST) return field(node, name, listType(type, elementNode(node)))
    if (type.typeId === ids.MAP) return field(node, name, mapType(type, node))
    if (type.typeId === ids.STRUCT) return field(node, name, structType(type, node))
    if (node.children.length > 0) return field(node, name, opaque(type))
    const isUtcNanos = type.typeId === ids.TIMESTAMP_TZ && /NANOS=Nano/.test(node.logical)
    return field(node, name, { kind: 'primitive', duckType: type.toString(), isUtcNanos })
  }
  const listType = (type: DuckDBType, element: SchemaNode | undefined): FileType => {
    if (type.typeId !== ids.LIST || element === undefined) return opaque(type)
    return {
      kind: 'list',
      duckType: type.toString(),
      element: zip(element, type.valueType, 'element'),
    }
  }
  const mapType = (type: DuckDBMapType, node: SchemaNode): FileType => {
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
  const structType = (type: DuckDBStructType, node: SchemaNode): FileType => {
    if (type.entryTypes.length !== node.children.length) return opaque(type)
    const fields = node.children.map((child, at) => zip(child, type.entryTypes[at] ?? type, type.entryNames[at] ?? ''))
    return { kind: 'struct', duckType: type.toString(), fields }
  }
  return zip
}

/** The node of a list's elements: below a repeated group of one child, or the repeated node itself in old layouts. */
function elementNode(node: SchemaNode): SchemaNode | undefined {
  const [repeated] = node.children
  if (node.children.length !== 1 || repeated === undefined || !repeated.repeated) return undefined
  const [only] = repeated.children
  return repeated.children.length === 1 && only !== undefined ? only : { ...repeated, repeated: false }
}

function field(node: SchemaNode, name: string, type: FileType): FileField {
  return { name, fileName: node.name, ...(node.fieldId === undefined ? {} : { fieldId: node.fieldId }), type }
}

function opaque(type: DuckDBType): FileType {
  return { kind: 'opaque', duckType: type.toString() }
}

function misread(path: string): IcebergError {
  return new IcebergError('CORRUPT_FILE', `the Parquet schema of ${path} does not match its columns`)
}
