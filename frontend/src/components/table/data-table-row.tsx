import { type CSSProperties, memo, type MouseEvent } from 'react'
import { RowActive } from '../row-active.ts'
import type { ColumnSpec, RowScope } from './columns.ts'
import classes from './data-table.module.css'

interface RowProps<Row> {
  readonly row: Row
  readonly index: number
  /** px from the top of the body. */
  readonly top: number
  readonly height: number
  readonly columns: readonly ColumnSpec<Row>[]
  /** Columns in a line below the others. */
  readonly below: readonly ColumnSpec<Row>[]
  readonly scope: RowScope<Row> | undefined
  readonly grid: CSSProperties
  readonly focusable: boolean
  readonly selected: boolean | undefined
  readonly onOpen: ((row: Row) => void) | undefined
}

/** One row of a table. */
export const DataTableRow = memo(TableRow) as typeof TableRow

function TableRow<Row>(props: RowProps<Row>) {
  const { row, index, top, height, columns, below, scope: Scope, grid, focusable, selected, onOpen } = props
  const cells = columns.map((column) => (
    <div
      key={column.id}
      className={column.align === 'end' ? `${classes.cell} ${classes.end}` : classes.cell}
      role="gridcell"
    >
      {column.cell(row)}
    </div>
  ))
  if (below.length > 0) cells.push(<CellBelow key="below" row={row} columns={below} />)
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
      <RowActive value={focusable}>{Scope ? <Scope row={row}>{cells}</Scope> : cells}</RowActive>
    </div>
  )
}

function CellBelow<Row>({ row, columns }: { readonly row: Row; readonly columns: readonly ColumnSpec<Row>[] }) {
  return (
    <div className={classes.below} role="gridcell">
      {columns.map(({ id, header, cell }) => (
        <div key={id}>
          <span className={classes.belowHeader}>{header}</span> {cell(row)}
        </div>
      ))}
    </div>
  )
}

function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button, input, select, textarea, label') !== null
}
