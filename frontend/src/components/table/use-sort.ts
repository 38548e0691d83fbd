import { formatSort, parseSort, type Sort } from '../sorting.ts'
import { useSearchParams } from '../../use-search-params.ts'
import type { ColumnSpec } from './columns.ts'

/** The sort of a list in the address; undefined: the order of the service. */
export function useSort<Row>(columns: readonly ColumnSpec<Row>[]) {
  const [{ sort }, changeSearch] = useSearchParams()
  const sortable = columns.filter(({ sortValue }) => sortValue).map(({ id }) => id)
  const onSort = (next: Sort): void => changeSearch({ sort: formatSort(next) })
  return { sort: parseSort(sort, sortable), onSort }
}
