import { selection as words } from '../../strings/everywhere/selection.ts'
import type { ColumnSpec } from '../table/columns.ts'
import { SelectCell } from './select-cell.tsx'

/** The first column of a list whose rows can be selected. */
export function selectColumn<Row>(keyOf: (row: Row) => string, nameOf: (row: Row) => string): ColumnSpec<Row> {
  return {
    id: 'select',
    header: words.column,
    value: null,
    headerHidden: true,
    width: '36px',
    cell: (row) => <SelectCell id={keyOf(row)} name={nameOf(row)} />,
  }
}
