import type { AzureAccount, AzureIdentity, AzureSettings } from '../../iceberg/io/azure/client.ts'
import { accountOfLocation } from '../../iceberg/io/azure/location.ts'
import type { ReadProperty } from '../settings.ts'
import { parseAzureConnection, type AzureConnection } from './azure-connection.ts'
import { addressAt, bearerTokenAt, firstProperty, invalidProperty } from './store-properties.ts'

const EXAMPLE = { example: 'https://account.blob.core.windows.net', hasFolder: true }

/** Accounts of Azure as properties, with the names of Iceberg's Java and then those of PyIceberg. */
export const ADLS_KEYS = {
  /** A property of this service: the address of the Blob service, where it is not the host of the location. */
  endpoint: 'adls.endpoint',
  accountName: ['adls.auth.shared-key.account.name', 'adls.account-name'],
  accountKey: ['adls.auth.shared-key.account.key', 'adls.account-key'],
  sasToken: 'adls.sas-token',
  connection: 'adls.connection-string',
  token: 'adls.token',
  tenantId: 'adls.tenant-id',
  clientId: 'adls.client-id',
  clientSecret: 'adls.client-secret',
} as const

/**
 * The accounts that the properties `adls.…` describe, checked for the accounts of `roots`. The first of these identities is
 * used: connection string, SAS token, key, token, client secret, default chain of the Azure SDK. Throws `INVALID_ARGUMENT`
 * naming an invalid property, never its value.
 */
export function azureSettings(property: ReadProperty, roots: readonly string[]): AzureSettings {
  const settings = { accountAt: (host: string) => accountAt(property, host) }
  for (const root of roots) settings.accountAt(accountOfLocation(root).host)
  return settings
}

function accountAt(property: ReadProperty, host: string): AzureAccount {
  const account = host.split('.')[0] ?? ''
  const names = [account, host, host.replace('.blob.', '.dfs.')]
  const connection = connectionOf(property, names)
  const endpoint = connection?.endpoint ?? addressAt(property, ADLS_KEYS.endpoint, EXAMPLE) ?? `https://${host}`
  const identity = connection?.identity ?? ownIdentity(property, account, names)
  if (endpoint.startsWith('http:') && identity.kind !== 'key' && identity.kind !== 'sas') {
    throw invalidProperty(ADLS_KEYS.endpoint, 'must begin with https: unless an account key or a SAS token is set')
  }
  return { endpoint, identity }
}

function ownIdentity(property: ReadProperty, account: string, names: readonly string[]): AzureIdentity {
  return (
    sasToken(property, names) ??
    sharedKey(property, account) ??
    bearerToken(property) ??
    clientSecret(property) ?? { kind: 'default' }
  )
}

function connectionOf(property: ReadProperty, names: readonly string[]): AzureConnection | undefined {
  const found = ofAccount(property, ADLS_KEYS.connection, names)
  if (found === undefined) return undefined
  const connection = parseAzureConnection(found.value)
  if (connection !== undefined) return connection
  const form = 'must be the address of an account, or have AccountName with AccountKey, or SharedAccessSignature'
  throw invalidProperty(found.key, `${form}; use AccountName=…;AccountKey=…;EndpointSuffix=core.windows.net`)
}

function sasToken(property: ReadProperty, names: readonly string[]): AzureIdentity | undefined {
  const found = ofAccount(property, ADLS_KEYS.sasToken, names)
  if (found === undefined) return undefined
  const token = found.value.replace(/^\?/, '')
  if (!/(^|&)sig=[^&]+/.test(token) || /[\s#]/.test(token)) {
    throw invalidProperty(found.key, 'must be a SAS token such as sv=…&sp=racwdl&sig=…')
  }
  return { kind: 'sas', token }
}

function sharedKey(property: ReadProperty, account: string): AzureIdentity | undefined {
  const name = firstProperty(property, ADLS_KEYS.accountName)
  const key = firstProperty(property, ADLS_KEYS.accountKey)
  if (key === undefined) return undefined
  const [nameKey] = ADLS_KEYS.accountName
  const [keyKey] = ADLS_KEYS.accountKey
  if (name === undefined) throw invalidProperty(nameKey, `must be set together with ${keyKey}`)
  if (name !== account) throw invalidProperty(nameKey, `must be the account of the location, which is ${account}`)
  if (!/^[A-Za-z0-9+/]{16,}={0,2}$/.test(key)) throw invalidProperty(keyKey, 'must be a key of the account, in Base64')
  return { kind: 'key', account: name, key }
}

function bearerToken(property: ReadProperty): AzureIdentity | undefined {
  const token = bearerTokenAt(property, ADLS_KEYS.token)
  return token === undefined ? undefined : { kind: 'token', token }
}

function clientSecret(property: ReadProperty): AzureIdentity | undefined {
  const tenantId = property(ADLS_KEYS.tenantId)
  const clientId = property(ADLS_KEYS.clientId)
  const secret = property(ADLS_KEYS.clientSecret)
  if (secret === undefined) return undefined
  if (tenantId === undefined || clientId === undefined) {
    throw invalidProperty(ADLS_KEYS.clientSecret, `needs ${ADLS_KEYS.tenantId} and ${ADLS_KEYS.clientId}`)
  }
  if (!/^[\w.-]+$/.test(tenantId)) throw invalidProperty(ADLS_KEYS.tenantId, 'must be the id or domain of a tenant')
  return { kind: 'secret', tenantId, clientId, clientSecret: secret }
}

/** `<key>.<account>` or `<key>.<host>`, and otherwise `<key>` for all accounts. */
function ofAccount(
  property: ReadProperty,
  key: string,
  names: readonly string[],
): { readonly key: string; readonly value: string } | undefined {
  for (const one of [...names.map((name) => `${key}.${name}`), key]) {
    const value = property(one)
    if (value !== undefined) return { key: one, value }
  }
  return undefined
}
