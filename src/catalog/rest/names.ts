import { IcebergError } from '../../iceberg/errors.ts'
import { requireObject, stringMap } from '../../iceberg/json/json-fields.ts'
import type { JsonObject } from '../../iceberg/json/lossless-json.ts'
import { tableMetadataFromJson } from '../../iceberg/metadata/metadata.ts'
import type { TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { CatalogNames, NamespaceProperties } from '../names.ts'
import {
  checkIdentifier,
  checkNamespace,
  checkNewIdentifier,
  formatNamespace,
  noSuchNamespace,
  noSuchTable,
} from '../table-identifier.ts'
import type { RestClient } from './client.ts'
import { answerJson, hasStatus } from './errors.ts'
import { createTableBody } from './messages.ts'
import type { RestRoutes } from './routes.ts'
import { creationError } from './table-errors.ts'

export interface RestNamesParts {
  readonly client: RestClient
  routes(): Promise<RestRoutes>
  /** Throws `NO_SUCH_NAMESPACE`. */
  requireNamespace(namespace: readonly string[]): Promise<void>
  children(namespace: readonly string[]): Promise<readonly unknown[]>
  /** Throws `INVALID_ARGUMENT` for a location outside those that the catalog allows: this service could not load its tables. */
  requireAllowed(location: string): Promise<void>
  /** Undefined when there is no such namespace. */
  tables(namespace: readonly string[]): Promise<readonly unknown[] | undefined>
}

const where = 'response of the catalog'

/** Namespaces and names of a catalog behind the Iceberg REST protocol: its server makes the changes. */
export function createRestNames(parts: RestNamesParts): CatalogNames {
  const { client } = parts
  return {
    async properties(namespace) {
      checkNamespace(namespace)
      const { namespace: pathOf } = await parts.routes()
      const answer = await client.request({ method: 'GET', path: pathOf(namespace) }).catch(unlessMissing(namespace))
      return stringMap(answerJson(answer), 'properties', where)
    },
    async create(namespace, properties) {
      checkNamespace(namespace)
      await checkLocation(parts, properties)
      const { namespaces: path } = await parts.routes()
      const body: JsonObject = { namespace: [...namespace], properties: { ...properties } }
      await client.request({ method: 'POST', path, body }).catch((error: unknown) => {
        if (hasStatus(error, 404)) throw noSuchNamespace(namespace.slice(0, -1))
        if (!hasStatus(error, 409)) throw error
        throw new IcebergError('NAMESPACE_EXISTS', `Namespace already exists: ${formatNamespace(namespace)}`)
      })
    },
    async change(namespace, { removals, updates }) {
      checkNamespace(namespace)
      await checkLocation(parts, updates)
      const { properties } = await parts.routes()
      const body: JsonObject = { removals: [...removals], updates: { ...updates } }
      const request = { method: 'POST', path: properties(namespace), body } as const
      await client.request(request).catch(unlessMissing(namespace))
    },
    drop: (namespace) => drop(parts, namespace),
    rename: (from, to) => rename(parts, from, to),
    async stage(identifier, options) {
      checkNewIdentifier(identifier)
      const { namespace, name } = identifier
      await parts.requireNamespace(namespace)
      const path = (await parts.routes()).tables(namespace)
      const body: JsonObject = { ...createTableBody(name, options), 'stage-create': true }
      try {
        const answer = await client.request({ method: 'POST', path, body, answersTable: true })
        return tableMetadataFromJson(requireObject(answerJson(answer), 'metadata', where))
      } catch (error) {
        throw creationError(error, identifier)
      }
    },
  }
}

async function checkLocation(parts: RestNamesParts, { location }: NamespaceProperties): Promise<void> {
  if (location !== undefined) await parts.requireAllowed(location)
}

/** Some servers drop namespaces with everything in them: so this is asked first. */
async function drop(parts: RestNamesParts, namespace: readonly string[]): Promise<void> {
  checkNamespace(namespace)
  const tables = await parts.tables(namespace)
  if (tables === undefined) throw noSuchNamespace(namespace)
  const isEmpty = tables.length === 0 && (await parts.children(namespace)).length === 0
  if (!isEmpty) throw notEmpty(namespace)
  const path = (await parts.routes()).namespace(namespace)
  await parts.client.request({ method: 'DELETE', path }).catch((error: unknown) => {
    if (hasStatus(error, 404)) throw noSuchNamespace(namespace)
    throw hasStatus(error, 409) ? notEmpty(namespace) : error
  })
}

function notEmpty(namespace: readonly string[]): IcebergError {
  const message = `Namespace ${formatNamespace(namespace)} is not empty: drop its tables, views and namespaces first.`
  return new IcebergError('NAMESPACE_NOT_EMPTY', message)
}

async function rename(parts: RestNamesParts, from: TableIdentifier, to: TableIdentifier): Promise<void> {
  checkIdentifier(from)
  checkNewIdentifier(to)
  const { rename: path } = await parts.routes()
  const named = ({ namespace, name }: TableIdentifier): JsonObject => ({ namespace: [...namespace], name })
  const body: JsonObject = { source: named(from), destination: named(to) }
  try {
    await parts.client.request({ method: 'POST', path, body })
  } catch (error) {
    if (!hasStatus(error, 404)) throw hasStatus(error, 409) ? creationError(error, to) : error
    throw error.type === 'NoSuchNamespaceException' ? noSuchNamespace(to.namespace) : noSuchTable(from)
  }
}

/** Throws `NO_SUCH_NAMESPACE` for status 404, and the error itself otherwise. */
function unlessMissing(namespace: readonly string[]): (error: unknown) => never {
  return (error) => {
    throw hasStatus(error, 404) ? noSuchNamespace(namespace) : error
  }
}
