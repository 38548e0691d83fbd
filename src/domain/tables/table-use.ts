/** How certain a use is; `unknown`: the columns that the pipeline needs are not known. */
export const CERTAINTIES = ['yes', 'no', 'unknown'] as const

export type Certainty = (typeof CERTAINTIES)[number]

/** How a pipeline or version uses a table, or one of its columns. */
export interface TableUse {
  /** Null: it does not read the table. */
  readonly reads: Certainty | null
  /** Null: it does not write the table. */
  readonly writes: Certainty | null
}

/** A table, or one of its columns. */
export interface ChangedPart {
  readonly table: string
  /** A dotted path; undefined: the whole table. */
  readonly column: string | undefined
}

/** An edge of the lineage (docs/api.md#lineage), as far as its columns say what is used. */
export interface UsedEdge {
  readonly kind: string
  readonly from: string
  readonly to: string
  /** Null: unknown. */
  readonly columns: readonly string[] | null
}

/** The id of a table's node in the lineage. */
export function tableNodeId(table: string): string {
  return `table:${table}`
}

/** How the pipeline or version of a node uses a table or a column: the API's previews, the agent and the page say the same. */
export function findTableUse(edges: readonly UsedEdge[], nodeId: string, { table, column }: ChangedPart): TableUse {
  const end = tableNodeId(table)
  const read = edges.find(({ kind, from, to }) => kind === 'reads' && from === end && to === nodeId)
  const written = edges.find(({ kind, from, to }) => kind === 'writes' && from === nodeId && to === end)
  return { reads: read ? certaintyOf(read, column) : null, writes: written ? certaintyOf(written, column) : null }
}

function certaintyOf({ columns }: UsedEdge, column: string | undefined): Certainty {
  if (column === undefined) return 'yes'
  if (columns === null) return 'unknown'
  return columns.some((name) => isWithin(column, name)) ? 'yes' : 'no'
}

/** Whether a path is a column or a field inside of it; names are compared as queries do. */
function isWithin(path: string, column: string): boolean {
  const [inner, outer] = [path.toLowerCase(), column.toLowerCase()]
  return inner === outer || inner.startsWith(`${outer}.`)
}
