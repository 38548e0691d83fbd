import type { Column } from '../../../api/types.ts'

/** A column with its place among nested ones. */
export interface SchemaRow {
  readonly column: Column
  /** The name of the field, without its parents. */
  readonly name: string
  /** 0 at the top. */
  readonly depth: number
  readonly hasFields: boolean
  /** Paths of the parent columns, outermost first. */
  readonly parents: readonly string[]
}

/** Columns as a tree in rows, each below its parent; names may contain dots. */
export function schemaRows(columns: readonly Column[]): readonly SchemaRow[] {
  const open: string[] = []
  const rows: { column: Column; name: string; depth: number; hasFields: boolean; parents: readonly string[] }[] = []
  for (const column of columns) {
    while (open.length > 0 && !column.path.startsWith(`${open.at(-1)}.`)) open.pop()
    const parent = open.at(-1)
    const parentRow = rows.findLast((row) => row.column.path === parent)
    if (parentRow) parentRow.hasFields = true
    rows.push({
      column,
      name: parent === undefined ? column.path : column.path.slice(parent.length + 1),
      depth: open.length,
      hasFields: false,
      parents: [...open],
    })
    open.push(column.path)
  }
  return rows
}

/** The visible rows: none below a collapsed row; with a filter, matching rows and their parents. */
export function shownRows(
  rows: readonly SchemaRow[],
  folded: ReadonlySet<string>,
  filter: string,
): readonly SchemaRow[] {
  const wanted = filter.trim().toLowerCase()
  if (wanted === '') return rows.filter(({ parents }) => !parents.some((path) => folded.has(path)))
  const hits = rows.filter(({ column }) => matches(column, wanted))
  const paths = new Set(hits.flatMap(({ column, parents }) => [column.path, ...parents]))
  return rows.filter(({ column }) => paths.has(column.path))
}

function matches({ path, comment, type }: Column, wanted: string): boolean {
  return [path, comment ?? '', type].some((text) => text.toLowerCase().includes(wanted))
}

/** A type without its inner types, if its fields are shown below: `list<…>`. */
export function shortType({ column: { type }, hasFields }: SchemaRow): string {
  return hasFields ? type.replace(/<.*>$/s, '<…>') : type
}
