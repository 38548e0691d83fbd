import { VisuallyHidden } from '@mantine/core'
import type { CSSProperties } from 'react'
import { common } from '../../strings/everywhere/common.ts'
import classes from './data-table.module.css'
import { ArrowDownIcon, ArrowUpIcon } from '../icons.tsx'
import type { ColumnHead } from './model.ts'

interface HeadProps<Row> {
  readonly heads: readonly ColumnHead<Row>[]
  readonly grid: CSSProperties
}

/** The heads of a table's columns; those that can be sorted by are buttons. */
export function DataTableHead<Row>({ heads, grid }: HeadProps<Row>) {
  return (
    <div className={classes.head} role="row" aria-rowindex={1} style={grid}>
      {heads.map(({ spec: { id, header, align, headerHidden }, sorted, sortBy }) => (
        <div
          key={id}
          className={align === 'end' ? `${classes.headCell} ${classes.end}` : classes.headCell}
          role="columnheader"
          aria-sort={sortBy && ARIA_SORT[sorted || 'none']}
        >
          {sortBy ? (
            <button
              type="button"
              className={sorted ? `${classes.sortButton} ${classes.sorted}` : classes.sortButton}
              title={common.sortBy(header)}
              onClick={sortBy}
            >
              {header}
              {sorted && (sorted === 'desc' ? <ArrowDownIcon size={12} /> : <ArrowUpIcon size={12} />)}
            </button>
          ) : (
            (headerHidden === true && <VisuallyHidden>{header}</VisuallyHidden>) || header
          )}
        </div>
      ))}
    </div>
  )
}

const ARIA_SORT = { none: 'none', asc: 'ascending', desc: 'descending' } as const
