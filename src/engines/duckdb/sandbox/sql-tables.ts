import { IcebergError } from '../../../iceberg/errors.ts'
import type { NamedTable } from '../../sql-sandbox.ts'
import { singleSelect } from './user-sql.ts'

/** The tables that a query names, and the names of its named queries. */
interface Found {
  /** By where the name begins, in bytes: the engine repeats some parts of a tree. */
  readonly tables: Map<number, Tree>
  readonly named: Set<string>
}

type Tree = Readonly<Record<string, unknown>>

/**
 * The tables that a query names, from the engine's own syntax tree (`json_serialize_sql`), in the order of the text. A name without
 * a schema that a `WITH` of the query defines anywhere is not a table. `INVALID_ARGUMENT` unless the text is one SELECT.
 */
export function tablesIn(text: string, serialized: unknown): readonly NamedTable[] {
  const found: Found = { tables: new Map(), named: new Set() }
  visit(singleSelect(serialized), found)
  const bytes = Buffer.from(text, 'utf8')
  return [...found.tables]
    .filter(([, table]) => levelsOf(table).length > 1 || !found.named.has(fold(String(table['table_name']))))
    .map(([at, table]) => placeOf(text, bytes.subarray(0, at).toString('utf8').length, table))
    .toSorted((a, b) => a.start - b.start)
}

function visit(value: unknown, found: Found): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, found)
    return
  }
  if (typeof value !== 'object' || value === null) return
  const tree: Tree = { ...value }
  const { type, query_location: at, cte_map: named } = tree
  if (type === 'BASE_TABLE' && typeof at === 'number') found.tables.set(at, tree)
  for (const name of namesOf(named)) found.named.add(fold(name))
  for (const part of Object.values(tree)) visit(part, found)
}

function namesOf(named: unknown): readonly string[] {
  const { map } = (named ?? {}) as { readonly map?: unknown }
  return Array.isArray(map) ? map.map((entry: Tree) => String(entry['key'])) : []
}

function levelsOf({ catalog_name: catalog, schema_name: schema, table_name: name }: Tree): readonly string[] {
  return [catalog, schema, name].map(String).filter((level) => level !== '')
}

const SPACE = String.raw`(?:\s|--[^\n]*\n|/\*[\s\S]*?\*/)*`
const PART = String.raw`(?:"(?:[^"]|"")*"|[A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*)`

function placeOf(text: string, start: number, table: Tree): NamedTable {
  const levels = levelsOf(table)
  const chain = new RegExp([...levels].fill(PART).join(`${SPACE}\\.${SPACE}`), 'uy')
  chain.lastIndex = start
  const written = chain.exec(text)?.[0]
  if (written === undefined)
    throw refusal(`the name of the table ${levels.join('.')} cannot be read: write it in quotes`)
  return { levels, start, end: start + written.length, hasAlias: table['alias'] !== '' }
}

/** A name as the engine compares it: ignoring the case of ASCII letters only. */
function fold(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

function refusal(why: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', why)
}
