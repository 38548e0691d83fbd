import type { Catalog } from '../../catalog/catalog.ts'
import { loadIfPresent } from '../../catalog/load-if-present.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import type { NamedTable } from '../../engines/sql-sandbox.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'

/** Different names of tables in one query. */
const MAX_NAMES = 20
/** Places in one query where tables are named. */
const MAX_PLACES = 200

/** Where tables are looked up. */
export type TableLookup = Pick<Catalog, 'listTables' | 'loadTable'>

/** A place in a query, and the table that it names. */
export interface FoundTable {
  readonly named: NamedTable
  readonly table: Table
}

/**
 * The tables that a query names, in the order of the text. Each name is looked up once, and the catalog is listed at most once.
 * `UNPROCESSABLE` for too many names and for a name that is not the one of one table; `CANCELLED`.
 */
export async function findTables(
  catalog: TableLookup,
  named: readonly NamedTable[],
  signal: AbortSignal,
): Promise<readonly FoundTable[]> {
  const keyOf = ({ levels }: NamedTable): string => JSON.stringify(levels)
  const names = new Map(named.map((one) => [keyOf(one), one.levels]))
  requireFew(named.length, names.size)
  const list = listOnce(catalog)
  const tables = new Map<string, Table>()
  for (const [key, levels] of names) {
    throwIfCancelled(signal, 'the query')
    tables.set(key, await findTable(catalog, levels, list))
  }
  return named.flatMap((one) => {
    const table = tables.get(keyOf(one))
    return table === undefined ? [] : [{ named: one, table }]
  })
}

function requireFew(places: number, names: number): void {
  if (names > MAX_NAMES) {
    throw new DomainError('UNPROCESSABLE', `a query may read at most ${MAX_NAMES} tables, and this one names ${names}`)
  }
  if (places > MAX_PLACES) {
    throw new DomainError(
      'UNPROCESSABLE',
      `a query may name tables in at most ${MAX_PLACES} places, and this one has ${places}`,
    )
  }
}

type ListTables = () => Promise<readonly TableIdentifier[]>

function listOnce(catalog: TableLookup): ListTables {
  let listed: Promise<readonly TableIdentifier[]> | undefined
  return () => (listed ??= catalog.listTables())
}

/** The table of a qualified name, or the only one whose name this is. */
async function findTable(catalog: TableLookup, levels: readonly string[], list: ListTables): Promise<Table> {
  const name = levels.join('.')
  if (levels.length > 1 || name.includes('.')) {
    const found = await loadIfPresent(catalog, name)
    if (found !== undefined) return found
    throw new DomainError('UNPROCESSABLE', `table ${name} does not exist`)
  }
  const alike = (await list()).filter((identifier) => identifier.name === name)
  const [only, ...others] = alike
  if (only !== undefined && others.length === 0) return catalog.loadTable(only)
  const why = only === undefined ? `table ${name} does not exist` : `${name} is the name of ${alike.length} tables`
  throw new DomainError(
    'UNPROCESSABLE',
    `${why}: write namespace.name, such as ${alike.map(formatIdentifier)[0] ?? 'demo.orders'}`,
  )
}
