import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { Transition } from '../../../../src/domain/environments.ts'
import { hasCode } from '../../api/api-error.ts'
import { api } from '../../api/client.ts'
import { useLiveEvents } from '../../api/live-events.ts'
import type {
  ApprovalRequest,
  Board,
  CreatedDefinition,
  Definition,
  ExportedVersion,
  GraphValidation,
  NodeTypeList,
  TableSchema,
  Version,
  VersionDiff,
  VersionSummary,
} from '../../api/types.ts'
import { definitionPageStrings } from '../../strings/designer.ts'
import type { Graph, NodeTypeInfo, NodeTypes } from './graph.ts'

const BASE = '/api/pipeline-defs'
const PAGE_SIZE = 500

const pathOf = (id: string): string => `${BASE}/${encodeURIComponent(id)}`
const versionPath = (definitionId: string, id: string): string =>
  `${pathOf(definitionId)}/versions/${encodeURIComponent(id)}`

/** Definitions over the environments, newest first, page by page. */
export const boardQuery = infiniteQueryOptions({
  queryKey: ['definitions', 'pages'],
  queryFn: ({ pageParam, signal }) =>
    api.get<Board>('/api/pipeline-board', { query: { page_size: PAGE_SIZE, page_token: pageParam }, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_page_token: token }) => token ?? undefined,
})

/** Where the versions of one definition are, and what waits. */
export const definitionQuery = (id: string) =>
  queryOptions({
    queryKey: ['definitions', id, 'row'],
    queryFn: async ({ signal }) => {
      const { definitions } = await api.get<Board>('/api/pipeline-board', { query: { definition_id: id }, signal })
      const [row] = definitions
      if (row === undefined) throw new Error('the board left the definition out')
      return row
    },
  })

/** All versions of a definition, newest first, without content. */
export const versionsQuery = (definitionId: string) =>
  queryOptions({
    queryKey: ['definitions', definitionId, 'versions'],
    queryFn: ({ signal }) => api.get<VersionSummary[]>(`${pathOf(definitionId)}/versions`, { signal }),
  })

/** A version with its content, which never changes. */
export const versionQuery = (definitionId: string, id: string) =>
  queryOptions({
    queryKey: ['definitions', definitionId, 'version', id],
    queryFn: ({ signal }) => api.get<Version>(versionPath(definitionId, id), { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })

/** What changes one version into another. */
export const diffQuery = (definitionId: string, from: string, to: string) =>
  queryOptions({
    queryKey: ['definitions', definitionId, 'diff', from, to],
    queryFn: ({ signal }) =>
      api.get<VersionDiff>(`${versionPath(definitionId, from)}/diff/${encodeURIComponent(to)}`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })

/** The types of nodes that can run, by their names. */
export const nodeTypesQuery = queryOptions({
  queryKey: ['node-types'],
  queryFn: async ({ signal }): Promise<NodeTypes> => {
    const { node_types: types } = await api.get<NodeTypeList>('/api/node-types', { signal })
    return new Map(types.map((info): [string, NodeTypeInfo] => [info.type, info]))
  },
  staleTime: Number.POSITIVE_INFINITY,
})

/** The columns of a table, to write SQL by. */
export const columnsQuery = (table: string) =>
  queryOptions({
    queryKey: ['table', table, 'schema'],
    queryFn: ({ signal }) => api.get<TableSchema>(`/api/table/${encodeURIComponent(table)}/schema`, { signal }),
    retry: false,
  })

/** What keeps a graph from running: a saved version for those who only read, else the graph as it is drawn. */
export function validate(graph: Graph, saved: Version | undefined): Promise<GraphValidation> {
  if (saved) return api.post(`${versionPath(saved.definition_id, saved.id)}/validate`, {})
  return api.post(`${BASE}/validate`, graph)
}

/** Makes a definition with an empty first version. */
export function useCreateDefinition() {
  return useDefinitionsMutation((given: { readonly name: string; readonly description: string }) =>
    api.post<CreatedDefinition>(BASE, given),
  )
}

/** Makes a definition from an exported document. */
export function useImportDefinition() {
  return useDefinitionsMutation((document: object) => api.post<CreatedDefinition>(`${BASE}/import`, document))
}

/** What people call a definition, and what they say of it. */
export type Naming = Pick<Definition, 'name' | 'description'>

/** A change of name and description, by somebody who saw what they were. */
export interface Renaming {
  readonly seen: Naming
  readonly given: Naming
}

/** Somebody else changed name or description since they were seen. */
export class RenamedMeanwhile extends Error {
  /** What they are now. */
  readonly now: Naming

  constructor(now: Naming) {
    super(definitionPageStrings.renamedMeanwhile(now.name, now.description))
    this.name = 'RenamedMeanwhile'
    this.now = now
  }
}

/** Changes name and description; throws {@link RenamedMeanwhile} when they are no longer what was seen. */
export function useRename(id: string) {
  return useDefinitionsMutation((renaming: Renaming) => rename(id, renaming))
}

async function rename(id: string, { seen, given }: Renaming): Promise<Definition> {
  const { body: now, headers } = await api.send<Definition>('GET', pathOf(id))
  if (now.name !== seen.name || now.description !== seen.description) throw new RenamedMeanwhile(now)
  const tag = headers.get('ETag')
  try {
    return await api.put(pathOf(id), given, tag === null ? {} : { headers: { 'If-Match': tag } })
  } catch (error) {
    // A version that was saved meanwhile changes the tag too: only other words are a conflict.
    if (hasCode(error, 'PRECONDITION_FAILED')) return rename(id, { seen, given })
    throw error
  }
}

/** Removes a definition with all that belongs to it. */
export function useDeleteDefinition(id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => api.del(pathOf(id)),
    onSuccess: () => client.invalidateQueries({ queryKey: boardQuery.queryKey }),
  })
}

/** Makes the next version. */
export function useSaveVersion(definitionId: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (graph: Graph) => api.post<Version>(`${pathOf(definitionId)}/versions`, graph),
    onSuccess: (version) => {
      client.setQueryData(versionQuery(definitionId, version.id).queryKey, version)
      return client.invalidateQueries({ queryKey: ['definitions', definitionId, 'versions'] })
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['definitions', definitionId, 'row'] }),
  })
}

/** Moves a version, or asks for the approval that the move needs. */
export function useMoveVersion(definitionId: string) {
  return useDefinitionsMutation(({ id, transition }: { readonly id: string; readonly transition: Transition }) =>
    api.send<Version | ApprovalRequest>('POST', `${versionPath(definitionId, id)}/${transition}`, { body: {} }),
  )
}

/** An exported version as the document that imports as it is. */
export function fetchExport(definitionId: string, id: string): Promise<ExportedVersion> {
  return api.get(`${versionPath(definitionId, id)}/export`)
}

/** A change after which, done or refused, everything about definitions may look different. */
function useDefinitionsMutation<Given, Answer>(mutationFn: (given: Given) => Promise<Answer>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn,
    onSettled: () => client.invalidateQueries({ queryKey: ['definitions'], predicate: isChangeable }),
  })
}

/** Versions and comparisons never change. */
function isChangeable({ queryKey: [, , what] }: { readonly queryKey: readonly unknown[] }): boolean {
  return what !== 'version' && what !== 'diff'
}

/** Keeps what is shown of definitions right while others make, move and approve versions. */
export function useLiveDefinitions(): void {
  const client = useQueryClient()
  const renew = (): void => void client.invalidateQueries({ queryKey: ['definitions'], predicate: isChangeable })
  useLiveEvents('version.', renew)
  useLiveEvents('definition.', renew)
  useLiveEvents('approval.', renew)
}
