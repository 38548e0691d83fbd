import { type CSSProperties, memo, type MouseEvent } from 'react'
import { RowActive } from './row-active.ts'
import type { ColumnSpec } from './data-table.tsx'
import classes from './data-table.module.css'

interface RowProps<Row> {
  readonly row: Row
  readonly index: number
  /** px from the top of the body. */
  readonly top: number
  readonly height: number
  readonly columns: readonly ColumnSpec<Row>[]
  readonly grid: CSSProperties
  readonly focusable: boolean
  readonly selected: boolean | undefined
  readonly onOpen: ((row: Row) => void) | undefined
}

/** One row of a table. */
export const DataTableRow = memo(TableRow) as typeof TableRow

function TableRow<Row>({ row, index, top, height, columns, grid, focusable, selected, onOpen }: RowProps<Row>) {
  const open = (event: MouseEvent): void => {
    if (onOpen && !isControl(event.target) && !getSelection()?.toString()) onOpen(row)
  }
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the grid around it takes the keys of all rows
    <div
      className={onOpen ? `${classes.row} ${classes.opens}` : classes.row}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-row-index={index}
      tabIndex={focusable ? 0 : -1}
      style={{ ...grid, height, transform: `translateY(${top}px)` }}
      onClick={open}
    >
      <RowActive value={focusable}>
        {columns.map((column) => (
          <div
            key={column.id}
            className={column.align === 'end' ? `${classes.cell} ${classes.end}` : classes.cell}
            role="gridcell"
          >
            {column.cell(row)}
          </div>
        ))}
      </RowActive>
    </div>
  )
}

function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button, input, select, textarea, label') !== null
}
