import type { ActionKind } from '../actions/action-specs.ts'
import type { TableSearch } from '../search.ts'

/** What every tab of a table is given. */
export interface TabProps {
  readonly table: string
  readonly search: TableSearch
  /** Changes filters and orders in the address. */
  readonly onSearch: (part: Pick<TableSearch, 'q' | 'sort' | 'compare' | 'column'>) => void
  /** Opens the form of an action. */
  readonly onAction: (kind: ActionKind, given?: Pick<TableSearch, 'target' | 'recommended'>) => void
}
