import { IcebergError } from '../../iceberg/errors.ts'
import { optionalArray, stringMap } from '../../iceberg/json/json-fields.ts'
import type { JsonObject } from '../../iceberg/json/lossless-json.ts'
import type { TableIdentifier } from '../../iceberg/metadata/table.ts'

/** Paths of a REST catalog, from the root of its origin, encoded. */
export interface RestRoutes {
  readonly namespaces: string
  readonly rename: string
  namespace(namespace: readonly string[]): string
  properties(namespace: readonly string[]): string
  tables(namespace: readonly string[]): string
  table(identifier: TableIdentifier): string
  /** The credentials of a table; undefined if the server does not offer them. */
  credentials(identifier: TableIdentifier): string | undefined
  register(namespace: readonly string[]): string
  /** Whether the server lists commits to tables among its endpoints; undefined: it lists no endpoints. */
  readonly listsCommits: boolean | undefined
  /** The query that lists the direct children of a namespace; empty for the top level. */
  parent(namespace: readonly string[]): Readonly<Record<string, string>>
}

/** Default separator of namespace levels, encoded. */
const UNIT_SEPARATOR = '%1F'

const CREDENTIALS_ENDPOINT = 'GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials'
const COMMIT_ENDPOINT = 'POST /v1/{prefix}/namespaces/{namespace}/tables/{table}'

/** The configuration path of the catalog at `uri`. */
export function configPath(uri: string, warehouse: string): string {
  return withQuery(`${pathOf(uri)}/v1/config`, { warehouse })
}

/**
 * Paths from the catalog's response to {@link configPath}: `prefix`, `namespace-separator` and `uri`, overrides before
 * defaults. `UNSUPPORTED` when `uri` is another origin, which would receive our credential.
 */
export function restRoutes(config: JsonObject, uri: string): RestRoutes {
  const where = 'configuration of the catalog'
  const properties = { ...stringMap(config, 'defaults', where), ...stringMap(config, 'overrides', where) }
  const separator = checkSeparator(properties['namespace-separator'] ?? UNIT_SEPARATOR)
  const root = `${basePath(properties['uri'] ?? uri, uri)}/v1${checkPrefix(properties['prefix'] ?? '')}`
  const namespaces = `${root}/namespaces`
  const namespace = (levels: readonly string[]): string => {
    return `${namespaces}/${levels.map(encodeURIComponent).join(separator)}`
  }
  const tables = (levels: readonly string[]): string => `${namespace(levels)}/tables`
  const table = ({ namespace: levels, name }: TableIdentifier): string =>
    `${tables(levels)}/${encodeURIComponent(name)}`
  const endpoints = optionalArray(config, 'endpoints', where)
  const hasCredentials = endpoints?.includes(CREDENTIALS_ENDPOINT) === true
  return {
    namespaces,
    rename: `${root}/tables/rename`,
    namespace,
    properties: (levels) => `${namespace(levels)}/properties`,
    tables,
    table,
    credentials: (identifier) => (hasCredentials ? `${table(identifier)}/credentials` : undefined),
    register: (levels) => `${namespace(levels)}/register`,
    listsCommits: endpoints?.includes(COMMIT_ENDPOINT),
    parent: (levels) => (levels.length === 0 ? {} : { parent: levels.join(decodeURIComponent(separator)) }),
  }
}

/** A path with a query. */
export function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
}

function basePath(given: string, uri: string): string {
  if (!URL.canParse(given) || new URL(given).origin !== new URL(uri).origin) {
    const message =
      'The configuration of the catalog names another address, where the credential is not sent: set uri to that address.'
    throw new IcebergError('UNSUPPORTED', message)
  }
  return pathOf(given)
}

function pathOf(uri: string): string {
  return new URL(uri).pathname.replace(/\/+$/, '')
}

/** Catalogs return it encoded, as part of a path; it may have several levels. */
function checkPrefix(prefix: string): string {
  const levels = prefix.split('/').filter((level) => level !== '')
  if (levels.some((level) => /[?#\\\s]|^(\.|%2e){1,2}$/i.test(level))) throw misconfigured('prefix')
  return levels.map((level) => `/${level}`).join('')
}

function checkSeparator(separator: string): string {
  if (/^(%[0-9a-f]{2}|[A-Za-z0-9._~-])+$/i.test(separator) && isDecodable(separator)) return separator
  throw misconfigured('namespace-separator')
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== ''
  } catch {
    return false
  }
}

function misconfigured(what: string): IcebergError {
  return new IcebergError(
    'IO_FAILED',
    `The configuration of the catalog has an invalid ${what}: it cannot be part of a path.`,
  )
}
