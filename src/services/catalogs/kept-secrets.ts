import type { CatalogSettings } from '../../catalog/catalog-settings.ts'
import { isPostgresUri, parsePostgresUri } from '../../catalog/sql-postgres-address.ts'
import { DomainError } from '../../domain/errors.ts'

/** Extra properties that say where secrets are sent. */
const ADDRESS_PROPERTIES = ['oauth2-server-uri', 's3.endpoint', 's3.region', 'client.region'] as const

/**
 * Refuses (`INVALID_REQUEST`) to keep secrets that nobody has given again, when they would go to another address: scheme,
 * host or port of any address differ, or the type of the catalog. `kept` are the fields to give again.
 */
export function requireSameAddresses(next: CatalogSettings, previous: CatalogSettings, kept: readonly string[]): void {
  if (kept.length === 0) return
  const before = addressesOf(previous)
  const changed = [...addressesOf(next)].filter(([field, address]) => before.get(field) !== address)
  if (changed.length === 0) return
  const why = `give it again: ${changed.map(([field]) => field).join(', ')} changes, so it would go to another address`
  const fields = kept.map((path) => ({ path, message: why }))
  throw new DomainError('INVALID_REQUEST', `${kept.join(', ')}: ${why}`, { fields })
}

/** Where secrets of these settings go, by the field that says so. */
function addressesOf({ catalogType, extraProps, uri }: CatalogSettings): ReadonlyMap<string, string> {
  return new Map([
    ['catalog_type', catalogType],
    ['uri', serverOf(uri ?? '')],
    ...ADDRESS_PROPERTIES.map((key): [string, string] => [`extra_props.${key}`, serverOf(extraProps[key] ?? '')]),
  ])
}

/** Scheme, host and port of an address, and how it is encrypted; a text that is none stands for itself. */
function serverOf(address: string): string {
  if (isPostgresUri(address)) return postgresServer(address)
  const url = URL.parse(address)
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.origin : address
}

function postgresServer(uri: string): string {
  try {
    const { host, port, tls } = parsePostgresUri(uri, { password: undefined, clients: undefined })
    return JSON.stringify(['postgresql', host, port, tls ?? null])
  } catch {
    return uri // it cannot be opened either
  }
}
