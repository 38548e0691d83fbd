import { type ChangeRequest, requireManager } from '../../domain/change-request.ts'
import { FIRST_ENVIRONMENT } from '../../domain/environments.ts'
import { DomainError } from '../../domain/errors.ts'
import { FORMAT_VERSION, type PipelineGraph } from '../../domain/graph.ts'
import { requireVersion } from '../../domain/precondition.ts'
import { createLifecycleStores, type LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { VersionRecord } from '../../storage/stores/version-store.ts'
import type { ListPage, PageQuery } from '../paging/paging.ts'
import { requireDefinition } from './definition-service.ts'
import { keyPage, toListPage } from '../paging/paging.ts'
import { type LifecycleDeps, recordChange } from './lifecycle-deps.ts'
import {
  type DiffView,
  diffView,
  type VersionSummaryView,
  versionSummaryView,
  type VersionView,
  versionView,
} from './lifecycle-views.ts'
import { requireGraph } from './require-graph.ts'

/** A version as a document that can be imported unchanged (docs/api.md#exported-versions). */
export interface ExportedVersion extends PipelineGraph {
  readonly format_version: number
  readonly name: string
  readonly description: string
  readonly version: number
  readonly exported_at: string
}

/** Versions of pipeline definitions (docs/api.md#pipeline-definitions). */
export interface VersionService {
  /**
   * Creates the next version, in development. The precondition is on the definition. Throws `INVALID_GRAPH`, `NOT_FOUND`,
   * `PRECONDITION_FAILED`, `MANAGED`.
   */
  create(definitionId: string, graph: PipelineGraph, changeRequest: ChangeRequest): Promise<VersionView>
  /** Newest first, without content. */
  list(definitionId: string, page: PageQuery): Promise<ListPage<VersionSummaryView>>
  get(definitionId: string, id: string): Promise<VersionView>
  /** The same as JSON text, made of the stored text. */
  getText(definitionId: string, id: string): Promise<string>
  export(definitionId: string, id: string): Promise<ExportedVersion>
  /** The differences between two versions of one definition. */
  diff(definitionId: string, fromId: string, toId: string): Promise<DiffView>
}

/** Versions in the state database. */
export function createVersionService(deps: LifecycleDeps): VersionService {
  const { stores } = deps
  return {
    create: (definitionId, graph, changeRequest) => create(deps, definitionId, { graph, changeRequest }),
    async list(definitionId, query) {
      const { limit, after } = keyPage('versions', query)
      await requireDefinition(stores, definitionId)
      const page = { limit, after: after === undefined ? undefined : Number(after) }
      const rows = await stores.versions.list(definitionId, page)
      return toListPage(rows, limit, { key: ({ version }) => version, view: versionSummaryView })
    },
    get: async (definitionId, id) => versionView(await requirePipelineVersion(stores, definitionId, id)),
    async getText(definitionId, id) {
      const found = await stores.versions.findText(definitionId, id)
      if (found === undefined) throw noVersion(definitionId, id)
      return `${JSON.stringify(versionSummaryView(found.summary)).slice(0, -1)},${found.graph.slice(1)}`
    },
    async export(definitionId, id) {
      const { name, description } = await requireDefinition(stores, definitionId)
      const { formatVersion, version, graph } = await requirePipelineVersion(stores, definitionId, id)
      const { nodes, edges } = graph
      const exported_at = deps.now().toISOString()
      return { format_version: formatVersion, name, description, version, nodes, edges, exported_at }
    },
    async diff(definitionId, fromId, toId) {
      const from = await requirePipelineVersion(stores, definitionId, fromId)
      return diffView(from, await requirePipelineVersion(stores, definitionId, toId))
    },
  }
}

/** Throws `NOT_FOUND`, also for a version of another definition. */
export async function requirePipelineVersion(
  stores: LifecycleStores,
  definitionId: string,
  id: string,
): Promise<VersionRecord> {
  const version = await stores.versions.find(definitionId, id)
  if (version) return version
  throw noVersion(definitionId, id)
}

function noVersion(definitionId: string, id: string): DomainError {
  return new DomainError('NOT_FOUND', `no version ${id} of pipeline definition ${definitionId}`)
}

async function create(
  deps: LifecycleDeps,
  definitionId: string,
  { graph, changeRequest }: { readonly graph: PipelineGraph; readonly changeRequest: ChangeRequest },
) {
  const { context, precondition, manager } = changeRequest
  requireGraph(graph)
  const version = await deps.inTransaction(async (tx) => {
    const stores = createLifecycleStores(tx)
    const definition = await requireDefinition(stores, definitionId)
    requireVersion(precondition, definition.revision)
    requireManager(definition.managedBy, manager)
    const made = await stores.versions.insert({
      id: deps.newId('ver'),
      definitionId,
      formatVersion: FORMAT_VERSION,
      environment: FIRST_ENVIRONMENT,
      graph: { nodes: graph.nodes, edges: graph.edges },
      createdBy: context.caller.user,
      createdAt: deps.now().toISOString(),
    })
    await stores.definitions.touch(definitionId)
    await recordChange(deps, tx, {
      context,
      action: 'version.create',
      event: 'version.created',
      objectType: 'version',
      objectId: made.id,
      data: { definition_id: definitionId, version: made.version },
      details: { content_hash: made.contentHash },
    })
    return made
  })
  return versionView(version)
}
