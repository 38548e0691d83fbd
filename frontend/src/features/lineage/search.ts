/** Directions of the page, in the order of its control. */
export const DIRECTIONS = ['both', 'upstream', 'downstream'] as const

export type Direction = (typeof DIRECTIONS)[number]

/** How the page shows the lineage. */
export const VIEWS = ['graph', 'list'] as const

/** The search parameters of the lineage page. */
export interface LineageSearch {
  readonly table?: string
  readonly direction?: Direction
  /** Pipelines in a row, from the table. */
  readonly depth?: string
  readonly view?: (typeof VIEWS)[number]
}

/** The depths that the page offers. */
export const DEPTHS = ['1', '2', '3', '5', '10'] as const

export const DEFAULT_DEPTH = '2'

/** Reads the search parameters; values that the page does not offer are left out. */
export function parseLineageSearch(search: Readonly<Record<string, unknown>>): LineageSearch {
  const { table } = search
  const one = <T extends string>(name: string, values: readonly T[]): T | undefined =>
    values.find((value) => value === search[name])
  const direction = one('direction', DIRECTIONS)
  const depth = one('depth', DEPTHS)
  const view = one('view', VIEWS)
  return {
    ...(typeof table === 'string' && table !== '' ? { table } : {}),
    ...(direction === undefined ? {} : { direction }),
    ...(depth === undefined ? {} : { depth }),
    ...(view === undefined ? {} : { view }),
  }
}
