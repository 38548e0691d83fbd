import { IcebergError } from '../iceberg/errors.ts'
import type { TableIdentifier } from '../iceberg/metadata/table.ts'

/** The column width of the JDBC catalog's tables, for the whole dotted namespace and for a table name. */
const MAX_LENGTH = 255

/** The form of a catalog's name in the name of a table. */
export const CATALOG_NAME: RegExp = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/

/**
 * A table name as users write it: `[catalog ":"] namespace "." table`, with any number of namespace levels. Without a catalog it is the
 * default one; there a name that has a colon itself begins with another one, so that each table has one name.
 * Throws `INVALID_ARGUMENT` for names that cannot be a table's; see {@link checkName}.
 */
export function parseIdentifier(text: string): TableIdentifier {
  const { catalog, rest } = splitCatalog(text)
  const levels = rest.split('.')
  const name = levels.pop() ?? ''
  const identifier = { ...(catalog === undefined ? {} : { catalog }), namespace: levels, name }
  checkIdentifier(identifier)
  return identifier
}

/** The catalog that a table name begins with, undefined for the default one, and the rest. `INVALID_ARGUMENT` as {@link parseIdentifier}. */
export function splitCatalog(text: string): { readonly catalog: string | undefined; readonly rest: string } {
  const colon = text.indexOf(':')
  if (colon < 0) return { catalog: undefined, rest: text }
  const [catalog, rest] = [text.slice(0, colon), text.slice(colon + 1)]
  if (catalog === '') {
    if (rest.includes(':')) return { catalog: undefined, rest }
    throw invalid(JSON.stringify(text.slice(0, 80)), 'begins with a colon that it does not need')
  }
  if (CATALOG_NAME.test(catalog)) return { catalog, rest }
  const why = 'is not the name of a catalog; for a name with a colon in the default catalog, begin with a colon'
  throw invalid(JSON.stringify(catalog.slice(0, 80)), why)
}

/** Namespace levels joined by dots, as users and the JDBC catalog write them. */
export function formatNamespace(namespace: readonly string[]): string {
  return namespace.join('.')
}

/** The namespace of a table as users write it, with its catalog unless that is the default one. */
export function namespaceOf({ catalog, namespace }: Pick<TableIdentifier, 'catalog' | 'namespace'>): string {
  return withCatalog(catalog, formatNamespace(namespace))
}

/** Levels of a dotted namespace; none for empty text. */
export function parseNamespace(text: string): readonly string[] {
  return text === '' ? [] : text.split('.')
}

/** Levels of each dotted name and of its parents, without duplicates, sorted. */
export function withParents(names: Iterable<string>): readonly (readonly string[])[] {
  const all = new Set<string>()
  for (const name of names) {
    const levels = parseNamespace(name)
    for (let depth = 1; depth <= levels.length; depth++) all.add(formatNamespace(levels.slice(0, depth)))
  }
  return [...all].sort().map(parseNamespace)
}

/** The inverse of {@link parseIdentifier}. */
export function formatIdentifier({ catalog, namespace, name }: TableIdentifier): string {
  return withCatalog(catalog, formatNamespace([...namespace, name]))
}

function withCatalog(catalog: string | undefined, text: string): string {
  if (catalog !== undefined) return `${catalog}:${text}`
  return text.includes(':') ? `:${text}` : text
}

/**
 * Whether two texts may name the same table: compares case-insensitively, as some catalogs do, and ignores SQL quotes
 * around the levels.
 */
export function mayBeSameTable(a: string, b: string): boolean {
  return comparable(a) === comparable(b)
}

function comparable(name: string): string {
  const levels = name.split('.').map((level) => /^(["`])(.*)\1$/.exec(level.trim())?.[2] ?? level.trim())
  return levels.join('.').toLowerCase()
}

/** Throws `INVALID_ARGUMENT` unless every level and the name are legal, `NO_SUCH_NAMESPACE` for a namespace that is too long. */
export function checkIdentifier(identifier: TableIdentifier): void {
  for (const level of identifier.namespace) checkName(level)
  checkName(identifier.name)
  if (formatNamespace(identifier.namespace).length > MAX_LENGTH) {
    throw new IcebergError('NO_SUCH_NAMESPACE', `A namespace has at most ${MAX_LENGTH} characters.`)
  }
}

/** Throws `INVALID_ARGUMENT` unless the namespace has a level and all are legal. */
export function checkNamespace(namespace: readonly string[]): void {
  if (namespace.length === 0) throw new IcebergError('INVALID_ARGUMENT', 'A namespace needs at least one level.')
  for (const level of namespace) checkName(level)
  if (formatNamespace(namespace).length > MAX_LENGTH) throw invalid('A namespace', 'is too long')
}

/** Like {@link checkIdentifier}, for a new table, which also needs a namespace, and names that can be those of folders. */
export function checkNewIdentifier(identifier: TableIdentifier): void {
  checkIdentifier(identifier)
  for (const name of [...identifier.namespace, identifier.name]) checkFolderName(name)
  if (identifier.namespace.length === 0) {
    throw invalid(`"${identifier.name}"`, 'has no namespace: write it as namespace.table')
  }
}

/** Like {@link checkNamespace}, for a new namespace, whose levels can be the names of folders. */
export function checkNewNamespace(namespace: readonly string[]): void {
  checkNamespace(namespace)
  for (const level of namespace) checkFolderName(level)
}

function checkFolderName(name: string): void {
  const bytes = new TextEncoder().encode(name).length
  if (bytes <= MAX_LENGTH) return
  throw invalid(
    JSON.stringify(name.slice(0, 80)),
    `has ${bytes} bytes in UTF-8, and a folder name at most ${MAX_LENGTH}`,
  )
}

/**
 * Refuses names that would change a path they become part of (separators, and `.` and `..`, which contain a dot), or
 * that could not be written as dotted text again.
 */
function checkName(name: string): void {
  const shown = JSON.stringify(name.slice(0, 80))
  if (name === '') throw invalid('A namespace level or table name', 'is empty')
  if (name.length > MAX_LENGTH) throw invalid(shown, 'is too long')
  if (/[./\\]/.test(name)) throw invalid(shown, 'contains a dot or a path separator')
  if (/\p{Cc}/u.test(name)) throw invalid(shown, 'contains a control character')
  // UTF-8 has no such text: databases and paths would keep another name.
  if (!name.isWellFormed()) throw invalid(shown, 'contains half of a surrogate pair')
  if (name.trim() !== name) throw invalid(shown, 'starts or ends with a space')
}

function invalid(what: string, why: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `${what} ${why}.`)
}

/** The error `NO_SUCH_TABLE` with the table's name; `hint` is a further sentence. */
export function noSuchTable(identifier: TableIdentifier, hint?: string): IcebergError {
  const message = `Table ${formatIdentifier(identifier)} does not exist.`
  return new IcebergError('NO_SUCH_TABLE', hint === undefined ? message : `${message} ${hint}`)
}

/** The error `NO_SUCH_NAMESPACE` with the namespace's name. */
export function noSuchNamespace(namespace: readonly string[]): IcebergError {
  return new IcebergError('NO_SUCH_NAMESPACE', `Namespace ${formatNamespace(namespace)} does not exist.`)
}

/** The error `TABLE_EXISTS`: a table or a view has this name. */
export function tableExists(identifier: TableIdentifier): IcebergError {
  return new IcebergError('TABLE_EXISTS', `${formatIdentifier(identifier)} already exists, as a table or a view.`)
}
