import { type Environment, FIRST_ENVIRONMENT, locksDefinition } from '../../domain/environments.ts'
import { DomainError } from '../../domain/errors.ts'
import { FORMAT_VERSION, type PipelineGraph } from '../../domain/graph.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { requireVersion } from '../../domain/precondition.ts'
import type { DefinitionRecord } from '../../storage/definition-store.ts'
import { createLifecycleStores, type LifecycleStores } from '../../storage/lifecycle-stores.ts'
import type { ListPage, PageQuery } from '../paging.ts'
import { keyPage, toListPage } from './key-paging.ts'
import { type Demand, type LifecycleDeps, recordChange, type Versioned } from './lifecycle-deps.ts'
import { type DefinitionView, definitionView, type VersionView, versionView } from './lifecycle-views.ts'
import { requireGraph } from './require-graph.ts'

/** What a definition begins with. */
export interface NewDefinition extends PipelineGraph {
  readonly name: string
  readonly description: string
}

/** A document of {@link NewDefinition} with the version of its format. */
export interface ImportedDocument extends NewDefinition {
  readonly format_version: number
}

export interface DefinitionUpdate {
  readonly name?: string | undefined
  readonly description?: string | undefined
}

export interface CreatedDefinition {
  readonly definition: DefinitionView
  readonly version: VersionView
}

export interface DefinitionDetail extends DefinitionView {
  readonly latest_versions: { readonly [E in Environment]?: VersionView }
}

/** Pipeline definitions (spec, sections 2 to 4; contract, section 7). */
export interface DefinitionService {
  /** Makes a definition with version 1 in development. Throws `INVALID_GRAPH`. */
  create(definition: NewDefinition, context: RequestContext): Promise<CreatedDefinition>
  /** The same from a document. Throws `UNSUPPORTED_FORMAT_VERSION` for one of a newer system. */
  import(document: ImportedDocument, context: RequestContext): Promise<CreatedDefinition>
  /** Newest first. */
  list(environment: Environment | undefined, page: PageQuery): Promise<ListPage<DefinitionView>>
  get(id: string): Promise<Versioned<DefinitionDetail>>
  /** Throws `DEFINITION_LOCKED` by rule 1 of the spec, `PRECONDITION_FAILED`, `NOT_FOUND`. */
  update(id: string, update: DefinitionUpdate, demand: Demand): Promise<Versioned<DefinitionView>>
  /** With its versions, requests and comments. Throws `DEFINITION_LOCKED` by rule 2, `PRECONDITION_FAILED`, `NOT_FOUND`. */
  delete(id: string, demand: Demand): Promise<void>
}

/** Definitions in the state database. */
export function createDefinitionService(deps: LifecycleDeps): DefinitionService {
  return {
    create: (definition, context) => create(deps, definition, { context, action: 'definition.create' }),
    async import(document, context) {
      if (document.format_version > FORMAT_VERSION) {
        throw new DomainError('UNSUPPORTED_FORMAT_VERSION', `this system reads format version ${FORMAT_VERSION}`)
      }
      return create(deps, document, { context, action: 'definition.import' })
    },
    async list(environment, query) {
      const page = keyPage('definitions', query)
      const rows = await deps.stores.definitions.list(environment, page)
      return toListPage(rows, page.limit, { key: ({ id }) => id, view: definitionView })
    },
    async get(id) {
      const definition = await requireDefinition(deps.stores, id)
      const versions = await deps.stores.versions.latest(id)
      const latest = Object.fromEntries(versions.map((version) => [version.environment, versionView(version)]))
      return { value: { ...definitionView(definition), latest_versions: latest }, tag: definition.revision }
    },
    update: (id, update, demand) => updateDefinition(deps, id, { update, demand }),
    delete: (id, demand) => deleteDefinition(deps, id, demand),
  }
}

/** Throws `NOT_FOUND`. */
export async function requireDefinition(stores: LifecycleStores, id: string): Promise<DefinitionRecord> {
  const definition = await stores.definitions.find(id)
  if (definition) return definition
  throw new DomainError('NOT_FOUND', `no pipeline definition ${id}`)
}

