import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { AllOutcome, CommitOutcome } from '../commit-outcome.ts'
import type { Catalog, CatalogEntry, CommitRequest, TableCheck } from '../catalog.ts'
import type { CatalogNames } from '../names.ts'
import { formatIdentifier, formatNamespace } from '../table-identifier.ts'

/**
 * A catalog whose identifiers have its name: it is left out where the catalog is asked, and added to what it returns. Messages
 * of its errors have it, too, because the catalog does not know the prefix.
 */
export function withCatalogName(name: string, catalog: Catalog): Catalog {
  const { listEntries, locateTable, statMetadataFile, commitAll, names } = catalog
  const toTable = (table: Table): Table => ({ ...table, identifier: { catalog: name, ...ownPart(table.identifier) } })
  const run = runIn(name)
  return {
    name: catalog.name,
    get warehouse() {
      return catalog.warehouse
    },
    ...(catalog.roots === undefined ? {} : { roots: catalog.roots }),
    ...(names && { names: withNames(names, run) }),
    ping: () => run('', () => catalog.ping()),
    createNamespace: (namespace) => run(formatNamespace(namespace), () => catalog.createNamespace(namespace)),
    listNamespaces: () => run('', () => catalog.listNamespaces()),
    listTables: (namespace = []) =>
      run(formatNamespace(namespace), async () => {
        const listed = await catalog.listTables(namespace.length === 0 ? undefined : namespace)
        return listed.map((one) => ({ catalog: name, ...one }))
      }),
    ...(listEntries && {
      listEntries: () =>
        run('', async () => (await listEntries.call(catalog)).map((entry) => toEntry(name, entry, toTable))),
    }),
    loadTable: (identifier) => run(own(identifier), async () => toTable(await catalog.loadTable(ownPart(identifier)))),
    ...(locateTable && {
      locateTable: (identifier, known) =>
        run(own(identifier), () => locateTable.call(catalog, ownPart(identifier), known)),
    }),
    ...(statMetadataFile && {
      statMetadataFile: (location) => run('', () => statMetadataFile.call(catalog, location)),
    }),
    createTable: (identifier, options, check) => {
      const create = () => catalog.createTable(ownPart(identifier), options, named(check, toTable))
      return run(own(identifier), async () => toTable(await create()))
    },
    registerTable: (identifier, location, check) => {
      const register = () => catalog.registerTable(ownPart(identifier), location, named(check, toTable))
      return run(own(identifier), async () => toTable(await register()))
    },
    dropTable: (identifier) => run(own(identifier), () => catalog.dropTable(ownPart(identifier))),
    ...namedUndo(catalog, run),
    commit: async (identifier, request) => {
      const outcome = await catalog.commit(ownPart(identifier), toRequest(request, toTable))
      return toOutcome(outcome, { name, subject: own(identifier), toTable })
    },
    ...(commitAll && {
      commitAll: async (commits) => {
        const own = commits.map((one) => ({
          identifier: ownPart(one.identifier),
          request: toRequest(one.request, toTable),
        }))
        return toAllOutcome(await commitAll.call(catalog, own), { name, subject: '', toTable })
      },
    }),
    close: () => catalog.close(),
  }
}

/** Runs what a catalog does with a table or a namespace, whose name is the subject. */
type Run = <T>(subject: string, work: () => Promise<T>) => Promise<T>

function runIn(name: string): Run {
  return async (subject, work) => {
    try {
      return await work()
    } catch (error) {
      throw namedError(error, { name, subject })
    }
  }
}

function namedUndo(catalog: Catalog, run: Run): Pick<Catalog, 'undoCreation'> {
  const { undoCreation } = catalog
  if (undoCreation === undefined) return {}
  return {
    undoCreation: (created) => {
      const identifier = ownPart(created.identifier)
      return run(own(identifier), () => undoCreation.call(catalog, { ...created, identifier }))
    },
  }
}

function withNames(names: CatalogNames, run: Run): CatalogNames {
  const of = formatNamespace
  return {
    properties: (namespace) => run(of(namespace), () => names.properties(namespace)),
    create: (namespace, properties) => run(of(namespace), () => names.create(namespace, properties)),
    change: (namespace, change) => run(of(namespace), () => names.change(namespace, change)),
    drop: (namespace) => run(of(namespace), () => names.drop(namespace)),
    rename: (from, to) => run(own(from), () => names.rename(ownPart(from), ownPart(to))),
    stage: (identifier, options) => run(own(identifier), () => names.stage(ownPart(identifier), options)),
  }
}

type ToTable = (table: Table) => Table

interface Naming {
  readonly name: string
  /** The name of the table or the namespace in its catalog; empty: neither. */
  readonly subject: string
}

interface OutcomeNaming extends Naming {
  readonly toTable: ToTable
}

function own(identifier: TableIdentifier): string {
  return formatIdentifier(ownPart(identifier))
}

function ownPart({ namespace, name }: TableIdentifier): TableIdentifier {
  return { namespace, name }
}

function named(check: TableCheck | undefined, toTable: ToTable): TableCheck | undefined {
  return check && ((table) => check(toTable(table)))
}

function toEntry(name: string, entry: CatalogEntry, toTable: ToTable): CatalogEntry {
  return {
    ...entry,
    name: `${name}:${entry.name}`,
    identifier: entry.identifier && { catalog: name, ...entry.identifier },
    load: async () => toTable(await entry.load()),
  }
}

function toRequest(request: CommitRequest, toTable: ToTable): CommitRequest {
  const { check } = request
  if (check === undefined) return request
  return { ...request, check: (base, next) => check(base && toTable(base), toTable(next)) }
}

function toOutcome(outcome: CommitOutcome, naming: OutcomeNaming): CommitOutcome {
  return outcome.kind === 'committed'
    ? { ...outcome, table: naming.toTable(outcome.table) }
    : { ...outcome, error: namedIcebergError(outcome.error, naming) }
}

function toAllOutcome(outcome: AllOutcome, naming: OutcomeNaming): AllOutcome {
  return outcome.kind === 'committed'
    ? { ...outcome, tables: outcome.tables.map(naming.toTable) }
    : { ...outcome, error: namedIcebergError(outcome.error, naming) }
}

function namedError(error: unknown, naming: Naming): unknown {
  return isIcebergError(error) ? namedIcebergError(error, naming) : error
}

function namedIcebergError(error: IcebergError, { name, subject }: Naming): IcebergError {
  const named = subject === '' ? error.message : withPrefix(error.message, subject, `${name}:${subject}`)
  const message = named === error.message ? `${named} (catalog ${name})` : named
  return new IcebergError(error.code, message, { cause: error.cause })
}

/** Puts the full name where a message has the name as a word; a path that has it stays. */
function withPrefix(message: string, subject: string, full: string): string {
  return message
    .split(subject)
    .reduce((before, after) =>
      /[\p{L}\p{N}_.:/-]$/u.test(before) || /^[\p{L}\p{N}_/-]/u.test(after)
        ? `${before}${subject}${after}`
        : `${before}${full}${after}`,
    )
}
