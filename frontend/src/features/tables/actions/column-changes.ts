/** A column as it would be, or was, and what happened to it. */
export interface ColumnChange {
  readonly id: number
  readonly path: string
  readonly type: string
  readonly change: 'added' | 'renamed' | 'dropped' | undefined
  /** The path before, where it was renamed. */
  readonly was?: string
}

interface KnownColumn {
  readonly id: number
  readonly path: string
  readonly type: string
}

/** The columns after a change, in order, with dropped columns at their old position; columns are matched by field ID. */
export function describeColumnChanges(before: unknown, after: unknown): readonly ColumnChange[] {
  const old = columnsOf(before)
  const oldById = new Map(old.map((column) => [column.id, column]))
  const current = columnsOf(after)
  const kept = new Set(current.map(({ id }) => id))
  const result: ColumnChange[] = current.map(({ id, path, type }) => {
    const was = oldById.get(id)
    if (was === undefined) return { id, path, type, change: 'added' }
    return was.path === path
      ? { id, path, type, change: undefined }
      : { id, path, type, change: 'renamed', was: was.path }
  })
  old.forEach(({ id, path, type }, index) => {
    if (!kept.has(id)) result.splice(index, 0, { id, path, type, change: 'dropped' })
  })
  return result
}

function columnsOf(value: unknown): readonly KnownColumn[] {
  return Array.isArray(value) ? value.filter(isColumn) : []
}

function isColumn(value: unknown): value is KnownColumn {
  return typeof value === 'object' && value !== null && 'id' in value && 'path' in value && 'type' in value
}
