import type { Catalog, CommitRequest } from '../../catalog/catalog.ts'
import type { CatalogNames } from '../../catalog/names.ts'
import { addedSnapshots } from '../../catalog/rest/outcome.ts'
import { memberOf } from '../../catalog/catalog.ts'
import type { CatalogSettings } from '../../catalog/settings.ts'
import { formatIdentifier, formatNamespace, namespaceOf } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Caller, Role } from '../../domain/roles.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import { type JsonObject, stringifyJson } from '../../iceberg/json/lossless-json.ts'
import { snapshotById } from '../../iceberg/metadata/metadata.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { TableGuard } from '../../maintenance/table-guard.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import { requireTable, requireTables, seesTable } from '../identity/access/require-access.ts'
import { requireNamespace, visibleNamespaces } from '../identity/access/visible-namespaces.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { EnvironmentService } from '../environments/environment-service.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import { AnswerCache } from './answer-cache.ts'
import { catalogOfWarehouse } from './warehouses.ts'
import { answerOf, entityTagOf, type TableAnswer } from './table-answer.ts'
import { requireRegistrable } from '../tables/registration.ts'
import { checkForeignCommit, requireUnused } from './foreign-commit.ts'
import { listPage, type ListQuery } from './list-page.ts'
import { requireMayWrite } from './listed-table.ts'
import { inProtocolWords, whenFileIsMissing } from './protocol-words.ts'
import { checkNamespaceProperties, checkPropertyLimits } from './property-limits.ts'
import { requireUnreservedProperties } from '../tables/reserved-names.ts'
import { requireReport, type TableReports } from './table-reports.ts'
import {
  identifierJson,
  readBody,
  readChange,
  readChanges,
  readCreateTable,
  readName,
  readNamespaceChange,
  readNewNamespace,
  readRegistration,
  readRename,
  type TableChange,
} from './messages.ts'

export interface IcebergRestDeps {
  readonly catalog: Pick<CatalogService, 'current' | 'others'>
  readonly guard: TableGuard
  readonly environments: Pick<EnvironmentService, 'list'>
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly reports: TableReports
}

/**
 * A configured catalog as the Iceberg REST protocol describes it (docs/iceberg-rest.md): requests are JSON as clients
 * send it, answers JSON text with exact 64-bit numbers. Errors: `INVALID_REQUEST`, `FORBIDDEN` for what would break a
 * pipeline, and those of the catalog.
 */
export interface IcebergRestService extends RepeatedAnswers {
  /** The same for one of the configured catalogs, by its name; throws `NOT_FOUND` when there is none. */
  ofCatalog(name: string): IcebergRestService
  /** The name of the catalog that has the warehouse of a client, undefined for the default one; throws `NOT_FOUND` when there is none. */
  catalogOf(warehouse: string | undefined): string | undefined
  /** Requires a role on a table, for callers whom grants limit. Throws `NO_SUCH_TABLE`, `FORBIDDEN`. */
  requireAccess(identifier: TableIdentifier, caller: Caller, minimum: Role): Promise<void>
  /** Namespaces that exist for the caller. */
  listNamespaces(parent: readonly string[], query: ListQuery, caller: Caller): Promise<string>
  namespace(namespace: readonly string[], caller: Caller): Promise<string>
  createNamespace(body: Uint8Array, context: RequestContext): Promise<string>
  changeNamespace(namespace: readonly string[], body: Uint8Array, context: RequestContext): Promise<string>
  dropNamespace(namespace: readonly string[], context: RequestContext): Promise<void>
  /** Tables that exist for the caller. */
  listTables(namespace: readonly string[], query: ListQuery, caller: Caller): Promise<string>
  /** `known`: entity tags that the client has; undefined when the table still is in one of these states. */
  loadTable(identifier: TableIdentifier, options: LoadOptions): Promise<TableAnswer | undefined>
  createTable(namespace: readonly string[], body: Uint8Array, context: RequestContext): Promise<TableAnswer>
  registerTable(namespace: readonly string[], body: Uint8Array, context: RequestContext): Promise<TableAnswer>
  renameTable(body: Uint8Array, context: RequestContext): Promise<void>
  /** Throws `NO_SUCH_TABLE`. */
  requireTable(identifier: TableIdentifier): Promise<void>
  /** Takes the table out of the catalog; its files stay. Throws `UNSUPPORTED` for `purge`, and drops nothing. */
  dropTable(identifier: TableIdentifier, options: DropOptions): Promise<void>
  commit(identifier: TableIdentifier, body: Uint8Array, context: RequestContext): Promise<TableAnswer>
  /** Stores what a client reports of a scan or commit; a report about a table that does not exist yet is not kept. */
  report(identifier: TableIdentifier, body: Uint8Array, context: RequestContext): Promise<void>
  /** Commits to several tables: all of them or none. Throws `UNSUPPORTED` where the catalog cannot. */
  commitAll(body: Uint8Array, context: RequestContext): Promise<void>
}