interface Creation {
  readonly context: RequestContext
  readonly action: 'definition.create' | 'definition.import'
}

async function create(
  deps: LifecycleDeps,
  given: NewDefinition,
  { context, action }: Creation,
): Promise<CreatedDefinition> {
  const { name, description, nodes, edges } = given
  requireGraph(given)
  const now = deps.now().toISOString()
  const createdBy = context.caller.user
  const id = deps.newId('def')
  const definition = { id, name, description, createdBy, createdAt: now, updatedAt: now, revision: 1 }
  const version = await deps.inTransaction(async (tx) => {
    const stores = createLifecycleStores(tx)
    await stores.definitions.insert(definition)
    const made = await stores.versions.insert({
      id: deps.newId('ver'),
      definitionId: id,
      formatVersion: FORMAT_VERSION,
      environment: FIRST_ENVIRONMENT,
      graph: { nodes, edges },
      createdBy,
      createdAt: now,
    })
    const details = { content_hash: made.contentHash }
    const data = { name, version_id: made.id }
    const change = {
      action,
      event: 'definition.created',
      objectType: 'definition',
      objectId: id,
      data,
      details,
    } as const
    await recordChange(deps, tx, context, change)
    return made
  })
  return { definition: definitionView(definition), version: versionView(version) }
}

async function updateDefinition(
  deps: LifecycleDeps,
  id: string,
  { update, demand }: { readonly update: DefinitionUpdate; readonly demand: Demand },
): Promise<Versioned<DefinitionView>> {
  return deps.inTransaction(async (tx) => {
    const stores = createLifecycleStores(tx)
    const old = await requireDefinition(stores, id)
    requireVersion(demand.precondition, old.revision)
    await requireUnlocked(stores, id, 'update')
    const definition: DefinitionRecord = {
      ...old,
      name: update.name ?? old.name,
      description: update.description ?? old.description,
      updatedAt: deps.now().toISOString(),
      revision: old.revision + 1,
    }
    if (!(await stores.definitions.update(definition, old.revision))) throw changedMeanwhile(id)
    await recordChange(deps, tx, demand.context, {
      action: 'definition.update',
      event: 'definition.updated',
      objectType: 'definition',
      objectId: id,
      data: { name: definition.name },
      details: { old_name: old.name, fields: Object.keys(update) },
    })
    return { value: definitionView(definition), tag: definition.revision }
  })
}

async function deleteDefinition(deps: LifecycleDeps, id: string, demand: Demand): Promise<void> {
  await deps.inTransaction(async (tx) => {
    const stores = createLifecycleStores(tx)
    const definition = await requireDefinition(stores, id)
    requireVersion(demand.precondition, definition.revision)
    await requireUnlocked(stores, id, 'delete')
    const [newest] = await stores.versions.list(id, { limit: 1 })
    const pending = await stores.approvals.pendingOf(id)
    if (!(await stores.definitions.delete(id, definition.revision))) throw changedMeanwhile(id)
    await recordChange(deps, tx, demand.context, {
      action: 'definition.delete',
      event: 'definition.deleted',
      objectType: 'definition',
      objectId: id,
      data: { name: definition.name, removed_pending_approvals: pending.map((request) => request.id) },
      details: { removed_versions: newest?.version ?? 0, created_by: definition.createdBy },
    })
  })
}

async function requireUnlocked(stores: LifecycleStores, id: string, change: 'update' | 'delete'): Promise<void> {
  const versions = await stores.versions.whereabouts(id)
  const locking = versions.filter(({ environment }) => locksDefinition(environment, change))
  if (locking.length === 0) return
  const fields = locking.map(({ version, environment }) => ({
    path: `versions.${version}`,
    message: `version ${version} is in ${environment}`,
  }))
  const reasons = fields.map(({ message }) => message).join(', ')
  throw new DomainError('DEFINITION_LOCKED', `${change} is not possible: ${reasons}`, { fields })
}

function changedMeanwhile(id: string): DomainError {
  return new DomainError('CONFLICT', `pipeline definition ${id} was changed at the same time`)
}
