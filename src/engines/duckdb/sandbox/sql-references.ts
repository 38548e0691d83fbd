import type { ColumnReferences } from '../../sql-sandbox.ts'
import { RESERVED_PREFIX } from './user-sql.ts'

/** References to columns, and names of relations, because a reference to a relation means a whole row. */
interface Found {
  readonly names: (readonly string[])[]
  readonly relations: Set<string>
  all: boolean
}

/** The columns that a statement needs, from the engine's own syntax tree (`json_serialize_sql`). */
export function referencesIn(tree: unknown): ColumnReferences {
  const found: Found = { names: [], relations: new Set(), all: false }
  visit(tree, found)
  const isRow = ([first = '', ...rest]: readonly string[]): boolean =>
    rest.length === 0 && (found.relations.has(first.toLowerCase()) || first.toLowerCase().startsWith(RESERVED_PREFIX))
  return { names: found.names, all: found.all || found.names.some(isRow) }
}

function visit(value: unknown, found: Found): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, found)
    return
  }
  if (typeof value !== 'object' || value === null) return
  const node: Readonly<Record<string, unknown>> = { ...value }
  if (typeof node['class'] === 'string') visitExpression(node, found)
  else visitRelation(node, found)
  for (const part of Object.values(node)) visit(part, found)
}

function visitExpression(node: Readonly<Record<string, unknown>>, found: Found): void {
  if (node['class'] === 'COLUMN_REF') found.names.push(texts(node['column_names']))
  // the column of `s.length()`, or the schema of a function
  const qualifier = texts([node['catalog'], node['schema']])
  if (qualifier.length > 0) found.names.push(qualifier)
  // also COLUMNS(…), ORDER BY ALL and the columns of an INSERT-like list by number
  if (node['class'] === 'STAR' || node['class'] === 'POSITIONAL_REFERENCE') found.all = true
}

function visitRelation(node: Readonly<Record<string, unknown>>, found: Found): void {
  if (node['type'] === 'PIVOT' || node['ref_type'] === 'NATURAL') found.all = true
  for (const name of texts(node['using_columns'])) found.names.push([name])
  if (node['type'] !== 'BASE_TABLE' && node['type'] !== 'SUBQUERY' && node['type'] !== 'TABLE_FUNCTION') return
  // columns are renamed by position: a removed column would shift the others
  if (texts(node['column_name_alias']).length > 0) found.all = true
  for (const name of texts([node['table_name'], node['alias']])) found.relations.add(name.toLowerCase())
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string' && item !== '') : []
}
