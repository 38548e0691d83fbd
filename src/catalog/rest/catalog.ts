import { mapBounded } from '../../lib/bounded-map.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { JsonObject } from '../../iceberg/json/lossless-json.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { Catalog, CatalogEntry, CommitRequest, CreateTableOptions } from '../catalog.ts'
import type { CatalogChecks, CheckableCatalog } from '../catalog-checks.ts'
import { type CommitOutcome, refused } from '../commit-outcome.ts'
import { loadNewTableAt } from '../metadata-file.ts'
import { requireInRoots } from '../ownership/allowed-locations.ts'
import { addUnowned } from '../ownership/registration-guard.ts'
import { createRestClient, type RestClient, type RestLimits } from './client.ts'
import { createRestChecks } from './checks.ts'
import { commitServed } from './commit.ts'
import { RestEntityTags } from './entity-tags.ts'
import { answerJson, hasStatus } from './errors.ts'
import type { RestAnswer } from './exchange.ts'
import { draftOf } from '../new-table.ts'
import type { CatalogNames } from '../names.ts'
import { listAll } from './listing.ts'
import { createRestNames } from './names.ts'
import { commitBody, createTableBody, metadataLocationOf, namespacesPage } from './messages.ts'
import { tableOf, tablesPage } from './messages.ts'
import { configPath, type RestRoutes, restRoutes, withQuery } from './routes.ts'
import type { RestSettings } from './settings.ts'
import { creationError, loadError, unlessStatus } from './table-errors.ts'
import { Vending } from './vended/vending.ts'
import {
  checkIdentifier,
  checkNamespace,
  checkNewIdentifier,
  noSuchNamespace,
  noSuchTable,
} from '../table-identifier.ts'
import { formatIdentifier, formatNamespace } from '../table-identifier.ts'

export interface RestCatalogOptions {
  readonly settings: RestSettings
  /** Tables with files that it does not serve are read-only metadata. */
  readonly io: FileIO
  /** Locations that may contain tables; default: the warehouse. */
  readonly roots?: readonly string[]
  readonly limits?: Partial<RestLimits>
  /** Waits between checks of a table after a commit without a usable response, ms. */
  readonly outcomeWaitsMs?: readonly number[]
}

/**
 * A catalog behind the Iceberg REST protocol. Its server applies commits, names metadata files and
 * chooses the location of new tables. Names that cannot be written as dotted text are not listed.
 */
export function createRestCatalog(options: RestCatalogOptions): CheckableCatalog {
  return new RestCatalog(options)
}

const OUTCOME_WAITS_MS = [250, 1000, 3000]
const CONCURRENT_REQUESTS = 8

class RestCatalog implements CheckableCatalog {
  readonly name: string
  readonly warehouse: string
  readonly roots: readonly string[]
  readonly names: CatalogNames
  readonly checks: CatalogChecks
  /** Present once the server has returned a table with an entity tag. */
  locateTable?: Exclude<Catalog['locateTable'], undefined>
  readonly #settings: RestSettings
  readonly #client: RestClient
  readonly #io: FileIO
  readonly #vending: Vending
  readonly #outcomeWaitsMs: readonly number[]
  readonly #tags = new RestEntityTags()
  #routes: Promise<RestRoutes> | undefined

