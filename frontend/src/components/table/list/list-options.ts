import type { ColumnSpec } from '../columns.ts'

/** Rows of a list for a file. */
export interface AllRows<Row> {
  readonly rows: readonly Row[]
  /** Whether the list has more rows than a file may have. */
  readonly isCut: boolean
}

/** What a list needs for its menu. */
export interface ListOptions<Row> {
  /** The name of files, and of the list in saved views. */
  readonly name: string
  /** Columns of files and of the menu; default: those of the table. For a table with other columns on phones. */
  readonly columns?: readonly ColumnSpec<Row>[]
  /** Reads all rows that fit the filters; default: the shown rows are all. */
  readonly readAll?: (() => Promise<AllRows<Row>>) | undefined
}
