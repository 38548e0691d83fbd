import { api } from '../../api/client.ts'
import type { QueryAnswer } from '../../api/types.ts'

/** Runs a query; with `isDryRun`, only plans it. */
export function runQuery(sql: string, isDryRun: boolean, signal: AbortSignal): Promise<QueryAnswer> {
  return api.post<QueryAnswer>('/api/query', { sql, limit: 1000, dry_run: isDryRun }, { signal })
}
