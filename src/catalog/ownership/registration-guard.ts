import { IcebergError } from '../../iceberg/errors.ts'
import type { Table } from '../../iceberg/table.ts'
import type { Catalog } from '../catalog.ts'
import { formatIdentifier } from '../table-identifier.ts'
import { footprintOf, overlapOf } from './footprint.ts'
import { type Neighbour, neighboursOf } from './neighbours.ts'

/**
 * Throws when a catalog must not get a table because maintenance of one would take files of the other: `TABLE_EXISTS` when
 * it has the table under another name, `TABLES_OVERLAP` when another table has a folder that is one of its own, inside one
 * or around one. A table whose metadata cannot be read counts with the folder of its metadata file.
 */
export async function requireUnowned(catalog: Catalog, table: Table): Promise<void> {
  const own = await footprintOf(table)
  for (const neighbour of await neighboursOf(catalog, table)) {
    const overlap = overlapOf(own, neighbour.footprint)
    if (overlap !== undefined) throw refusal(table, neighbour, overlap)
  }
}

function refusal(table: Table, { entry, problem }: Neighbour, overlap: 'same-table' | 'same-folder'): IcebergError {
  const name = formatIdentifier(table.identifier)
  if (overlap === 'same-table') {
    const message =
      `This table is registered already, as ${entry.name}. Under two names, maintenance of one would delete files that ` +
      `the other still needs: use ${entry.name}, or remove that name from the catalog (without its files) first.`
    return new IcebergError('TABLE_EXISTS', message)
  }
  const unread = problem === undefined ? '' : ` The metadata of ${entry.name} cannot be read: ${problem}`
  const message =
    `${name} cannot be added: table ${entry.name} keeps files in the same folders, and maintenance of one would delete ` +
    `files of the other. Give each table folders of its own, or remove ${entry.name} from the catalog first.${unread}`
  return new IcebergError('TABLES_OVERLAP', message)
}

/** How a table gets into a catalog, and out of it again. */
export interface Adding {
  /** Makes the table visible. */
  add(): Promise<Table>
  /** Takes it back, if it is still as it was added; its files stay. */
  undo(added: Table): Promise<void>
}

/**
 * Adds a table that no other one overlaps. Looks before and again after, so that of two who add the same table at the same
 * moment under two names, through any number of processes, at most one succeeds. Errors: those of {@link requireUnowned}.
 */
export async function addUnowned(catalog: Catalog, table: Table, { add, undo }: Adding): Promise<Table> {
  return inTurn(catalog, async () => {
    await requireUnowned(catalog, table)
    const added = await add()
    try {
      await requireUnowned(catalog, added)
    } catch (error) {
      await undo(added)
      throw error
    }
    return added
  })
}

/** Within a process one of two wins; without turns, both could see each other and give up. */
const turns = new WeakMap<Catalog, Promise<unknown>>()

async function inTurn<T>(catalog: Catalog, work: () => Promise<T>): Promise<T> {
  const before = turns.get(catalog) ?? Promise.resolve()
  const mine = before.then(work)
  turns.set(
    catalog,
    mine.catch(() => undefined),
  )
  return mine
}
