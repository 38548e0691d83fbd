import type { Clustering } from '../../engines/engine.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { SortOrder } from '../../iceberg/partitioning/sort-order.ts'
import { curveLayout, sortLayout } from '../clustering/layout.ts'
import type { Layout } from '../clustering/layout.ts'
import { compileWhere } from '../where/file-filter.ts'
import type { CompactionOptions } from './options.ts'
import { resolveSortOrder } from './sort-order-text.ts'

/** The columns whose metrics a plan with these options needs. Errors as of `planCompaction`. */
export function metricColumns(metadata: TableMetadata, options: CompactionOptions): ReadonlySet<number> {
  const { layout } = resolveLayout(metadata, options)
  const filter = options.where === undefined ? undefined : compileWhere(options.where, metadata, { by: 'files' })
  return new Set([...(layout?.columns.map(({ id }) => id) ?? []), ...(filter?.columnIds ?? [])])
}

/** How the rows of new files are laid out, and the table's sort order if they are sorted. */
export function resolveLayout(
  metadata: TableMetadata,
  { strategy, sortOrder: text, columns = [] }: CompactionOptions,
): { readonly sortOrder?: SortOrder; readonly layout?: Layout } {
  if (strategy === 'binpack') return {}
  if (strategy !== 'sort') return { layout: curveLayout({ curve: strategy, columns }, metadata) }
  const sortOrder = resolveSortOrder(text, metadata)
  return { sortOrder, layout: sortLayout(sortOrder, metadata) }
}

/** What an engine is asked for. */
export function clusteringOf(layout: Layout | undefined): { readonly clustering?: Clustering } {
  if (layout === undefined || layout.kind === 'sort') return {}
  return { clustering: { curve: layout.kind, columnIds: layout.columns.map(({ id }) => id) } }
}
