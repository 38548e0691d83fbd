import type { ComponentType, ReactNode } from 'react'
import type { SortValue } from '../sorting.ts'

/** A column of a data table. */
export interface ColumnSpec<Row> {
  readonly id: string
  readonly header: string
  /** A track of the grid, such as `minmax(160px, 2fr)` or `96px`; px at a text size of 16 px. */
  readonly width: string
  readonly cell: (row: Row) => ReactNode
  /** Aligns the column; numbers are aligned to the end. */
  readonly align?: 'start' | 'end'
  /** Makes the column sortable. */
  readonly sortValue?: (row: Row) => SortValue
  /** Whether the first click sorts from high to low; for figures and times. */
  readonly highFirst?: boolean
  /** Header for screen readers only, for columns such as buttons. */
  readonly headerHidden?: boolean
  /** Hidden on phones. */
  readonly hideOnPhone?: boolean
  /** On phones in a line below the others, with its header before it. */
  readonly belowOnPhone?: boolean
  /** Also hidden in windows of at most 75 em. */
  readonly hideOnNarrow?: boolean
}

/** Wraps the cells of a row and provides what they share, so that it is computed once. */
export type RowScope<Row> = ComponentType<{ readonly row: Row; readonly children: ReactNode }>
