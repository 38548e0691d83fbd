import { queryClient } from '../query-client.ts'

/**
 * What can change on the service, by the first member of the query keys. `keeps`: members of keys that are not read again,
 * because their data never changes or because a new request would be an entry of the audit log.
 */
const AREAS = {
  alerts: [],
  approvals: [],
  config: [],
  definitions: ['version', 'diff'],
  deployments: ['plan'],
  environments: [],
  grants: [],
  'health-index': [],
  notebook: [],
  operations: [],
  pipelines: [],
  policies: [],
  quarantine: ['plan'],
  table: [],
  tables: [],
  tokens: [],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** A kind of data that the page shows. */
export type Area = keyof typeof AREAS

/** What a change makes outdated: an area, or the beginning of the keys of one object in it. */
export type Outdated = Area | readonly [Area, ...string[]]

/** Reads what is outdated again, where the page shows it; ends when the new data is there. */
export async function refresh(...outdated: readonly Outdated[]): Promise<void> {
  await Promise.all(outdated.map(invalidate))
}

function invalidate(outdated: Outdated): Promise<void> {
  const key = typeof outdated === 'string' ? ([outdated] as const) : outdated
  const keeps: readonly unknown[] = AREAS[key[0]]
  return queryClient.invalidateQueries({
    queryKey: key,
    predicate: ({ queryKey }) => !queryKey.some((member) => keeps.includes(member)),
  })
}
