import type { SelectQueryBuilder } from 'kysely'

import type { PageRequest } from './page.ts'
import type { StateTables } from './schema.ts'

type PagedTable = {
  [K in keyof StateTables]: StateTables[K] extends { created_at: string; id: string } ? K : never
}[keyof StateTables]

/**
 * Limits a query that is ordered by (`created_at`, `id`) descending to the rows after the cursor, one more than the
 * limit (for `pageOf`).
 */
export function afterCursor<O>(
  query: SelectQueryBuilder<StateTables, PagedTable, O>,
  page: PageRequest,
): SelectQueryBuilder<StateTables, PagedTable, O> {
  const limited = query.limit(page.limit + 1)
  const after = page.after
  if (after === undefined) return limited
  return limited.where((where) =>
    where.or([
      where('created_at', '<', after.createdAt),
      where.and([where('created_at', '=', after.createdAt), where('id', '<', after.id)]),
    ]),
  )
}
