import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import type { OperationResult, QuarantineEntry, QuarantineList, QuarantinePurged } from '../../api/types.ts'

const BASE = '/api/quarantine'
const PAGE_SIZE = 200

const pathOf = (id: string): string => `${BASE}/${encodeURIComponent(id)}`

/** What the key of every list of entries begins with. */
export const QUARANTINE_LISTS = ['quarantine', 'list'] as const

/** Which entries are listed. */
export interface QuarantineSearch {
  readonly table?: string | undefined
  readonly state?: QuarantineEntry['state'] | undefined
}

/** Entries, newest first, page by page. */
export const quarantineQuery = ({ table, state }: QuarantineSearch) =>
  infiniteQueryOptions({
    queryKey: [...QUARANTINE_LISTS, { table, state }],
    queryFn: ({ pageParam, signal }) =>
      api.get<QuarantineList>(BASE, { query: { table, state, page_size: PAGE_SIZE, page_token: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_page_token: next }) => next ?? undefined,
  })

/** What a restore does, by the names of its result. */
export interface RestoreDetails {
  readonly restored_files_count: number
  readonly restored_bytes: number
  readonly missing_files_count: number
  readonly restored_snapshots_count: number
  readonly left_out_snapshots_count: number
  readonly restored_refs: readonly string[]
}

/** A preview, with the plan that applies exactly that. */
export interface RestorePlan {
  readonly details: RestoreDetails
  readonly planId: string | undefined
}

/** What a restore would do; asked when `enabled`, and never answered from the cache. */
export const restorePlanQuery = (id: string, enabled: boolean) =>
  queryOptions({
    queryKey: ['quarantine', 'plan', id],
    queryFn: async (): Promise<RestorePlan> => {
      const result = await api.post<OperationResult>(`${pathOf(id)}/restore`, { dry_run: true })
      return { details: JSON.parse(result.details_json) as RestoreDetails, planId: result.plan_id }
    },
    enabled,
    gcTime: 0,
    retry: false,
  })

/** Restores an entry as its preview showed. */
export function restoreEntry(id: string, planId: string | undefined): Promise<OperationResult> {
  return api.post(`${pathOf(id)}/restore`, planId === undefined ? {} : { plan_id: planId })
}

/** Deletes the files of an entry for good; for leads. */
export function purgeEntry(id: string): Promise<QuarantinePurged> {
  return api.post(`${pathOf(id)}/purge`, undefined)
}
