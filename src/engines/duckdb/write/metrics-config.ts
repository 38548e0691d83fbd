import type { LeafColumn } from './output-layout.ts'

/** How much a manifest says about a column (table properties `write.metadata.metrics.*`). */
export type MetricsMode =
  | { readonly kind: 'none' | 'counts' | 'full' }
  | { readonly kind: 'truncate'; readonly length: number }

const DEFAULT_MODE: MetricsMode = { kind: 'truncate', length: 16 }
const DEFAULT_PROPERTY = 'write.metadata.metrics.default'
const COLUMN_PREFIX = 'write.metadata.metrics.column.'
const LIMIT_PROPERTY = 'write.metadata.metrics.max-inferred-column-defaults'
const DEFAULT_LIMIT = 100

/**
 * The mode of each leaf, as Iceberg's Java writers choose it: the column's own property, else the default property,
 * else truncate(16) for the columns that lie in the first 100 and none for the rest; sort columns keep bounds.
 */
export function metricsModes(
  leaves: readonly LeafColumn[],
  properties: Readonly<Record<string, string>>,
  sortColumnIds: ReadonlySet<number>,
): ReadonlyMap<number, MetricsMode> {
  const fallback = parseMode(properties[DEFAULT_PROPERTY])
  const limit = parseLimit(properties[LIMIT_PROPERTY])
  const topLevel = new Map<number, number>()
  for (const leaf of leaves) if (!topLevel.has(leaf.topLevelId)) topLevel.set(leaf.topLevelId, topLevel.size)
  return new Map(
    leaves.map((leaf) => {
      const inferred: MetricsMode = (topLevel.get(leaf.topLevelId) ?? 0) < limit ? DEFAULT_MODE : { kind: 'none' }
      const own = parseMode(properties[COLUMN_PREFIX + leaf.path])
      const general = fallback ?? inferred
      const needsBounds = sortColumnIds.has(leaf.field.id) && (general.kind === 'none' || general.kind === 'counts')
      return [leaf.field.id, own ?? (needsBounds ? DEFAULT_MODE : general)]
    }),
  )
}

/** A mode from its text, undefined without a text; invalid text counts as truncate(16), as in other writers. */
export function parseMode(text: string | undefined): MetricsMode | undefined {
  if (text === undefined) return undefined
  const name = text.trim().toLowerCase()
  if (name === 'none' || name === 'counts' || name === 'full') return { kind: name }
  const length = Number(/^truncate\((\d{1,9})\)$/.exec(name)?.[1] ?? 0)
  return length > 0 ? { kind: 'truncate', length } : DEFAULT_MODE
}

function parseLimit(text: string | undefined): number {
  const limit = Number(text ?? DEFAULT_LIMIT)
  return Number.isInteger(limit) && limit >= 0 ? limit : DEFAULT_LIMIT
}
