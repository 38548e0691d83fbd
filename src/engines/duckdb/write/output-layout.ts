import { IcebergError } from '../../../iceberg/errors.ts'
import type { NestedField, Type } from '../../../iceberg/schema/types.ts'
import { isNested } from '../../../iceberg/schema/types.ts'

import type { DuckDbRun, ResultRow } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'
import { quoteName, textList } from '../session/sql-text.ts'
import { parquetForm, structMembers } from '../session/type-mapping.ts'
import type { ParquetForm } from '../session/type-mapping.ts'

/** A primitive of an output file that has statistics. */
export interface LeafColumn {
  readonly field: NestedField
  /** Its name in statistics. */
  readonly statisticsKey: string
  /** Dotted path of table names, as in metrics properties. */
  readonly path: string
  /** The top-level column it is in. */
  readonly topLevelId: number
  /** Whether it is inside a list or map, where a file has many values per row and bounds mean nothing. */
  readonly isRepeated: boolean
}

/** All primitives of the columns, in order. */
export function leafColumns(fields: readonly NestedField[]): readonly LeafColumn[] {
  const leaves: LeafColumn[] = []
  const visit = (leaf: LeafColumn): void => {
    const { field, statisticsKey, path } = leaf
    const { type } = field
    const inner = (child: NestedField, name: string, isRepeated: boolean): void =>
      visit({
        ...leaf,
        field: child,
        statisticsKey: `${statisticsKey}.${quoteName(name)}`,
        path: `${path}.${child.name}`,
        isRepeated,
      })
    if (!isNested(type)) leaves.push(leaf)
    else if (type.kind === 'struct')
      for (const [name, child] of structMembers(type.fields)) inner(child, name, leaf.isRepeated)
    else for (const child of parts(type)) inner(child, child.name, true)
  }
  for (const [name, field] of structMembers(fields)) {
    visit({ field, statisticsKey: quoteName(name), path: field.name, topLevelId: field.id, isRepeated: false })
  }
  return leaves
}

function parts(type: Type): NestedField[] {
  if (type.kind === 'list')
    return [{ id: type.elementId, name: 'element', required: type.elementRequired, type: type.element }]
  if (type.kind !== 'map') return []
  return [
    { id: type.keyId, name: 'key', required: true, type: type.key },
    { id: type.valueId, name: 'value', required: type.valueRequired, type: type.value },
  ]
}

/** A node that a written schema must have: its id and, for primitives, its form. */
interface ExpectedNode {
  readonly id?: number
  readonly form?: ParquetForm
}

/**
 * Reads back the schemas of written files and compares every field id and physical type with the table's schema
 * (docs/iceberg-notes.md#parquet-types); `ENGINE_FAILED` when they differ.
 */
export async function verifyLayout(
  run: DuckDbRun,
  paths: readonly string[],
  fields: readonly NestedField[],
): Promise<void> {
  if (paths.length === 0) return
  const expected: ExpectedNode[] = [{}, ...fields.flatMap((field) => expectedNodes(field.id, field.type))]
  const layouts = await run.rows(`
    SELECT DISTINCT nodes FROM (
      SELECT list({
        name: name, id: field_id, type: type, length: type_length, said: concat_ws(' ', converted_type, logical_type)
      } ORDER BY column_id) AS nodes
      FROM parquet_schema(${textList(paths)}) GROUP BY file_name
    )`)
  for (const layout of layouts) compare(layout['nodes'] as unknown as readonly ResultRow[], expected)
}

function compare(nodes: readonly ResultRow[], expected: readonly ExpectedNode[]): void {
  if (nodes.length !== expected.length) throw wrongLayout(`it has ${nodes.length} nodes instead of ${expected.length}`)
  for (const [at, { id, form }] of expected.entries()) {
    const node = nodes[at] ?? {}
    const foundId = node['id'] === null || node['id'] === undefined ? undefined : Number(node['id'])
    if (foundId !== id)
      throw wrongLayout(`${textOf(node['name'])} has field id ${foundId ?? 'none'} instead of ${id ?? 'none'}`)
    if (form && !hasForm(node, form)) {
      throw wrongLayout(`${textOf(node['name'])} is ${textOf(node['type'])} (${textOf(node['said'])})`)
    }
  }
}

function hasForm(node: ResultRow, { physical, length, otherLength, logical }: ParquetForm): boolean {
  const said = textOf(node['said'])
  if (node['type'] !== physical) return false
  if (length !== undefined && ![length, otherLength].includes(Number(node['length']))) return false
  // plain integers carry INT_32 or INT_64, which say nothing new
  return logical === undefined ? /^(INT_32|INT_64|IntType\(.*\)|\s)*$/.test(said) : logical.test(said)
}

function expectedNodes(id: number, type: Type): ExpectedNode[] {
  switch (type.kind) {
    case 'struct':
      return [{ id }, ...type.fields.flatMap((field) => expectedNodes(field.id, field.type))]
    case 'list':
      return [{ id }, {}, ...expectedNodes(type.elementId, type.element)]
    case 'map':
      return [{ id }, {}, ...expectedNodes(type.keyId, type.key), ...expectedNodes(type.valueId, type.value)]
    default:
      return [{ id, form: parquetForm(type) }]
  }
}

function wrongLayout(what: string): IcebergError {
  return new IcebergError('ENGINE_FAILED', `a new file does not have the layout of the table's schema: ${what}`)
}
