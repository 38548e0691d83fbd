import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { RunEnvironment, Transition } from '../../../../src/domain/environments.ts'
import { hasCode } from '../../api/api-error.ts'
import { api } from '../../api/client.ts'
import { boardQuery, versionQuery } from '../../api/definitions.ts'
import { useLiveEvents } from '../../api/live-events.ts'
import type {
  ApprovalRequest,
  CreatedDefinition,
  Definition,
  ExportedVersion,
  GraphValidation,
  Version,
  VersionDiff,
  VersionSummary,
} from '../../api/types.ts'
import { definitionPageStrings } from '../../strings/pipelines/designer.ts'
import type { Graph } from '../../components/graph/graph.ts'

const BASE = '/api/pipeline-defs'

const pathOf = (id: string): string => `${BASE}/${encodeURIComponent(id)}`
const versionPath = (definitionId: string, id: string): string =>
  `${pathOf(definitionId)}/versions/${encodeURIComponent(id)}`

/** All versions of a definition, newest first, without content. */
export const versionsQuery = (definitionId: string) =>
  queryOptions({
    queryKey: ['definitions', definitionId, 'versions'],
    queryFn: ({ signal }) => api.get<VersionSummary[]>(`${pathOf(definitionId)}/versions`, { signal }),
  })

/** The difference between two versions. */
export const diffQuery = (definitionId: string, from: string, to: string) =>
  queryOptions({
    queryKey: ['definitions', definitionId, 'diff', from, to],
    queryFn: ({ signal }) =>
      api.get<VersionDiff>(`${versionPath(definitionId, from)}/diff/${encodeURIComponent(to)}`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })

/** What is validated: the saved version for read-only users, else the current graph. */
export interface ValidationRequest {
  readonly graph: Graph
  readonly saved: Version | undefined
  /** Whose parameters are used. */
  readonly environment: RunEnvironment
}

/** Validates a graph with the current tables and the parameters of an environment. */
export function validate({ graph, saved, environment }: ValidationRequest): Promise<GraphValidation> {
  const options = { query: { environment } }
  if (saved) return api.post(`${versionPath(saved.definition_id, saved.id)}/validate`, {}, options)
  return api.post(`${BASE}/validate`, graph, options)
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

/** Name and description of a definition. */
export type Naming = Pick<Definition, 'name' | 'description'>

/** A change of name and description, with the values that the user saw before. */
export interface Renaming {
  readonly seen: Naming
  readonly given: Naming
}

/** Someone else has changed the name or description since the form was opened. */
export class RenamedMeanwhile extends Error {
  /** The current values. */
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
    // A newly saved version also changes the tag: only a changed name or description is a conflict.
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

/** Moves a version, or requests the approval that the move needs. */
export function useMoveVersion(definitionId: string) {
  return useDefinitionsMutation(({ id, transition }: { readonly id: string; readonly transition: Transition }) =>
    api.send<Version | ApprovalRequest>('POST', `${versionPath(definitionId, id)}/${transition}`, { body: {} }),
  )
}

/** An exported version, as a document that can be imported. */
export function fetchExport(definitionId: string, id: string): Promise<ExportedVersion> {
  return api.get(`${versionPath(definitionId, id)}/export`)
}

/** A change after which, applied or refused, all data about definitions is reloaded. */
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

/** Updates definitions on the page when other users change them. */
export function useLiveDefinitions(): void {
  const client = useQueryClient()
  const renew = (): void => void client.invalidateQueries({ queryKey: ['definitions'], predicate: isChangeable })
  useLiveEvents('version.', renew)
  useLiveEvents('definition.', renew)
  useLiveEvents('approval.', renew)
}
