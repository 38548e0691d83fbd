import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import { type AllOutcome, type CommitOutcome, type Refused, refused } from '../commit-outcome.ts'
import type { Catalog, CatalogEntry, CommitRequest, CreateTableOptions, TableCommit } from '../catalog.ts'
import type { CatalogNames } from '../names.ts'
import { allEntries, listedEntries } from '../ownership/entries.ts'
import { requireUnowned } from '../ownership/registration-guard.ts'
import { noSuchTable } from '../table-identifier.ts'
import { Responsive, type ResponseLimits } from './responsive.ts'
import { withCatalogName } from './with-catalog-name.ts'

/** A catalog beside the default one. */
export interface OtherCatalog {
  readonly name: string
  /** Undefined: it could not be opened. */
  readonly catalog: Catalog | undefined
  /** Locations that may contain its tables; empty when only its server knows. */
  readonly roots: readonly string[]
}

/** The catalogs of a service. */
export interface CatalogSet {
  /** Names of tables without a catalog mean this one. */
  readonly main: Catalog
  readonly others: readonly OtherCatalog[]
  /** Called when another catalog did not respond to a list, which is then without its tables. */
  readonly onUnreachable: (name: string, error: unknown) => void
  /** How long the others are waited for; a test may shorten it. */
  readonly limits?: ResponseLimits | undefined
}

/**
 * Several catalogs as one: an identifier chooses its catalog by `catalog`, and tables that are returned have it. Lists have the tables of
 * the default catalog first, then those of the others. Namespaces and their names are those of the default catalog.
 *
 * A table is added to a catalog only if no table of any catalog keeps files in its folders, since maintenance of one would delete
 * files of the other. While another catalog does not respond, its tables may be anywhere in its locations.
 */
export function createSeveralCatalogs(set: CatalogSet): Catalog {
  return new SeveralCatalogs(set)
}

class SeveralCatalogs implements Catalog {
  readonly roots?: readonly string[]
  readonly names?: CatalogNames
  /** Present where a lookup of the default catalog is cheap. */
  locateTable?: Exclude<Catalog['locateTable'], undefined>
  readonly #set: CatalogSet
  readonly #main: Catalog
  readonly #members: ReadonlyMap<string, Catalog>
  readonly #responsive: ReadonlyMap<string, Responsive>
  /** Those whose tables are listed without a request for each of them. */
  readonly #neighbours: Catalog

