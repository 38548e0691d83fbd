import { IcebergError } from '../../iceberg/errors.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { CatalogChecks, CatalogListing, CheckResult, CredentialsInUse } from '../catalog-checks.ts'
import { formatIdentifier } from '../table-identifier.ts'
import type { RestClient } from './client.ts'
import { hasStatus } from './errors.ts'
import { commitBody } from './messages.ts'
import type { RestRoutes } from './routes.ts'

export interface RestChecksPort {
  readonly uri: string
  readonly client: RestClient
  readonly routes: () => Promise<RestRoutes>
  /** The child namespaces of a namespace. */
  readonly children: (parent: readonly string[]) => Promise<readonly (readonly string[])[]>
  /** The tables of a namespace; undefined when there is no such namespace. */
  readonly tables: (namespace: readonly string[]) => Promise<readonly TableIdentifier[] | undefined>
  readonly lent: (table: Table) => Promise<CredentialsInUse | undefined>
}

/** Checks of a catalog behind the Iceberg REST protocol. */
export function createRestChecks(port: RestChecksPort): CatalogChecks {
  const { uri, client, routes, lent } = port
  return {
    async reach() {
      await routes()
      return `The catalog at ${new URL(uri).origin} answers GET /v1/config.`
    },
    list: (limitMs) => listFor(port, limitMs),
    async commit({ table, isAsked }) {
      const known = await routes()
      if (known.listsCommits === false) {
        throw new IcebergError('UNSUPPORTED', 'The catalog does not list commits to tables among its endpoints.')
      }
      if (!isAsked) return notAsked(known.listsCommits === true)
      if (table === undefined)
        return { outcome: 'skipped', detail: 'No table was loaded to which a commit can be sent.' }
      return sendRefused(client, known, table)
    },
    lent,
  }
}

async function listFor({ children, tables }: RestChecksPort, limitMs: number): Promise<CatalogListing> {
  const endsAt = performance.now() + limitMs
  const namespaces = [...(await children([]))]
  const found: TableIdentifier[] = []
  for (let at = 0; at < namespaces.length; at++) {
    if (performance.now() > endsAt) return { namespaces: namespaces.length, tables: found, isComplete: false }
    const namespace = namespaces[at] ?? []
    for (const table of (await tables(namespace)) ?? []) found.push(table)
    for (const child of await children(namespace)) namespaces.push(child)
  }
  return { namespaces: namespaces.length, tables: found, isComplete: true }
}

function notAsked(isListed: boolean): CheckResult {
  const listed = isListed ? ' The catalog lists commits to tables among its endpoints.' : ''
  const hint =
    'Ask for a commit with commit=true (--commit true): it is sent to the loaded table, requires another table UUID, has no updates, and must be refused.'
  return { outcome: 'skipped', detail: `No commit was sent.${listed}`, hint }
}

/**
 * Sends a commit that requires a UUID that no table has, so the server must refuse it with 409 (Iceberg REST specification,
 * `assert-table-uuid`). The commit has no updates: a server that ignores the requirement has nothing to apply.
 */
async function sendRefused(client: RestClient, routes: RestRoutes, { identifier }: Table): Promise<CheckResult> {
  const body = commitBody(identifier, {
    requirements: [{ type: 'assert-table-uuid', uuid: crypto.randomUUID() }],
    updates: [],
  })
  const name = formatIdentifier(identifier)
  try {
    await client.request({ method: 'POST', path: routes.table(identifier), body, answersTable: true })
  } catch (error) {
    if (!hasStatus(error, 409)) throw error
    const detail = `The catalog refused a commit to ${name} that requires another table UUID, as it must. The table is unchanged.`
    return { outcome: 'ok', detail }
  }
  const message = `The catalog accepted a commit to ${name} whose requirement does not hold: commits of two writers could overwrite each other.`
  throw new IcebergError('IO_FAILED', message)
}
