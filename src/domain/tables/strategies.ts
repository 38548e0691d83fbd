/** How a compaction lays rows out in new files: in the existing order, sorted, or along a space-filling curve. */
export const STRATEGIES = ['binpack', 'sort', 'zorder', 'hilbert'] as const

/** A layout of rows. */
export type Strategy = (typeof STRATEGIES)[number]

/** A space-filling curve. */
export type Curve = Extract<Strategy, 'zorder' | 'hilbert'>

/** Whether the text names a strategy. */
export function isStrategy(text: unknown): text is Strategy {
  return STRATEGIES.some((strategy) => strategy === text)
}

/** More columns than a curve can tell apart. */
export const MAX_CURVE_COLUMNS = 8
