import { IcebergError } from '../../iceberg/errors.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Catalog } from '../catalog.ts'
import { formatIdentifier } from '../table-identifier.ts'
import { footprintOf, overlapOf } from './footprint.ts'
import { type Neighbour, neighboursOf } from './neighbours.ts'

/**
 * Throws when a table must not be added to a catalog because maintenance of one would delete files of another:
 * `TABLE_EXISTS` when the catalog has the table under another name, `TABLES_OVERLAP` when a folder of another table is
 * equal to, inside or around one of its own. For unreadable metadata, the folder of the metadata file is used.
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
      `This table is already registered as ${entry.name}. Under two names, maintenance of one would delete files that ` +
      `the other still needs: use ${entry.name}, or remove that name from the catalog (without its files) first.`
    return new IcebergError('TABLE_EXISTS', message)
  }
  if (entry.unknownCatalog !== undefined) return mayOverlap(`${name} cannot be added`, entry.unknownCatalog)
  const unread = problem === undefined ? '' : ` The metadata of ${entry.name} cannot be read: ${problem}`
  const message =
    `${name} cannot be added: table ${entry.name} keeps files in the same folders, and maintenance of one would delete ` +
    `files of the other. Use separate folders for each table, or remove ${entry.name} from the catalog first.${unread}`
  return new IcebergError('TABLES_OVERLAP', message)
}

/** The refusal of what needs to know the tables of a catalog that does not respond. */
export function mayOverlap(refused: string, catalog: string): IcebergError {
  const message =
    `${refused}: the catalog ${catalog} does not respond, and its tables may keep files in the same folders. ` +
    'Try again when it responds. After the catalog is removed, nothing protects the files of its tables.'
  return new IcebergError('TABLES_OVERLAP', message)
}

/** How a table is added to a catalog, and removed again. */
export interface Adding {
  /** Makes the table visible. */
  add(): Promise<Table>
  /** Removes it again, if it is unchanged since it was added; its files stay. */
  undo(added: Table): Promise<void>
}

/**
 * Adds a table that overlaps no other table. Checks before and again after adding, so that of two concurrent
 * registrations of the same table under two names, in any number of processes, at most one succeeds. Errors: those of
 * {@link requireUnowned}.
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

/** Within a process, registrations run one at a time; otherwise two could see each other and both fail. */
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
