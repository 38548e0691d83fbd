import { asObject, isJsonObject, optionalArray } from '../../../iceberg/json/json-fields.ts'
import type { JsonObject } from '../../../iceberg/json/lossless-json.ts'
import type { AwsCredentials } from '../../../iceberg/io/aws/credentials.ts'
import type { GoogleToken } from '../../../iceberg/io/google/client.ts'
import type { VendedKind } from './stores.ts'

type Properties = Readonly<Record<string, string>>

/** Credentials that a catalog lends for the files below a prefix, and how to reach their store. */
export type VendedCredentials = VendedKeys | VendedToken

interface Vended {
  readonly kind: VendedKind
  /** A location such as `s3://bucket/warehouse/t`; the scheme alone or an empty text: every location of the kind. */
  readonly prefix: string
}

/** Keys for S3. */
export interface VendedKeys extends Vended {
  readonly kind: 's3'
  readonly keys: AwsCredentials
  readonly endpoint?: string
  readonly region?: string
  readonly pathStyle?: boolean
}

/** A token for Google Cloud Storage. */
export interface VendedToken extends Vended {
  readonly kind: 'gs'
  readonly token: GoogleToken
  /** All properties, with those of the token. */
  readonly properties: Properties
}

const where = 'response of the catalog'

/**
 * The credentials in a `LoadTableResult` or a `LoadCredentialsResponse`, longest prefix first: `storage-credentials`, and
 * those in `config` as older servers send them. `own` are the settings of the catalog, which those of the server override.
 */
export function vendedCredentials(json: JsonObject, own: Properties): readonly VendedCredentials[] {
  const config = texts(json['config'])
  const listed = (optionalArray(json, 'storage-credentials', where) ?? []).map((entry) => {
    const { prefix, config: properties } = asObject(entry, where)
    return { prefix: typeof prefix === 'string' ? prefix : '', layers: [texts(properties), config, own] }
  })
  const older = { prefix: '', layers: [config, own] }
  return [...listed, older]
    .flatMap(({ prefix, layers }) => [keysFor(prefix, layers) ?? [], tokenFor(prefix, layers) ?? []].flat())
    .toSorted((a, b) => b.prefix.length - a.prefix.length)
}

function keysFor(prefix: string, layers: readonly Properties[]): VendedKeys | undefined {
  const keys = keysIn(layers[0] ?? {})
  if (keys === undefined) return undefined
  const endpoint = find(layers, ['s3.endpoint'])
  const region = find(layers, ['s3.region', 'client.region'])
  const pathStyle = find(layers, ['s3.path-style-access'])
  return {
    kind: 's3',
    prefix,
    keys,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(pathStyle === undefined ? {} : { pathStyle: pathStyle === 'true' }),
  }
}

function tokenFor(prefix: string, layers: readonly Properties[]): VendedToken | undefined {
  const [{ 'gcs.oauth2.token': token, 'gcs.oauth2.token-expires-at': expiresAt = '' } = {}] = layers
  if (token === undefined) return undefined
  return {
    kind: 'gs',
    prefix,
    token: { token, ...expiry(expiresAt) },
    properties: Object.assign({}, ...layers.toReversed()),
  }
}

function keysIn(properties: Properties): AwsCredentials | undefined {
  const accessKeyId = properties['s3.access-key-id']
  const secretAccessKey = properties['s3.secret-access-key']
  const sessionToken = properties['s3.session-token']
  const expiresAt = properties['s3.session-token-expires-at-ms'] ?? ''
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    ...expiry(expiresAt),
  }
}

function expiry(expiresAtMs: string): { readonly expiresAtMs?: number } {
  return /^\d{1,15}$/.test(expiresAtMs) ? { expiresAtMs: Number(expiresAtMs) } : {}
}

function find(layers: readonly Properties[], names: readonly string[]): string | undefined {
  return layers.flatMap((layer) => names.map((name) => layer[name])).find((value) => value !== undefined)
}

function texts(value: JsonObject[string] | undefined): Properties {
  const entries = Object.entries(isJsonObject(value) ? value : {})
  return Object.fromEntries(entries.flatMap(([key, text]) => (typeof text === 'string' ? [[key, text]] : [])))
}
