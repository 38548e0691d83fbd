import { queryOptions } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import type { AccessAnswer, Grant } from '../../../api/types.ts'

const PATH = '/api/grants'

/** All grants, and the entity tag of this state. */
export interface TaggedGrants {
  readonly grants: readonly Grant[]
  readonly tag: string | null
}

/** All grants; for leads. */
export const grantsQuery = queryOptions({
  queryKey: ['grants'],
  queryFn: async ({ signal }): Promise<TaggedGrants> => {
    const { body, headers } = await api.send<Grant[]>('GET', PATH, { signal })
    return { grants: body, tag: headers.get('ETag') }
  },
})

/** Replaces all grants; refused with 412 if they have changed since they were read. */
export async function saveGrants({ grants, tag }: TaggedGrants): Promise<void> {
  await api.put(PATH, grants, tag === null ? {} : { headers: { 'If-Match': tag } })
}

/** Which grants give a user or group which role on a table; `principal` is `user:NAME` or `group:NAME`. */
export function explainAccess(table: string, principal: string): Promise<AccessAnswer> {
  const isGroup = principal.startsWith('group:')
  const name = principal.replace(/^(user|group):/, '')
  return api.get('/api/access', { query: { table, ...(isGroup ? { group: name } : { user: name }) } })
}
