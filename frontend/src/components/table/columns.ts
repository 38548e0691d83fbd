import type { ComponentType, ReactNode } from 'react'
import type { SortValue } from '../sorting.ts'

/** What a cell is in an exported file: bytes and milliseconds as numbers, 64-bit numbers as digits, times in ISO 8601. */
export type CellValue = string | number | boolean | readonly string[] | null | undefined

/** A column of a data table: how it looks, and its value in exported files. */
export type ColumnSpec<Row> = ColumnLook<Row> & (SortedColumn<Row> | PlainColumn<Row>)

interface SortedColumn<Row> {
  /** Makes the column sortable. */
  readonly sortValue: (row: Row) => SortValue
  /** The value in exported files; default: the sort value. */
  readonly value?: ColumnValue<Row>
}

interface PlainColumn<Row> {
  readonly sortValue?: undefined
  readonly value: ColumnValue<Row>
}

/** Null for columns without a value, such as buttons: files leave them out, and the reader cannot hide them. */
type ColumnValue<Row> = ((row: Row) => CellValue) | null

/** The part of a column that files and the menu of a list need. */
export type ExportedColumn<Row> = Pick<ColumnLook<Row>, 'id' | 'header'> & (SortedColumn<Row> | PlainColumn<Row>)

interface ColumnLook<Row> {
  readonly id: string
  readonly header: string
  /** A track of the grid, such as `minmax(160px, 2fr)` or `96px`; px at a text size of 16 px. */
  readonly width: string
  readonly cell: (row: Row) => ReactNode
  /** Aligns the column; numbers are aligned to the end. */
  readonly align?: 'start' | 'end'
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

/** The value of a column in exported files; undefined for a column without one. */
export function exportedValue<Row>({ value, sortValue }: ExportedColumn<Row>): ((row: Row) => CellValue) | undefined {
  return (value === undefined ? sortValue : value) ?? undefined
}
