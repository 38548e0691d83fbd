import type { AzureIdentity } from '../../iceberg/io/azure/client.ts'

/** What a connection string states; without an identity, other properties have to state it. */
export interface AzureConnection {
  /** Address of the Blob service; undefined: that of the location. */
  readonly endpoint: string | undefined
  readonly identity: AzureIdentity | undefined
}

/**
 * Reads a connection string of Azure ("Configure Azure Storage connection strings"), or the plain address that Iceberg's Java
 * accepts in its place. Undefined if it is neither.
 */
export function parseAzureConnection(text: string): AzureConnection | undefined {
  if (/^https?:/i.test(text)) return isAddress(text) ? { endpoint: plain(text), identity: undefined } : undefined
  const fields = fieldsOf(text)
  const account = fields.get('accountname')
  const endpoint = endpointOf(fields, account)
  if (endpoint !== undefined && !isAddress(endpoint)) return undefined
  const identity = identityOf(fields, account)
  return identity && { endpoint, identity }
}

function fieldsOf(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(';').flatMap((field): [string, string][] => {
      const at = field.indexOf('=')
      return at < 0 ? [] : [[field.slice(0, at).trim().toLowerCase(), field.slice(at + 1).trim()]]
    }),
  )
}

function endpointOf(fields: ReadonlyMap<string, string>, account: string | undefined): string | undefined {
  const given = fields.get('blobendpoint')
  if (given !== undefined) return plain(given)
  if (account === undefined) return undefined
  const protocol = fields.get('defaultendpointsprotocol') ?? 'https'
  return `${protocol}://${account}.blob.${fields.get('endpointsuffix') ?? 'core.windows.net'}`
}

function identityOf(fields: ReadonlyMap<string, string>, account: string | undefined): AzureIdentity | undefined {
  const key = fields.get('accountkey')
  const sas = fields.get('sharedaccesssignature')
  if (account !== undefined && key !== undefined) return { kind: 'key', account, key }
  return sas === undefined ? undefined : { kind: 'sas', token: sas.replace(/^\?/, '') }
}

function isAddress(text: string): boolean {
  return /^https?:\/\/[^/?#@\s]+(\/[\w-]+)?\/?$/i.test(text)
}

function plain(address: string): string {
  return address.replace(/\/$/, '')
}