export interface LoadOptions {
  readonly isKnown: (entityTag: string) => boolean
  /** Whether only snapshots of branches and tags are wanted. */
  readonly onlyRefs: boolean
}

export interface DropOptions {
  /** Whether the files are to be deleted, too. */
  readonly purge: boolean
  readonly context: RequestContext
}

/** Answers to repetitions of requests that have taken effect: what is there now. */
export interface RepeatedAnswers {
  createdNamespace(body: Uint8Array, caller: Caller): Promise<string>
  changedNamespace(body: Uint8Array): string
  createdTable(namespace: readonly string[], body: Uint8Array, context: RequestContext): Promise<TableAnswer>
  currentTable(identifier: TableIdentifier): Promise<TableAnswer>
}

/** The protocol over the default catalog. */
export function createIcebergRestService(deps: IcebergRestDeps): IcebergRestService {
  return new IcebergRest(deps)
}

class IcebergRest implements IcebergRestService {
  readonly #deps: IcebergRestDeps
  /** Undefined: the default catalog. */
  readonly #name: string | undefined
  readonly #answers: AnswerCache

  constructor(deps: IcebergRestDeps, name?: string, answers = new AnswerCache()) {
    this.#deps = deps
    this.#name = name
    this.#answers = answers
  }

  ofCatalog(name: string): IcebergRestService {
    if (name === this.#catalog.name) return new IcebergRest(this.#deps, undefined, this.#answers)
    if (this.#others.some(({ catalogName }) => catalogName === name)) {
      return new IcebergRest(this.#deps, name, this.#answers)
    }
    throw new DomainError('NOT_FOUND', `there is no catalog ${JSON.stringify(name.slice(0, 200))}`)
  }

  catalogOf(warehouse: string | undefined): string | undefined {
    return catalogOfWarehouse(warehouse, this.#catalog, this.#others)
  }

  async requireAccess(given: TableIdentifier, caller: Caller, minimum: Role): Promise<void> {
    const table = this.#own(given)
    await inProtocolWords({ table }, async () => requireTable(caller, formatIdentifier(table), minimum))
  }

  get #others(): readonly CatalogSettings[] {
    return this.#deps.catalog.others().map(({ settings }) => settings)
  }

  async listNamespaces(parent: readonly string[], query: ListQuery, caller: Caller): Promise<string> {
    const all = await visibleNamespaces(this.#member, this.#name, caller)
    if (parent.length > 0 && !all.some((one) => formatNamespace(one) === formatNamespace(parent))) {
      throw new IcebergError('NO_SUCH_NAMESPACE', `Namespace does not exist: ${formatNamespace(parent)}`)
    }
    const children = all.filter((one) => one.length === parent.length + 1 && startsWith(one, parent))
    const { items, next } = listPage(children, formatNamespace, query)
    return stringifyJson({ namespaces: items.map((levels) => [...levels]), 'next-page-token': next })
  }

  async namespace(namespace: readonly string[], caller: Caller): Promise<string> {
    return stringifyJson(
      await inProtocolWords({ namespace }, async () => {
        await this.#requireNamespace(namespace, caller)
        return this.#describe(namespace)
      }),
    )
  }

  async createNamespace(body: Uint8Array, context: RequestContext): Promise<string> {
    const { namespace, properties } = readNewNamespace(readBody(body))
    checkNamespaceProperties(Object.keys(properties).length)
    await inProtocolWords({ newNamespace: namespace }, () => this.#names.create(namespace, properties))
    await this.#record('namespace.create', context, {
      objectId: this.#nameOf(namespace),
      details: { ...properties },
    })
    return stringifyJson(await this.#describe(namespace))
  }

  async changeNamespace(namespace: readonly string[], body: Uint8Array, context: RequestContext): Promise<string> {
    const change = readNamespaceChange(readBody(body))
    const both = change.removals.find((name) => Object.hasOwn(change.updates, name))
    if (both !== undefined) throw new DomainError('UNPROCESSABLE', `property ${both} is both set and removed`)
    const before = await inProtocolWords({ namespace }, () => this.#names.properties(namespace))
    checkNamespaceProperties(change.removals.length)
    checkNamespaceProperties(Object.keys({ ...before, ...change.updates }).length)
    await inProtocolWords({ namespace }, () => this.#names.change(namespace, change))
    await this.#record('namespace.change', context, {
      objectId: this.#nameOf(namespace),
      details: { updates: { ...change.updates }, removals: [...change.removals] },
    })
    return stringifyJson({
      updated: Object.keys(change.updates),
      removed: change.removals.filter((name) => Object.hasOwn(before, name)),
      missing: change.removals.filter((name) => !Object.hasOwn(before, name)),
    })
  }

  async dropNamespace(namespace: readonly string[], context: RequestContext): Promise<void> {
    await inProtocolWords({ namespace }, () => this.#names.drop(namespace))
    await this.#record('namespace.drop', context, { objectId: this.#nameOf(namespace) })
  }

  async listTables(namespace: readonly string[], query: ListQuery, caller: Caller): Promise<string> {
    const found = await inProtocolWords({ namespace }, async () => {
      await this.#requireNamespace(namespace, caller)
      return this.#member.listTables(namespace)
    })
    const all = found.filter((identifier) => seesTable(caller, formatIdentifier(identifier)))
    const { items, next } = listPage(all, formatIdentifier, query)
    return stringifyJson({ identifiers: items.map(identifierJson), 'next-page-token': next })
  }

  async loadTable(given: TableIdentifier, { isKnown, onlyRefs }: LoadOptions): Promise<TableAnswer | undefined> {
    const identifier = this.#own(given)
    const catalog = this.#member
    return inProtocolWords({ table: identifier }, async () => {
      const located = await catalog.locateTable?.(identifier)
      if (located === undefined) return answerOf(await catalog.loadTable(identifier), onlyRefs)
      const file = await catalog.statMetadataFile?.(located)
      const entityTag = entityTagOf(located, { onlyRefs, file })
      // 304 only where a load would succeed (RFC 9110, section 13.2.1): a lost file is an error, not an unchanged table
      const isThere = file !== undefined || catalog.statMetadataFile === undefined
      if (isThere && entityTag !== undefined && isKnown(entityTag)) return undefined
      const json = entityTag && this.#answers.find(entityTag, file)
      if (json !== undefined) return { json, entityTag }
      const table = await catalog.loadTable(identifier).catch(whenFileIsMissing(located))
      // changed meanwhile: the tag was made for the file before
      if (table.metadataLocation !== located) return answerOf(table, onlyRefs)
      const answer = { ...answerOf(table, onlyRefs), entityTag }
      if (entityTag !== undefined) this.#answers.keep(entityTag, file, answer.json)
      return answer
    })
  }

  async createTable(namespace: readonly string[], body: Uint8Array, context: RequestContext): Promise<TableAnswer> {
    const { identifier: named, options, isStaged } = readCreateTable(readBody(body), namespace)
    const identifier = this.#own(named)
    requireTable(context.caller, formatIdentifier(identifier), 'DataEngineer')
    const names = this.#names // a catalog that is only read has none
    checkPropertyLimits({}, options.properties ?? {})
    requireUnreservedProperties(options.properties ?? {})
    await this.#requireMayWrite(identifier, context)
    if (isStaged) {
      const metadata = await inProtocolWords({ newTable: identifier }, () => names.stage(identifier, options))
      return { json: stringifyJson({ metadata: metadata.json, config: {} }), entityTag: undefined }
    }
    const create = () => this.#catalog.createTable(identifier, options)
    const table = await inProtocolWords({ newTable: identifier }, create)
    await this.#record('table.create', context, { objectId: formatIdentifier(identifier) })
    return answerOf(table)
  }

  async registerTable(namespace: readonly string[], body: Uint8Array, context: RequestContext): Promise<TableAnswer> {
    const { identifier: named, metadataLocation } = readRegistration(readBody(body), namespace)
    const identifier = this.#own(named)
    await this.#requireMayWrite(identifier, context)
    const check = (table: Table) => requireRegistrable(this.#deps.guard, table, context.caller)
    const register = () => this.#catalog.registerTable(identifier, metadataLocation, check)
    const table = await inProtocolWords({ newTable: identifier }, register)
    await this.#record('table.register', context, { objectId: formatIdentifier(identifier) })
    return answerOf(table)
  }

  async renameTable(body: Uint8Array, context: RequestContext): Promise<void> {
    const named = readRename(readBody(body))
    const [from, to] = [this.#own(named.from), this.#own(named.to)]
    requireTables(context.caller, [from, to].map(formatIdentifier), 'DataEngineer')
    await requireUnused(this.#deps.guard, formatIdentifier(from), 'rename')
    for (const name of [from, to]) await this.#requireMayWrite(name, context)
    await inProtocolWords({ table: from, newTable: to }, () => this.#names.rename(from, to))
    await this.#record('table.rename', context, {
      objectId: formatIdentifier(from),
      details: { to: formatIdentifier(to) },
    })
  }

  async requireTable(given: TableIdentifier): Promise<void> {
    const catalog = this.#member
    const identifier = this.#own(given)
    await inProtocolWords({ table: identifier }, async () => {
      if ((await catalog.locateTable?.(identifier)) === undefined) await catalog.loadTable(identifier)
    })
  }

  async dropTable(given: TableIdentifier, { purge, context }: DropOptions): Promise<void> {
    const identifier = this.#own(given)
    if (purge) throw new IcebergError('UNSUPPORTED', 'Files are not deleted with a table: drop it without purge.')
    await requireUnused(this.#deps.guard, formatIdentifier(identifier), 'drop')
    await this.#requireMayWrite(identifier, context)
    await inProtocolWords({ table: identifier }, () => this.#catalog.dropTable(identifier))
    await this.#record('table.drop', context, { objectId: formatIdentifier(identifier) })
  }

  async commit(identifier: TableIdentifier, body: Uint8Array, context: RequestContext): Promise<TableAnswer> {
    const change = this.#owned(readChange(readBody(body), identifier))
    const table = await this.#commit(change, context)
    await this.#recordCommits([change], context)
    return answerOf(table)
  }

  async report(given: TableIdentifier, body: Uint8Array, context: RequestContext): Promise<void> {
    const report = readBody(body)
    const identifier = this.#own(given)
    if (await this.#isThere(identifier)) return this.#deps.reports.add(formatIdentifier(identifier), report, context)
    // a client reports commits to a table that is staged: nothing is kept for a name that may never be a table
    await this.namespace(identifier.namespace, context.caller)
    requireReport(report)
  }

  async commitAll(body: Uint8Array, context: RequestContext): Promise<void> {
    const catalog = this.#catalog
    const changes = readChanges(readBody(body)).map((change) => this.#owned(change))
    const names = changes.map(({ identifier }) => formatIdentifier(identifier))
    requireTables(context.caller, names, 'DataEngineer')
    if (this.#member.commitAll === undefined || catalog.commitAll === undefined) {
      throw new IcebergError('UNSUPPORTED', 'This catalog cannot commit to several tables at once.')
    }
    const outcome = await catalog.commitAll(
      changes.map(({ identifier, ...request }) => ({
        identifier,
        request: { ...request, check: this.#checkFor(catalog, context) },
      })),
    )
    if (outcome.kind !== 'committed' && !(await this.#isAppliedBefore(changes, outcome.error))) {
      throw refusalIn(outcome.error)
    }
    await this.#recordCommits(changes, context)
  }

  async createdNamespace(body: Uint8Array, caller: Caller): Promise<string> {
    return this.namespace(readNewNamespace(readBody(body)).namespace, caller)
  }

  changedNamespace(body: Uint8Array): string {
    const { updates, removals } = readNamespaceChange(readBody(body))
    return stringifyJson({ updated: Object.keys(updates), removed: [...removals], missing: [] })
  }

  async createdTable(namespace: readonly string[], body: Uint8Array, context: RequestContext): Promise<TableAnswer> {
    const request = readBody(body)
    const identifier = this.#own({ namespace, name: readName(request) })
    requireTable(context.caller, formatIdentifier(identifier), 'DataEngineer')
    if (request['stage-create'] === true) return this.createTable(namespace, body, context) // it had no effect
    return this.currentTable(identifier)
  }

  async currentTable(given: TableIdentifier): Promise<TableAnswer> {
    const identifier = this.#own(given)
    const load = () => this.#catalog.loadTable(identifier)
    return answerOf(await inProtocolWords({ table: identifier }, load))
  }

  async #isThere(identifier: TableIdentifier): Promise<boolean> {
    try {
      await this.requireTable(identifier)
      return true
    } catch (error) {
      if (isIcebergError(error, 'NO_SUCH_TABLE')) return false
      throw error
    }
  }

  async #commit({ identifier, ...request }: TableChange, context: RequestContext): Promise<Table> {
    const catalog = this.#catalog
    if (this.#member.names === undefined) throw readOnly()
    const outcome = await catalog.commit(identifier, { ...request, check: this.#checkFor(catalog, context) })
    if (outcome.kind === 'committed') return outcome.table
    const { error } = outcome
    if (await this.#isAppliedBefore([{ identifier, ...request }], error)) return catalog.loadTable(identifier)
    return inProtocolWords({ table: identifier }, () => Promise.reject(refusalIn(error)))
  }

  #checkFor(catalog: Catalog, { caller }: RequestContext): NonNullable<CommitRequest['check']> {
    return (base, next) => checkForeignCommit(this.#deps, { catalog, base, next, caller })
  }

  /** Refuses a change of a table under a name that only leads may write. */
  async #requireMayWrite(identifier: TableIdentifier, { caller }: RequestContext): Promise<void> {
    const { environments } = this.#deps
    await requireMayWrite({ environments, catalog: this.#catalog, identifier, caller })
  }

  /**
   * Whether a conflict is with an earlier request whose answer was lost: the tables have all snapshots that this one adds.
   * Changes of several tables are applied together or not at all, so those that add no snapshot need no check.
   */
  async #isAppliedBefore(changes: readonly TableChange[], error: IcebergError): Promise<boolean> {
    if (!isIcebergError(error, 'COMMIT_CONFLICT')) return false
    const adding = changes.filter((change) => addedSnapshots(change).length > 0)
    for (const change of adding) {
      const { metadata } = await this.#catalog.loadTable(change.identifier)
      if (!addedSnapshots(change).every((id) => snapshotById(metadata, id) !== undefined)) return false
    }
    return adding.length > 0
  }

  /** One entry for each table, after the commit: an entry before it would make a repetition count as done. */
  async #recordCommits(changes: readonly TableChange[], { caller, requestId }: RequestContext): Promise<void> {
    await this.#deps.inTransaction(async (tx) => {
      for (const { identifier, updates, requirements } of changes) {
        const objectId = formatIdentifier(identifier)
        const snapshotIds = addedSnapshots({ updates, requirements }).map(String)
        const details = { updates: [...new Set(updates.map(({ action }) => action))], snapshot_ids: snapshotIds }
        const entry = { action: 'table.commit', objectType: 'table', objectId, details } as const
        await this.#deps.audit.record(tx, { caller, requestId, ...entry })
      }
    })
  }

  async #describe(namespace: readonly string[]): Promise<JsonObject> {
    const { names } = this.#member
    const properties = names === undefined ? {} : await names.properties(namespace)
    if (names === undefined) await this.#member.listTables(namespace) // throws when it does not exist
    return { namespace: [...namespace], properties: { ...properties } }
  }

  async #record(action: `${string}.${string}`, { caller, requestId }: RequestContext, what: Recorded): Promise<void> {
    const objectType = action.slice(0, action.indexOf('.'))
    await this.#deps.inTransaction((tx) =>
      this.#deps.audit.record(tx, { caller, requestId, action, objectType, ...what }),
    )
  }

  get #catalog(): Catalog {
    return this.#deps.catalog.current()
  }

  get #member(): Catalog {
    return memberOf(this.#catalog, { catalog: this.#name })
  }

  #own(identifier: TableIdentifier): TableIdentifier {
    return this.#name === undefined ? identifier : { ...identifier, catalog: this.#name }
  }

  #owned(change: TableChange): TableChange {
    return { ...change, identifier: this.#own(change.identifier) }
  }

  /** A namespace as users write it. */
  #nameOf(namespace: readonly string[]): string {
    return namespaceOf(this.#own({ namespace, name: '' }))
  }

  #requireNamespace(namespace: readonly string[], caller: Caller): Promise<void> {
    return requireNamespace(this.#member, this.#own({ namespace, name: '' }), caller)
  }

  get #names(): CatalogNames {
    const { names } = this.#member
    if (names === undefined) throw readOnly()
    return names
  }
}

/** The refusal of a check, which a catalog reports as a failure before the commit. */
function refusalIn(error: IcebergError): Error {
  return error.cause instanceof DomainError ? error.cause : error
}

function readOnly(): IcebergError {
  return new IcebergError('UNSUPPORTED', 'A hadoop catalog is read-only over the Iceberg REST protocol.')
}

/** What an entry of the audit log is about. */
interface Recorded {
  readonly objectId: string
  readonly details?: { readonly [key: string]: StoredJson }
}

function startsWith(levels: readonly string[], parent: readonly string[]): boolean {
  return parent.every((level, depth) => levels[depth] === level)
}
