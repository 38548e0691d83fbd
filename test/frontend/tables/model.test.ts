import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, test } from 'vitest'
import { DataTableHead } from '../../../frontend/src/components/table/data-table-head.tsx'
import type { ColumnSpec } from '../../../frontend/src/components/table/columns.ts'
import type { Sort } from '../../../frontend/src/components/sorting.ts'
import { useTableModel } from '../../../frontend/src/components/table/model.ts'

interface Line {
  readonly name: string | null | undefined
  readonly size: number
}

const COLUMNS: readonly ColumnSpec<Line>[] = [
  { id: 'name', header: 'Name', width: '1fr', cell: ({ name }) => name, sortValue: ({ name }) => name },
  {
    id: 'size',
    header: 'Size',
    width: '1fr',
    cell: ({ size }) => size,
    sortValue: ({ size }) => size,
    highFirst: true,
    hideOnPhone: true,
  },
  { id: 'menu', header: 'Actions', value: null, width: '1fr', cell: () => null, hideOnPhone: true },
]
const LINES: readonly Line[] = [
  { name: 'b10', size: 1 },
  { name: undefined, size: 10 },
  { name: 'b9', size: 9 },
  { name: 'A', size: 9 },
  { name: null, size: 2 },
]

interface Model {
  readonly rows: readonly Line[]
  /** Sort orders that clicks on the headers request; undefined for headers that cannot be clicked. */
  readonly clicks: readonly (Sort | undefined)[]
  readonly html: string
}

/** The model of the rows, as used by a component. */
function modelOf(sort: Sort | undefined, { phone = false, canSort = true, rows = LINES } = {}): Model {
  let found: Model | undefined
  function Probe() {
    let asked: Sort | undefined
    const model = useTableModel({
      rows,
      columns: COLUMNS,
      sort,
      onSort: canSort ? (next) => (asked = next) : undefined,
      fits: ({ hideOnPhone }) => !(phone && hideOnPhone === true),
    })
    const clicks = model.heads.map(({ sortBy }) => {
      asked = undefined
      sortBy?.()
      return asked
    })
    const html = renderToStaticMarkup(createElement(DataTableHead<Line>, { heads: model.heads, grid: {} }))
    found = { rows: model.rows, clicks, html }
    return null
  }
  renderToStaticMarkup(createElement(Probe))
  if (found === undefined) throw new Error('nothing was rendered')
  return found
}

const names = (sort: Sort | undefined, more = {}) => modelOf(sort, more).rows.map(({ name }) => name)

describe('the model of a table', () => {
  test('sorts names in natural order without case; rows without a value come last in either order', () => {
    expect(names({ column: 'name', descending: false })).toEqual(['A', 'b9', 'b10', undefined, null])
    expect(names({ column: 'name', descending: true })).toEqual(['b10', 'b9', 'A', undefined, null])
  })

  test('keeps the order of equal rows, sorts numbers by size, and does not change the given rows', () => {
    const given = [...LINES]
    expect(names({ column: 'size', descending: true }, { rows: given })).toEqual([undefined, 'b9', 'A', null, 'b10'])
    expect(given).toEqual(LINES)
    expect(names(undefined)).toEqual(LINES.map(({ name }) => name))
    expect(names({ column: 'nothing', descending: true })).toEqual(LINES.map(({ name }) => name))
  })

  test('reverses the order of a column; another column starts with its default order', () => {
    expect(modelOf(undefined).clicks).toEqual([
      { column: 'name', descending: false },
      { column: 'size', descending: true },
      undefined,
    ])
    expect(modelOf({ column: 'size', descending: true }).clicks[1]).toEqual({ column: 'size', descending: false })
    expect(modelOf({ column: 'size', descending: false }).clicks[1]).toEqual({ column: 'size', descending: true })
    expect(modelOf({ column: 'name', descending: true }).clicks[0]).toEqual({ column: 'name', descending: false })
  })

  test('sets the sort order for screen readers where rows can be sorted', () => {
    const { html } = modelOf({ column: 'size', descending: true })
    expect([...html.matchAll(/aria-sort="(\w+)"/g)].map(([, order]) => order)).toEqual(['none', 'descending'])
    expect(html.match(/<button/g)).toHaveLength(2)
    const fixed = modelOf({ column: 'size', descending: true }, { canSort: false })
    expect(fixed.html).not.toMatch(/aria-sort|<button/)
    expect(fixed.rows[0]?.size).toBe(10)
  })

  test('omits columns that do not fit, and still sorts by them', () => {
    const phone = modelOf({ column: 'size', descending: false }, { phone: true })
    expect(phone.html).not.toMatch(/Actions|Size/)
    expect(phone.rows.map(({ size }) => size)).toEqual([1, 2, 9, 9, 10])
    expect(modelOf(undefined).html).toContain('Actions')
  })
})
