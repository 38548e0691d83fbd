import { IcebergError } from '../../iceberg/errors.ts'
import { FilePlaces } from '../../iceberg/io/place.ts'
import { parseTableMetadata, type TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { formatIdentifier } from '../table-identifier.ts'
import { isLasting } from './neighbours.ts'

const METADATA_NAME = /\.metadata\.json(?:\.gz)?$/

/**
 * Throws `TABLES_OVERLAP` when metadata files in a table's folders show that another, unknown catalog uses them too:
 * they belong to another table, or to a later state of this table based on states that are unknown here.
 *
 * `files` are those in the folders of the table, of any kind, listed before the table was loaded. Files of a
 * failed commit are based on a known state, and files trimmed from the log are older: both are ignored. Throws temporary
 * errors of FileIO.
 */
export async function requireNoUnknownCatalog(table: Table, files: Iterable<string>, action: string): Promise<void> {
  const places = new FilePlaces(table.io)
  const known = new Set<string>()
  const learn = async ({ metadata, metadataLocation }: Pick<Table, 'metadata' | 'metadataLocation'>): Promise<void> => {
    const log = metadata.metadataLog.map(({ metadataFile }) => metadataFile)
    for (const file of [metadataLocation, ...log]) known.add(await places.of(file))
  }
  await learn(table)
  const history = new Set(known)
  for (const file of [...files]
    .filter((name) => METADATA_NAME.test(name))
    .toSorted()
    .toReversed()) {
    if (known.has(await places.of(file))) continue
    const metadata = await readMetadata(table, file)
    if (metadata === undefined) continue
    if (isOtherTable(metadata, table.metadata)) throw shared(table, 'another table', action)
    const base = metadata.metadataLog.at(-1)?.metadataFile
    const isLater = metadata.lastUpdatedMs > table.metadata.lastUpdatedMs
    if (isLater && base !== undefined && !history.has(await places.of(base))) {
      throw shared(table, 'later states of this table', action)
    }
    if (!isLater) await learn({ metadata, metadataLocation: file }) // its log is older still
  }
}

/** Tables of format version 1 may have received their UUID later. */
function isOtherTable({ tableUuid: a }: TableMetadata, { tableUuid: b }: TableMetadata): boolean {
  return a !== '' && b !== '' && a.toLowerCase() !== b.toLowerCase()
}

/** Undefined when the file is not metadata or no longer exists. */
async function readMetadata({ io }: Table, location: string): Promise<TableMetadata | undefined> {
  try {
    return parseTableMetadata(await io.read(location))
  } catch (error) {
    if (isLasting(error)) return undefined
    throw error
  }
}

function shared({ identifier }: Table, what: string, action: string): IcebergError {
  const message =
    `Cannot ${action} of ${formatIdentifier(identifier)}: its folder contains metadata of ${what}, which this catalog does not ` +
    'know. If another catalog uses the folder, its files would be lost. If none does, delete that metadata manually.'
  return new IcebergError('TABLES_OVERLAP', message)
}