  constructor({ settings, io, roots, limits, outcomeWaitsMs = OUTCOME_WAITS_MS }: RestCatalogOptions) {
    this.name = settings.name
    this.warehouse = settings.warehouse
    this.roots = roots ?? [settings.warehouse]
    this.#settings = settings
    this.#io = io
    this.#vending = new Vending({
      loadCredentials: (identifier) => this.#loadCredentials(identifier),
      loadTable: (identifier) => this.#loadJson(identifier),
      own: settings.store,
      roots: this.roots,
      io,
    })
    this.#client = createRestClient(settings, limits, () => this.#vending.secrets())
    this.#outcomeWaitsMs = outcomeWaitsMs
    this.names = createRestNames({
      client: this.#client,
      routes: () => this.#prepare(),
      requireNamespace: (namespace) => this.#requireNamespace(namespace),
      children: (namespace) => this.#children(namespace),
      requireAllowed: (location) => requireInRoots(this, this.#io, [location]),
      tables: (namespace) => this.#tablesIn(namespace),
    })
    this.checks = createRestChecks({
      uri: settings.uri,
      client: this.#client,
      routes: () => this.#prepare(),
      children: (namespace) => this.#children(namespace),
      tables: (namespace) => this.#tablesIn(namespace),
      lent: async (table) => this.#vending.renewOnce(table, await this.#loadJson(table.identifier)),
    })
  }

  async ping(): Promise<void> {
    const { namespaces } = await this.#prepare()
    await this.#get(withQuery(namespaces, { pageToken: '', pageSize: '1' }))
  }

  async createNamespace(namespace: readonly string[]): Promise<void> {
    checkNamespace(namespace)
    const routes = await this.#prepare()
    const missing: (readonly string[])[] = []
    for (let depth = namespace.length; depth > 0; depth--) {
      const levels = namespace.slice(0, depth)
      if (await this.#exists(routes.namespace(levels))) break
      missing.unshift(levels)
    }
    for (const levels of missing) {
      const body = { namespace: [...levels], properties: {} }
      await this.#client.request({ method: 'POST', path: routes.namespaces, body }).catch(unlessStatus(409))
    }
  }

  async listNamespaces(): Promise<readonly (readonly string[])[]> {
    const all: (readonly string[])[] = []
    for (let level: readonly (readonly string[])[] = [[]]; level.length > 0;) {
      level = (await mapBounded(level, CONCURRENT_REQUESTS, (parent) => this.#children(parent))).flat()
      all.push(...level)
    }
    return sortedBy(all, formatNamespace)
  }

  async listTables(namespace?: readonly string[]): Promise<readonly TableIdentifier[]> {
    if (namespace === undefined) {
      const namespaces = await this.listNamespaces()
      const lists = await mapBounded(
        namespaces,
        CONCURRENT_REQUESTS,
        async (levels) => (await this.#tablesIn(levels)) ?? [],
      )
      return lists.flat()
    }
    if (namespace.length === 0) return [] // the protocol does not allow tables there
    checkNamespace(namespace)
    const tables = await this.#tablesIn(namespace)
    if (tables === undefined) throw noSuchNamespace(namespace)
    return tables
  }

  /** One request per table, with a short response if the server supports entity tags. */
  async listEntries(): Promise<readonly CatalogEntry[]> {
    return mapBounded(await this.listTables(), CONCURRENT_REQUESTS, async (identifier) => ({
      name: formatIdentifier(identifier),
      identifier,
      metadataLocation: await this.#locate(identifier).catch(undefinedIfRefused),
      load: () => this.loadTable(identifier),
    }))
  }

  async loadTable(identifier: TableIdentifier): Promise<Table> {
    return this.#table(identifier, await this.#loadJson(identifier))
  }

  async createTable(identifier: TableIdentifier, options: CreateTableOptions): Promise<Table> {
    checkNewIdentifier(identifier)
    const { namespace, name } = identifier
    const path = (await this.#prepare()).tables(namespace)
    await this.#requireNamespace(namespace)
    try {
      const body = createTableBody(name, options)
      const answer = await this.#client.request({ method: 'POST', path, body, answersTable: true, delegates: true })
      return this.#table(identifier, answerJson(answer))
    } catch (error) {
      throw creationError(error, identifier)
    }
  }

  async registerTable(
    identifier: TableIdentifier,
    metadataLocation: string,
    check?: (table: Table) => Promise<void>,
  ): Promise<Table> {
    checkNewIdentifier(identifier)
    const { namespace, name } = identifier
    const path = (await this.#prepare()).register(namespace)
    await this.#requireNamespace(namespace)
    const table = await loadNewTableAt(this.#io, identifier, metadataLocation)
    await check?.(table)
    const add = async (): Promise<Table> => {
      try {
        const body = { name, 'metadata-location': metadataLocation }
        const answer = await this.#client.request({ method: 'POST', path, body, answersTable: true })
        return this.#table(identifier, answerJson(answer))
      } catch (error) {
        throw creationError(error, identifier)
      }
    }
    return addUnowned(this, table, { add, undo: () => this.dropTable(identifier) })
  }

  async dropTable(identifier: TableIdentifier): Promise<void> {
    checkIdentifier(identifier)
    const path = withQuery(await this.#tablePath(identifier), { purgeRequested: 'false' })
    try {
      await this.#client.request({ method: 'DELETE', path })
    } catch (error) {
      throw hasStatus(error, 404) ? noSuchTable(identifier) : error
    }
  }

  async commit(identifier: TableIdentifier, request: CommitRequest): Promise<CommitOutcome> {
    let path: string
    let body: JsonObject
    try {
      path = await this.#tablePath(identifier)
      body = commitBody(identifier, request)
    } catch (error) {
      return refused(identifier, error) // nothing was sent
    }
    const port = {
      load: () => this.loadTable(identifier),
      draft: (metadata: TableMetadata) => draftOf(this.#io, identifier, metadata),
      send: async () => {
        const json = answerJson(await this.#client.request({ method: 'POST', path, body, answersTable: true }))
        const table = tableOf(json, identifier)
        return { ...table, io: this.#vending.filesAfterCommit(table, json) }
      },
      outcomeWaitsMs: this.#outcomeWaitsMs,
    }
    return commitServed(port, identifier, request)
  }

  async close(): Promise<void> {}

  #prepare(): Promise<RestRoutes> {
    const { uri, warehouse } = this.#settings
    this.#routes ??= this.#get(configPath(uri, warehouse))
      .then((config) => restRoutes(config, uri))
      .catch((error: unknown) => {
        this.#routes = undefined // a later call retries
        throw error
      })
    return this.#routes
  }

  async #get(path: string): Promise<JsonObject> {
    return answerJson(await this.#client.request({ method: 'GET', path }))
  }

  async #exists(path: string): Promise<boolean> {
    try {
      await this.#get(path)
      return true
    } catch (error) {
      if (hasStatus(error, 404)) return false
      throw error
    }
  }

  /** Some servers choose any location. */
  async #requireNamespace(namespace: readonly string[]): Promise<void> {
    const routes = await this.#prepare()
    if (!(await this.#exists(routes.namespace(namespace)))) throw noSuchNamespace(namespace)
  }

  /** The direct child namespaces; none if the catalog has only one level, or the parent does not exist. */
  async #children(parent: readonly string[]): Promise<readonly (readonly string[])[]> {
    const routes = await this.#prepare()
    const list = { path: routes.namespaces, query: routes.parent(parent), read: namespacesPage }
    const found = await listAll(this.#client, list).catch((error: unknown) => {
      if (parent.length > 0 && (hasStatus(error, 404) || hasStatus(error, 406))) return []
      throw error
    })
    return found.filter((levels) => isChild(levels, parent) && isLegal(() => checkNamespace(levels)))
  }

  /** Sorted; undefined when there is no such namespace. */
  async #tablesIn(namespace: readonly string[]): Promise<readonly TableIdentifier[] | undefined> {
    const { tables } = await this.#prepare()
    const found = await listAll(this.#client, { path: tables(namespace), read: tablesPage }).catch(unlessStatus(404))
    const shown = found
      ?.filter(({ name }) => isLegal(() => checkIdentifier({ namespace, name })))
      .map(({ name }) => ({ namespace, name }))
    return shown && sortedBy(shown, ({ name }) => name)
  }

  async #tablePath(identifier: TableIdentifier): Promise<string> {
    checkIdentifier(identifier)
    if (identifier.namespace.length === 0) throw noSuchTable(identifier)
    return (await this.#prepare()).table(identifier)
  }

  async #loadJson(identifier: TableIdentifier): Promise<JsonObject> {
    const path = await this.#tablePath(identifier)
    try {
      return this.#remember(
        identifier,
        await this.#client.request({ method: 'GET', path, answersTable: true, delegates: true }),
      )
    } catch (error) {
      throw loadError(error, identifier)
    }
  }

  async #loadCredentials(identifier: TableIdentifier): Promise<JsonObject | undefined> {
    const path = (await this.#prepare()).credentials(identifier)
    return path === undefined ? undefined : this.#get(path)
  }

  async #locate(identifier: TableIdentifier): Promise<string> {
    const known = this.#tags.find(identifier)
    if (known === undefined) return metadataLocationOf(await this.#loadJson(identifier))
    const path = await this.#tablePath(identifier)
    try {
      const { entityTag, metadataLocation } = known
      const answer = await this.#client.request({ method: 'GET', path, entityTag, answersTable: true })
      if (answer.status === 304) return metadataLocation
      return metadataLocationOf(this.#remember(identifier, answer))
    } catch (error) {
      throw loadError(error, identifier)
    }
  }

  #remember(identifier: TableIdentifier, answer: RestAnswer): JsonObject {
    const json = answerJson(answer)
    const entityTag = answer.headers.get('etag')
    this.#tags.remember(identifier, entityTag, metadataLocationOf(json))
    if (entityTag !== null) this.locateTable = (wanted) => this.#locate(wanted)
    return json
  }

  #table(identifier: TableIdentifier, json: JsonObject): Table {
    const table = tableOf(json, identifier)
    return { ...table, io: this.#vending.filesOf(table, json) }
  }
}

/** Servers may return all descendants, with or without the parent. */
function isChild(levels: readonly string[], parent: readonly string[]): boolean {
  return levels.length === parent.length + 1 && parent.every((level, depth) => levels[depth] === level)
}

/** Loading the table then reports the problem. */
function undefinedIfRefused(error: unknown): undefined {
  if (!isIcebergError(error)) throw error
}

function isLegal(check: () => void): boolean {
  try {
    check()
    return true
  } catch (error) {
    if (isIcebergError(error, 'INVALID_ARGUMENT')) return false
    throw error
  }
}

function sortedBy<T>(items: readonly T[], key: (item: T) => string): readonly T[] {
  return [...items].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}
