import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { isTableMissing } from '../../catalog/load-if-present.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { HealthBand } from '../../domain/tables/health-band.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import type { HealthIndexStore } from '../../storage/stores/tables/health-index-store.ts'

/** What is known of a table in a graph of lineage. */
export interface TableFacts {
  /** Null: the catalog was not asked, or did not answer. */
  readonly exists: boolean | null
  readonly band: HealthBand
  readonly score: number | null
}

export interface TableFactsDeps {
  readonly catalog: Catalog
  readonly index: Pick<HealthIndexStore, 'findAll'>
}

/** Databases limit the parameters of a statement. */
const NAMES_AT_ONCE = 500
/** Tables that are not in the index and that the catalog is asked for, in one answer. */
const MAX_ASKED = 100
const ASKED_AT_ONCE = 4

/** The facts of tables by name: from the health index, and from the catalog for the first one and those that are not there. */
export async function findTableFacts(
  names: readonly string[],
  { catalog, index }: TableFactsDeps,
): Promise<ReadonlyMap<string, TableFacts>> {
  const facts = new Map<string, TableFacts>(names.map((name) => [name, { exists: null, band: 'unknown', score: null }]))
  for (let at = 0; at < names.length; at += NAMES_AT_ONCE) {
    for (const row of await index.findAll(names.slice(at, at + NAMES_AT_ONCE))) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only bands are stored
      facts.set(row.table_name, { exists: true, band: row.band as HealthBand, score: row.score })
    }
  }
  const asked = names.filter((name, at) => at === 0 || facts.get(name)?.exists !== true).slice(0, MAX_ASKED)
  await mapBounded(asked, ASKED_AT_ONCE, async (name) => {
    const exists = await isTable(catalog, name)
    const known = facts.get(name)
    facts.set(name, exists && known ? { ...known, exists } : { exists, band: 'unknown', score: null })
  })
  return facts
}

/** Whether the catalog has a table of exactly this name; null if it does not answer. */
export async function isTable(catalog: Catalog, name: string): Promise<boolean | null> {
  try {
    const identifier = parseIdentifier(name)
    await (catalog.locateTable?.(identifier) ?? catalog.loadTable(identifier))
    return true
  } catch (error) {
    if (isTableMissing(error) || isIcebergError(error, 'INVALID_ARGUMENT')) return false
    if (isIcebergError(error)) return null
    throw error
  }
}
