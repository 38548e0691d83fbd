import { VisuallyHidden } from '@mantine/core'
import { type CSSProperties, memo } from 'react'
import { common } from '../strings/common.ts'
import type { ColumnSpec } from './data-table.tsx'
import classes from './data-table.module.css'
import { ArrowDownIcon, ArrowUpIcon } from './icons.tsx'
import { nextSort, type Sort } from './sorting.ts'

interface HeadProps<Row> {
  readonly columns: readonly ColumnSpec<Row>[]
  readonly grid: CSSProperties
  readonly sort: Sort | undefined
  readonly onSort: ((sort: Sort) => void) | undefined
}

/** The heads of a table's columns; those that can be sorted by are buttons. */
export const DataTableHead = memo(Head) as typeof Head

function Head<Row>({ columns, grid, sort, onSort }: HeadProps<Row>) {
  return (
    <div className={classes.head} role="row" aria-rowindex={1} style={grid}>
      {columns.map((column) => {
        const sorted = sort?.column === column.id ? sort : undefined
        const look = column.align === 'end' ? `${classes.headCell} ${classes.end}` : classes.headCell
        const sortable = onSort !== undefined && column.sortValue !== undefined
        return (
          <div key={column.id} className={look} role="columnheader" {...ariaSort(sortable, sorted)}>
            {sortable ? (
              <button
                type="button"
                className={sorted ? `${classes.sortButton} ${classes.sorted}` : classes.sortButton}
                title={common.sortBy(column.header)}
                onClick={() => onSort(nextSort(sort, column.id, column.highFirst ?? false))}
              >
                {column.header}
                {sorted && (sorted.descending ? <ArrowDownIcon size={12} /> : <ArrowUpIcon size={12} />)}
              </button>
            ) : (
              (column.headerHidden === true && <VisuallyHidden>{column.header}</VisuallyHidden>) || column.header
            )}
          </div>
        )
      })}
    </div>
  )
}

function ariaSort(sortable: boolean, sorted: Sort | undefined) {
  if (!sortable) return {}
  if (sorted === undefined) return { 'aria-sort': 'none' } as const
  return { 'aria-sort': sorted.descending ? 'descending' : 'ascending' } as const
}
