import { type ChangeRequest, managerChange, requireManager, type Versioned } from '../../domain/change-request.ts'
import { type Environment, FIRST_ENVIRONMENT, locksDefinition } from '../../domain/environments.ts'
import { DomainError } from '../../domain/errors.ts'
import { FORMAT_VERSION, type PipelineGraph } from '../../domain/graph.ts'
import type { RequestContext } from '../../domain/audit.ts'
import type { Caller } from '../../domain/roles.ts'
import { requireVersion } from '../../domain/precondition.ts'
import { createDeploymentStore } from '../../storage/stores/deployments/deployment-store.ts'
import type { DefinitionRecord } from '../../storage/stores/definition-store.ts'
import { createLifecycleStores, type LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { Tx } from '../../storage/transactions.ts'
import { pageByDefinitions } from '../identity/access/visible-lists.ts'
import type { ListPage, PageQuery } from '../paging/paging.ts'
import { keyPage, toListPage } from '../paging/paging.ts'
import { type LifecycleDeps, recordChange } from './lifecycle-deps.ts'
import { type DefinitionView, definitionView, type VersionView, versionView } from './lifecycle-views.ts'
import { requireGraph } from './require-graph.ts'

/** The content of a new definition. */
export interface NewDefinition extends PipelineGraph {
  readonly name: string
  readonly description: string
}

/** An imported {@link NewDefinition} with its format version. */
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

/** Pipeline definitions (docs/api.md#pipeline-definitions). */
export interface DefinitionService {
  /**
   * Creates a definition with version 1 in development. Throws `INVALID_GRAPH`, and `CONFLICT` when its owner has one of
   * this name.
   */
  create(definition: NewDefinition, context: RequestContext, managedBy?: string): Promise<CreatedDefinition>
  /** The same from a document. Throws `UNSUPPORTED_FORMAT_VERSION` for a document of a newer format. */
  import(document: ImportedDocument, context: RequestContext, managedBy?: string): Promise<CreatedDefinition>
  /** Newest first, those whose tables all exist for the caller. */
  list(environment: Environment | undefined, page: PageQuery, caller: Caller): Promise<ListPage<DefinitionView>>
  get(id: string): Promise<Versioned<DefinitionDetail>>
  /** Throws `DEFINITION_LOCKED` when a version's environment forbids updates, `PRECONDITION_FAILED`, `MANAGED`, `NOT_FOUND`. */
  update(id: string, update: DefinitionUpdate, changeRequest: ChangeRequest): Promise<Versioned<DefinitionView>>
  /** Also deletes versions, requests and comments. Throws as `update`. */
  delete(id: string, changeRequest: ChangeRequest): Promise<void>
}

/** Definitions in the state database. */
export function createDefinitionService(deps: LifecycleDeps): DefinitionService {
  return {
    create: (definition, context, managedBy) =>
      create(deps, definition, { context, action: 'definition.create', managedBy }),
    async import(document, context, managedBy) {
      if (document.format_version > FORMAT_VERSION) {
        throw new DomainError('UNSUPPORTED_FORMAT_VERSION', `this release reads format version ${FORMAT_VERSION}`)
      }
      return create(deps, document, { context, action: 'definition.import', managedBy })
    },
    async list(environment, query, caller) {
      const read = async (asked: PageQuery) => {
        const page = keyPage('definitions', asked)
        const rows = await deps.stores.definitions.list(environment, page)
        return toListPage(rows, page.limit, { key: ({ id }) => id, view: definitionView })
      }
      return pageByDefinitions(caller, { query, read }, ({ id }) => id)
    },
    async get(id) {
      const definition = await requireDefinition(deps.stores, id)
      const versions = await deps.stores.versions.latest(id)
      const latest = Object.fromEntries(versions.map((version) => [version.environment, versionView(version)]))
      return { value: { ...definitionView(definition), latest_versions: latest }, tag: definition.revision }
    },
    update: (id, update, changeRequest) => updateDefinition(deps, id, { update, changeRequest }),
    delete: (id, changeRequest) => deleteDefinition(deps, id, changeRequest),
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
  readonly managedBy: string | undefined
}

async function create(
  deps: LifecycleDeps,
  given: NewDefinition,
  { context, action, managedBy }: Creation,
): Promise<CreatedDefinition> {
  const { name, description, nodes, edges } = given
  requireGraph(given)
  const now = deps.now().toISOString()
  const createdBy = context.caller.user
  const id = deps.newId('def')
  const definition = { id, name, description, managedBy, createdBy, createdAt: now, updatedAt: now, revision: 1 }
  const version = await deps.inTransaction(async (tx) => {
    const stores = createLifecycleStores(tx)
    await requireFreeName(stores, definition)
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
    const details = { content_hash: made.contentHash, ...managerChange(undefined, managedBy) }
    const data = { name, version_id: made.id }
    const change = {
      context,
      action,
      event: 'definition.created',
      objectType: 'definition',
      objectId: id,
      data,
      details,
    } as const
    await recordChange(deps, tx, change)
    return made
  })
  return { definition: definitionView(definition), version: versionView(version) }
}

async function updateDefinition(
  deps: LifecycleDeps,
  id: string,
  { update, changeRequest }: { readonly update: DefinitionUpdate; readonly changeRequest: ChangeRequest },
): Promise<Versioned<DefinitionView>> {
  return deps.inTransaction(async (tx) => {
    const stores = createLifecycleStores(tx)
    const old = await requireDefinition(stores, id)
    requireVersion(changeRequest.precondition, old.revision)
    const managedBy = requireManager(old.managedBy, changeRequest.manager)
    const definition: DefinitionRecord = {
      ...old,
      managedBy,
      name: update.name ?? old.name,
      description: update.description ?? old.description,
      updatedAt: deps.now().toISOString(),
      revision: old.revision + 1,
    }
    if (!changesOwnerOnly(old, definition)) await requireUnlocked(stores, id, 'update')
    await requireFreeName(stores, definition)
    if (!(await stores.definitions.update(definition, old.revision))) throw changedMeanwhile(id)
    await recordChange(deps, tx, {
      context: changeRequest.context,
      action: 'definition.update',
      event: 'definition.updated',
      objectType: 'definition',
      objectId: id,
      data: { name: definition.name },
      details: { old_name: old.name, fields: Object.keys(update), ...managerChange(old.managedBy, managedBy) },
    })
    return { value: definitionView(definition), tag: definition.revision }
  })
}

async function deleteDefinition(deps: LifecycleDeps, id: string, changeRequest: ChangeRequest): Promise<void> {
  await deps.inTransaction(async (tx) => {
    const stores = createLifecycleStores(tx)
    const definition = await requireDefinition(stores, id)
    requireVersion(changeRequest.precondition, definition.revision)
    requireManager(definition.managedBy, changeRequest.manager)
    await requireUnlocked(stores, id, 'delete')
    await requireUndeployed(tx, id)
    const [newest] = await stores.versions.list(id, { limit: 1 })
    const pending = await stores.approvals.pendingOf(id)
    if (!(await stores.definitions.delete(id, definition.revision))) throw changedMeanwhile(id)
    await recordChange(deps, tx, {
      context: changeRequest.context,
      action: 'definition.delete',
      event: 'definition.deleted',
      objectType: 'definition',
      objectId: id,
      data: { name: definition.name, removed_pending_approvals: pending.map((request) => request.id) },
      details: { removed_versions: newest?.version ?? 0, created_by: definition.createdBy },
    })
  })
}

/** A locked definition may change its owner. */
function changesOwnerOnly(old: DefinitionRecord, { name, description, managedBy }: DefinitionRecord): boolean {
  return old.managedBy !== managedBy && old.name === name && old.description === description
}

/** Names of definitions may repeat, but not those of one owner, whose files know them by name. */
async function requireFreeName(stores: LifecycleStores, { id, name, managedBy }: DefinitionRecord): Promise<void> {
  const other = managedBy === undefined ? undefined : await stores.definitions.findManaged(managedBy, name)
  if (other === undefined || other.id === id) return
  const message = `${managedBy ?? ''} has a definition named ${name}`
  throw new DomainError('CONFLICT', message, { fields: [{ path: 'name', message }] })
}

async function requireUnlocked(stores: LifecycleStores, id: string, change: 'update' | 'delete'): Promise<void> {
  const versions = await stores.versions.versionsByEnvironment(id)
  const locking = versions.filter(({ environment }) => locksDefinition(environment, change))
  if (locking.length === 0) return
  const fields = locking.map(({ version, environment }) => ({
    path: `versions.${version}`,
    message: `version ${version} is in ${environment}`,
  }))
  const reasons = fields.map(({ message }) => message).join(', ')
  throw new DomainError('DEFINITION_LOCKED', `${change} is not possible: ${reasons}`, { fields })
}

async function requireUndeployed(tx: Tx, id: string): Promise<void> {
  const deployments = await createDeploymentStore(tx).listOf(id)
  const deployed = deployments.filter(({ state }) => state !== 'none').map(({ environment }) => environment)
  if (deployed.length === 0) return
  const where = deployed.join(', ')
  throw new DomainError('DEFINITION_LOCKED', `delete is not possible: it is deployed in ${where}; undeploy it first`)
}

function changedMeanwhile(id: string): DomainError {
  return new DomainError('CONFLICT', `pipeline definition ${id} was changed at the same time`)
}
