import type { IndexedTable, TableListItem } from '../../api/types.ts'
import { isBand, type HealthFilter } from './search.ts'

/** A table of the list with its place in the health index. */
export interface TableRow extends TableListItem {
  /** Undefined: not in the index yet. */
  readonly health: IndexedTable | undefined
  /** The index itself cannot be read. */
  readonly failed: boolean
}

/** The rows of the list: every table of the catalog, with what the index knows about it. */
export function tableRows(
  tables: readonly TableListItem[],
  indexed: readonly IndexedTable[],
  failed: boolean,
): readonly TableRow[] {
  const byName = new Map(indexed.map((one) => [one.table, one]))
  return tables.map((item) => ({ ...item, health: byName.get(item.table), failed }))
}

/** Figures of a table that could be read. */
export function measured({ health }: TableRow): IndexedTable | undefined {
  return health === undefined || health.score === null ? undefined : health
}

/** Whether a row fits a filter of the list. */
export function fitsFilter({ health }: TableRow, filter: HealthFilter | undefined): boolean {
  if (filter === undefined) return true
  return isBand(filter) ? health?.band === filter : health?.is_stale === true
}