  constructor(set: CatalogSet) {
    const { main, others } = set
    this.#set = set
    this.#main = main
    this.#members = new Map(
      others.flatMap(({ name, catalog }) =>
        catalog === undefined ? [] : [[name, withCatalogName(name, catalog)] as const],
      ),
    )
    const failed = (name: string) => (error: unknown) => set.onUnreachable(name, error)
    this.#responsive = new Map(others.map(({ name }) => [name, new Responsive(failed(name), set.limits)]))
    if (main.roots !== undefined) this.roots = main.roots
    if (main.names !== undefined) this.names = this.#namesFrom(main.names)
    if (main.locateTable !== undefined) this.locateTable = (identifier, known) => this.#locate(identifier, known)
    const quick = others.filter(isListedQuickly)
    this.#neighbours = quick.length === others.length ? this : createSeveralCatalogs({ ...set, others: quick })
  }

  get name(): string {
    return this.#main.name
  }

  get warehouse(): string {
    return this.#main.warehouse
  }

  member(name: string | undefined): Catalog {
    if (name === undefined) return this.#main
    const member = this.#members.get(name)
    if (member !== undefined) return member
    if (this.#set.others.some((other) => other.name === name)) {
      throw new IcebergError('IO_FAILED', `The catalog ${name} could not be opened: test its connection.`)
    }
    const message = `There is no catalog ${name}. Tables of the default catalog have no prefix.`
    throw new IcebergError('NO_SUCH_TABLE', message)
  }

  ping(): Promise<void> {
    return this.#main.ping()
  }

  createNamespace(namespace: readonly string[]): Promise<void> {
    return this.#main.createNamespace(namespace)
  }

  listNamespaces(): Promise<readonly (readonly string[])[]> {
    return this.#main.listNamespaces()
  }

  async listTables(namespace?: readonly string[]): Promise<readonly TableIdentifier[]> {
    if (namespace !== undefined) return this.#main.listTables(namespace)
    return this.#list((catalog) => catalog.listTables())
  }

  /** With entries that stand for the tables of a catalog that does not respond. */
  async listEntries(): Promise<readonly CatalogEntry[]> {
    return this.#entries(listedEntries)
  }

  async listNeeded(): Promise<readonly CatalogEntry[]> {
    const all = await this.#entries(allEntries)
    const isTwice = await Promise.all(all.map((entry) => this.#isListedTwice(entry)))
    return all.filter((_, at) => !isTwice[at])
  }

  /** Whether a table of another catalog in the same database is one of that catalog, which is one of these, too. */
  async #isListedTwice({ foreign, metadataLocation }: CatalogEntry): Promise<boolean> {
    if (foreign === undefined) return false
    const named = [this.#main, ...this.#members.values()].filter(({ name }) => name === foreign.catalogName)
    const places = named.map(async (catalog) => catalog.locateTable?.(foreign.identifier).catch(() => undefined))
    return (await Promise.all(places)).includes(metadataLocation)
  }

  async loadTable(identifier: TableIdentifier): Promise<Table> {
    return this.#of(identifier).loadTable(identifier)
  }

  async createTable(identifier: TableIdentifier, options: CreateTableOptions): Promise<Table> {
    const catalog = this.#of(identifier)
    const added = await catalog.createTable(identifier, options, (draft) => requireUnowned(this, draft))
    return this.#unlessOwned(catalog, added)
  }

  async registerTable(
    identifier: TableIdentifier,
    metadataLocation: string,
    check?: (table: Table) => Promise<void>,
  ): Promise<Table> {
    const catalog = this.#of(identifier)
    const added = await catalog.registerTable(identifier, metadataLocation, async (table) => {
      await requireUnowned(this, table)
      await check?.(table)
    })
    return this.#unlessOwned(catalog, added)
  }

  async dropTable(identifier: TableIdentifier): Promise<void> {
    return this.#of(identifier).dropTable(identifier)
  }

  async commit(identifier: TableIdentifier, request: CommitRequest): Promise<CommitOutcome> {
    const target = this.#targetOf(identifier)
    return 'kind' in target ? target : target.commit(identifier, this.#checked(request))
  }

  async commitAll(commits: readonly TableCommit[]): Promise<AllOutcome> {
    const [first] = commits
    const identifier = first?.identifier ?? { namespace: [], name: '' }
    if (new Set(commits.map((one) => one.identifier.catalog)).size > 1) {
      const message = 'A commit to several tables cannot have tables of several catalogs.'
      return refused(identifier, new IcebergError('UNSUPPORTED', message))
    }
    const target = this.#targetOf(identifier)
    if ('kind' in target) return target
    if (target.commitAll !== undefined) {
      return target.commitAll(commits.map((one) => ({ ...one, request: this.#checked(one.request) })))
    }
    return refused(identifier, new IcebergError('UNSUPPORTED', 'The catalog has no commits to several tables.'))
  }

  /** Closes the default catalog and the others. */
  async close(): Promise<void> {
    await Promise.all([this.#main, ...this.#members.values()].map((catalog) => catalog.close()))
  }

  /** The catalog of an identifier; throws `NO_SUCH_TABLE` if it is not there. */
  #of(identifier: TableIdentifier): Catalog {
    try {
      return this.member(identifier.catalog)
    } catch (error) {
      throw isIcebergError(error, 'NO_SUCH_TABLE') ? noSuchTable(identifier, error.message) : error
    }
  }

  /** The catalog that a commit is sent to, or its refusal. */
  #targetOf(identifier: TableIdentifier): Catalog | Refused {
    try {
      return this.#of(identifier)
    } catch (error) {
      return refused(identifier, error)
    }
  }

  /** What the default catalog lists, then what the others list that respond. */
  async #list<T>(listOf: (catalog: Catalog) => Promise<readonly T[]>): Promise<readonly T[]> {
    const others = [...this.#members].map(([name, member]) => this.#ask(name, () => listOf(member)))
    const [own, ...rest] = await Promise.all([listOf(this.#main), ...others])
    return [...own, ...rest.flatMap((listed) => listed ?? [])]
  }

  async #entries(listOf: (catalog: Catalog) => Promise<readonly CatalogEntry[]>): Promise<readonly CatalogEntry[]> {
    const others = this.#set.others.map(async ({ name, roots }) => {
      const member = this.#members.get(name)
      const listed = member && (await this.#ask(name, () => listOf(member)))
      return listed ?? unknownTables(name, roots)
    })
    return (await Promise.all([listOf(this.#main), ...others])).flat()
  }

  /** What another catalog answers; undefined while it does not respond. */
  async #ask<T>(name: string, work: () => Promise<T>): Promise<T | undefined> {
    return this.#responsive.get(name)?.ask(work)
  }

  async #locate(identifier: TableIdentifier, known?: string): Promise<string> {
    const catalog = this.#of(identifier)
    if (catalog.locateTable !== undefined) return catalog.locateTable(identifier, known)
    return (await catalog.loadTable(identifier)).metadataLocation
  }

  /** Namespaces are those of the default catalog; tables are renamed and staged in theirs. */
  #namesFrom(names: CatalogNames): CatalogNames {
    const of = (identifier: TableIdentifier): CatalogNames => {
      const found = this.#of(identifier).names
      if (found !== undefined) return found
      throw new IcebergError('UNSUPPORTED', 'The catalog of the table is only read.')
    }
    return {
      properties: (namespace) => names.properties(namespace),
      create: (namespace, properties) => names.create(namespace, properties),
      change: (namespace, change) => names.change(namespace, change),
      drop: (namespace) => names.drop(namespace),
      async rename(from, to) {
        if (from.catalog === to.catalog) return of(from).rename(from, to)
        throw new IcebergError('UNSUPPORTED', 'A table cannot be renamed into another catalog.')
      },
      stage: async (identifier, options) => of(identifier).stage(identifier, options),
    }
  }

  /** Removes a table again that was just added, if a table of another catalog keeps files in its folders. */
  async #unlessOwned(catalog: Catalog, added: Table): Promise<Table> {
    try {
      await requireUnowned(this, added)
      return added
    } catch (error) {
      await dropUnchanged(catalog, added).catch(() => undefined) // maintenance refuses both tables then
      throw error
    }
  }

  /** A commit may create a table, and may delete metadata files that a table of another catalog needs. */
  #checked(request: CommitRequest): CommitRequest {
    return {
      ...request,
      neighbours: this.#neighbours,
      check: async (base, next) => {
        if (base === undefined) await requireUnowned(this, next)
        await request.check?.(base, next)
      },
    }
  }
}

/** Another client may have committed to the table, or have replaced it. */
async function dropUnchanged(catalog: Catalog, added: Table): Promise<void> {
  if (catalog.undoCreation !== undefined) return catalog.undoCreation(added)
  const { identifier, metadataLocation } = added
  const now = await catalog.loadTable(identifier)
  if (now.metadataLocation === metadataLocation) await catalog.dropTable(identifier)
}

function isListedQuickly({ catalog, roots }: OtherCatalog): boolean {
  return catalog === undefined ? roots.length > 0 : catalog.listEntries !== undefined
}

/**
 * Stands for the tables of a catalog that does not respond: nobody knows them, so each of its locations counts as the folder of one.
 * Where only its server knows the locations, nothing can be said about any folder.
 */
function unknownTables(name: string, roots: readonly string[]): readonly CatalogEntry[] {
  const message = `the catalog ${name} does not respond, so its tables are not known`
  const entry = { name: `${name}:*`, identifier: undefined, unknownCatalog: name }
  if (roots.length === 0) {
    const load = () => Promise.reject(new IcebergError('IO_FAILED', message))
    return [{ ...entry, metadataLocation: undefined, load }]
  }
  return roots.map((root) => ({
    ...entry,
    metadataLocation: `${root.replace(/\/+$/, '')}/metadata/unknown.metadata.json`,
    load: () => Promise.reject(new IcebergError('FILE_NOT_FOUND', message)),
  }))
}
