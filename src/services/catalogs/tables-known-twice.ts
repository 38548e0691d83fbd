import type { Catalog, CatalogEntry } from '../../catalog/catalog.ts'
import { allEntries } from '../../catalog/ownership/entries.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { mapBounded } from '../../lib/bounded-map.ts'

/** Tables of a catalog that does not list its metadata files are loaded: not more than so many. */
const MAX_LOADED = 100
const CONCURRENT_LOADS = 8

/**
 * Throws `TABLE_EXISTS` when a catalog has a table that `known` has, too, by the metadata files: under two names, maintenance of one
 * would delete files that the other still needs. Tables of `except`, the catalog that is replaced, do not count.
 */
export async function requireNoTableTwice(catalog: Catalog, known: Catalog, except: string | undefined): Promise<void> {
  const entries = await allEntries(known)
  const counted = entries.filter(({ identifier }) => identifier?.catalog !== except)
  const [theirs, ours] = await Promise.all([located(counted), located(await allEntries(catalog))])
  const names = new Map(theirs.map(({ name, metadataLocation }) => [metadataLocation, name]))
  for (const { name, metadataLocation } of ours) {
    const other = names.get(metadataLocation)
    if (other === undefined) continue
    const message =
      `The table ${name} of the catalog is already known as ${other}. Under two names, maintenance of one would delete ` +
      'files that the other still needs: use the catalog that is configured, or remove it first.'
    throw new IcebergError('TABLE_EXISTS', message)
  }
}

type Located = Pick<CatalogEntry, 'name' | 'metadataLocation'>

async function located(entries: readonly CatalogEntry[]): Promise<readonly Located[]> {
  const own = entries.filter(({ identifier }) => identifier !== undefined)
  const unknown = own.filter(({ metadataLocation }) => metadataLocation === undefined).slice(0, MAX_LOADED)
  const loaded = await mapBounded(unknown, CONCURRENT_LOADS, async ({ name, load }): Promise<Located | undefined> => {
    const table = await load().catch(() => undefined) // what cannot be read is not compared
    return table && { name, metadataLocation: table.metadataLocation }
  })
  const isLocated = ({ metadataLocation }: Located): boolean => metadataLocation !== undefined
  return [...own.filter(isLocated), ...loaded.filter((one) => one !== undefined)]
}
