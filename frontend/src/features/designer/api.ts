import { queryOptions } from '@tanstack/react-query'
import type { RunEnvironment, Transition } from '../../../../src/domain/environments.ts'
import { hasCode } from '../../api/api-error.ts'
import { api } from '../../api/client.ts'
import { versionQuery } from '../../api/definitions.ts'
import { useLiveEvents } from '../../api/live-events.ts'
import { queryClient } from '../../api/query-client.ts'
import { refresh } from '../../api/actions/refresh.ts'
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
export function createDefinition(given: Naming): Promise<CreatedDefinition> {
  return api.post(BASE, given)
}

/** Makes a definition from an exported document. */
export function importDefinition(document: object): Promise<CreatedDefinition> {
  return api.post(`${BASE}/import`, document)
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
export async function renameDefinition(id: string, { seen, given }: Renaming): Promise<Definition> {
  const { body: now, headers } = await api.send<Definition>('GET', pathOf(id))
  if (now.name !== seen.name || now.description !== seen.description) throw new RenamedMeanwhile(now)
  const tag = headers.get('ETag')
  try {
    return await api.put(pathOf(id), given, tag === null ? {} : { headers: { 'If-Match': tag } })
  } catch (error) {
    // A newly saved version also changes the tag: only a changed name or description is a conflict.
    if (hasCode(error, 'PRECONDITION_FAILED')) return renameDefinition(id, { seen, given })
    throw error
  }
}

/** Removes a definition with all that belongs to it. */
export function deleteDefinition(id: string): Promise<unknown> {
  return api.del(pathOf(id))
}

/** Makes the next version. */
export async function saveVersion(definitionId: string, graph: Graph): Promise<Version> {
  const version = await api.post<Version>(`${pathOf(definitionId)}/versions`, graph)
  queryClient.setQueryData(versionQuery(definitionId, version.id).queryKey, version)
  return version
}

/** Moves a version, or requests the approval that the move needs (status 202). */
export function moveVersion(version: VersionSummary, transition: Transition) {
  const path = `${versionPath(version.definition_id, version.id)}/${transition}`
  return api.send<Version | ApprovalRequest>('POST', path, { body: {} })
}

/** An exported version, as a document that can be imported. */
export function fetchExport(definitionId: string, id: string): Promise<ExportedVersion> {
  return api.get(`${versionPath(definitionId, id)}/export`)
}

/** Updates definitions on the page when other users change them. */
export function useLiveDefinitions(): void {
  const renew = (): void => void refresh('definitions')
  useLiveEvents('version.', renew)
  useLiveEvents('definition.', renew)
  useLiveEvents('approval.', renew)
}
