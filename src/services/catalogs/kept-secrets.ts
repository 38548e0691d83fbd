import { ALLOWED_LOCATIONS, type CatalogSettings } from '../../catalog/settings.ts'
import { isPostgresUri, parsePostgresUri } from '../../catalog/sql/postgres-address.ts'
import { accountOfLocation, isAzureLocation } from '../../iceberg/io/azure/location.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

/** Extra properties that determine where secrets are sent. */
const ADDRESS_PROPERTIES = [
  'oauth2-server-uri',
  's3.endpoint',
  's3.region',
  'client.region',
  'client.assume-role.region',
  'client.assume-role.endpoint',
  'adls.endpoint',
  'adls.tenant-id',
  'gcs.service.host',
  'gcs.endpoint',
] as const

/**
 * Throws `INVALID_REQUEST` when secrets that the request does not repeat would be sent to another address: the scheme,
 * host or port of any address, or the catalog type, differs. `kept` are the fields that must be sent again.
 */
export function requireSameAddresses(next: CatalogSettings, previous: CatalogSettings, kept: readonly string[]): void {
  const before = addressesOf(previous)
  const changed = [...addressesOf(next)].filter(([field, address]) => before.get(field) !== address)
  if (changed.length === 0) return
  const names = changed.map(([field]) => field).join(', ')
  const message = `must be sent again: ${names} changes, so the stored value would go to another address`
  const [first, ...others] = kept.map((path) => ({ path, message }))
  if (first) throw fieldRefusal('INVALID_REQUEST', [first, ...others])
}

/** Where secrets of these settings are sent, by the field that determines it. */
function addressesOf({ catalogType, extraProps, uri, warehouse }: CatalogSettings): ReadonlyMap<string, string> {
  return new Map([
    ['catalog_type', catalogType],
    ['uri', serverOf(uri ?? '')],
    [
      `warehouse or extra_props.${ALLOWED_LOCATIONS}`,
      accountsIn(`${warehouse},${extraProps[ALLOWED_LOCATIONS] ?? ''}`),
    ],
    ...ADDRESS_PROPERTIES.map((key): [string, string] => [`extra_props.${key}`, serverOf(extraProps[key] ?? '')]),
  ])
}

/** The hosts of Azure accounts in locations separated by commas: SAS tokens and bearer tokens are sent there. */
function accountsIn(locations: string): string {
  const hosts = locations.split(',').flatMap((text) => {
    const location = text.trim()
    return isAzureLocation(location) ? [hostOf(location)] : []
  })
  return [...new Set(hosts)].sort().join(' ')
}

function hostOf(location: string): string {
  try {
    return accountOfLocation(location).host
  } catch {
    return location // an invalid location cannot be opened either
  }
}

/** Scheme, host and port of an address, and how it is encrypted; text that is not an address is returned as it is. */
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
    return uri // an invalid address cannot be opened either
  }
}
