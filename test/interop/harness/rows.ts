/** A row as `canonical.py` writes it. */
export type Row = Readonly<Record<string, unknown>>

/** Rows of a table in any order: count, hash, and the rows themselves unless there are too many. */
export interface Rows {
  readonly count: number
  readonly hash: string
  readonly rows?: readonly Row[]
}

/** Rows as text in one order, to compare two full reads of a table. */
export function sortedRows(rows: readonly Row[]): string[] {
  return rows.map((row) => JSON.stringify(sortKeys(row))).sort()
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sortKeys(item)]),
  )
}

/** The effect of a column change on every row. */
export interface ColumnChange {
  readonly add: { readonly name: string; readonly type: string; readonly after?: string; readonly comment?: string }
  readonly rename: { readonly name: string; readonly newName: string }
  readonly drop: string
}

/** The expected rows after {@link ColumnChange}; dotted names address fields in structs. */
export function changedRow(row: Row, change: ColumnChange): Row {
  const renamed = editAt(row, change.rename.name, (parent, leaf) => {
    const { [leaf]: value, ...rest } = parent
    return { ...rest, [change.rename.newName]: value }
  })
  const dropped = editAt(renamed, change.drop, (parent, leaf) => {
    const { [leaf]: _, ...rest } = parent
    return rest
  })
  return editAt(dropped, change.add.name, (parent, leaf) => ({ ...parent, [leaf]: null }))
}

function editAt(row: Row, path: string, edit: (parent: Row, leaf: string) => Row): Row {
  const dot = path in row ? -1 : path.indexOf('.')
  if (dot < 0) return edit(row, path)
  const head = path.slice(0, dot)
  const inner = row[head]
  if (inner === null || inner === undefined) return row
  return { ...row, [head]: editAt(inner as Row, path.slice(dot + 1), edit) }
}
