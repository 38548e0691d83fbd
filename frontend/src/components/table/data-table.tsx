import { useMediaQuery } from '@mantine/hooks'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, useCallback, useDeferredValue, useMemo, useRef, useState } from 'react'
import type { ColumnSpec, RowScope } from './columns.ts'
import { DataTableHead } from './data-table-head.tsx'
import { DataTableRow } from './data-table-row.tsx'
import { useRowKeys } from './data-table-keys.ts'
import classes from './data-table.module.css'
import { textScale } from '../text/text-scale.ts'
import type { Sort } from '../sorting.ts'
import { ListMenu } from './list/list-menu.tsx'
import type { AllRows, ListOptions } from './list/list-options.ts'
import { useShownColumns } from './list/shown-columns.ts'
import { sortRows, useTableModel } from './model.ts'

export interface DataTableProps<Row extends object> {
  /** Label of the table, for screen readers. */
  readonly label: string
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  readonly columns: readonly ColumnSpec<Row>[]
  readonly rowScope?: RowScope<Row>
  readonly sort?: Sort | undefined
  readonly onSort?: ((sort: Sort) => void) | undefined
  /** Opens a row, by a click or by Enter; where it has a link, the link is followed instead. */
  readonly onOpen?: ((row: Row) => void) | undefined
  readonly selectedKey?: string | undefined
  /** px at a text size of 16 px; default 36. */
  readonly rowHeight?: number
  /** Maximum height in px; default: the available height. */
  readonly maxHeight?: number
  /** Gives the list a menu in the header of its page. */
  readonly list?: ListOptions<Row>
}

const OVERSCAN = 6
const NO_ROWS: readonly never[] = []
/** Height of the head with its border, px at a text size of 16 px. */
const HEAD_PX = 33
/** Cells below the others, on a phone: in a line, and height of a line in px at a text size of 16 px. */
const BELOW_PER_LINE = 2
const BELOW_LINE_PX = 26
const PHONE = '(max-width: 48em)'
const NARROW = '(max-width: 75em)'

/**
 * A list of any length: only rows in view are in the document. Arrow keys, Page Up and Down, Home and End move between
 * rows, Enter opens one. Rows come sorted by `sort`.
 */
export function DataTable<Row extends object>(props: DataTableProps<Row>) {
  const { list } = props
  return list ? <ListedTable {...props} list={list} /> : <TableGrid {...props} />
}

function TableGrid<Row extends object>(props: DataTableProps<Row>) {
  const { label, sort, onSort, rowKey, maxHeight, onOpen, selectedKey } = props
  const [scale] = useState(textScale)
  const phone = useMediaQuery(PHONE, globalThis.matchMedia(PHONE).matches)
  const below = useMemo(() => (phone ? props.columns.filter(isBelow) : NO_ROWS), [phone, props.columns])
  const rowHeight = ((props.rowHeight ?? 36) + Math.ceil(below.length / BELOW_PER_LINE) * BELOW_LINE_PX) * scale
  // Rows are rendered with low priority, in slices, so that a new list does not block the page.
  const rows = useDeferredValue(props.rows, NO_ROWS)
  const fits = useFits(phone)
  const { rows: sorted, columns, heads } = useTableModel({ rows, columns: props.columns, sort, onSort, fits })
  const scroller = useRef<HTMLDivElement>(null)
  const virtualizer = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    scrollPaddingStart: HEAD_PX * scale,
  })
  const keys = useRowKeys({ count: sorted.length, scroller, scrollTo: (index) => virtualizer.scrollToIndex(index) })
  const grid = useMemo(() => gridOf(columns), [columns])
  return (
    <div
      ref={scroller}
      className={maxHeight === undefined ? `${classes.wrap} ${classes.fill}` : classes.wrap}
      style={maxHeight === undefined ? undefined : { maxHeight }}
      role="grid"
      aria-label={label}
      aria-rowcount={sorted.length + 1}
      aria-colcount={columns.length + Math.sign(below.length)}
      tabIndex={-1}
      onKeyDown={keys.onKeyDown}
      onFocus={keys.onFocus}
    >
      <DataTableHead heads={heads} grid={grid} />
      <div className={classes.body} role="rowgroup" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const row = sorted[index]
          if (row === undefined) return null
          const key = rowKey(row)
          return (
            <DataTableRow
              key={key}
              row={row}
              index={index}
              top={start}
              height={rowHeight}
              columns={columns}
              below={below}
              scope={props.rowScope}
              grid={grid}
              focusable={index === keys.active}
              selected={selectedKey === undefined ? undefined : key === selectedKey}
              onOpen={onOpen}
            />
          )
        })}
      </div>
    </div>
  )
}

interface ListedTableProps<Row extends object> extends DataTableProps<Row> {
  readonly list: ListOptions<Row>
}

/** A table with its menu; the address may hide columns. */
function ListedTable<Row extends object>({ list, ...props }: ListedTableProps<Row>) {
  const { rows, columns, sort } = props
  const shown = useShownColumns(columns)
  const read = async (): Promise<AllRows<Row>> => {
    const all = (await list.readAll?.()) ?? { rows, isCut: false }
    return { ...all, rows: sortRows(all.rows, columns, sort) }
  }
  return (
    <>
      <ListMenu name={list.name} columns={list.columns ?? columns} read={read} />
      <TableGrid {...props} columns={shown} />
    </>
  )
}

function gridOf(columns: readonly Pick<ColumnSpec<object>, 'width'>[]): CSSProperties {
  return { gridTemplateColumns: columns.map(({ width }) => inRem(width)).join(' ') }
}

function isBelow({ belowOnPhone }: Pick<ColumnSpec<object>, 'belowOnPhone'>): boolean {
  return belowOnPhone === true
}

/** The columns that fit into the window. */
function useFits(
  phone: boolean,
): (column: Pick<ColumnSpec<object>, 'hideOnPhone' | 'belowOnPhone' | 'hideOnNarrow'>) => boolean {
  const narrow = useMediaQuery(NARROW, globalThis.matchMedia(NARROW).matches)
  return useCallback(
    ({ hideOnPhone, belowOnPhone, hideOnNarrow }) =>
      !(phone && (hideOnPhone === true || belowOnPhone === true)) && !(narrow && hideOnNarrow === true),
    [phone, narrow],
  )
}

/** A track with its px as rem, so that columns grow with the text in them. */
function inRem(track: string): string {
  return track.replaceAll(/(\d+)px/g, (_match, px: string) => `${Number(px) / 16}rem`)
}
