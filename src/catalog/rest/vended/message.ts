import { asObject, isJsonObject, optionalArray } from '../../../iceberg/json/json-fields.ts'
import type { JsonObject } from '../../../iceberg/json/lossless-json.ts'
import type { AwsCredentials } from '../../../iceberg/io/aws/credentials.ts'

type Properties = Readonly<Record<string, string>>

/** Credentials that a catalog lends for the files below a prefix, and how to reach their store. */
export interface VendedCredentials {
  /** A location such as `s3://bucket/warehouse/t`; `s3` or an empty text: every location. */
  readonly prefix: string
  readonly keys: AwsCredentials
  readonly endpoint?: string
  readonly region?: string
  readonly pathStyle?: boolean
}

const where = 'response of the catalog'

/**
 * The credentials for S3 in a `LoadTableResult` or a `LoadCredentialsResponse`, longest prefix first: `storage-credentials`, and
 * keys in `config` as older servers send them. `own` are the settings of the catalog, which those of the server override.
 */
export function vendedCredentials(json: JsonObject, own: Properties): readonly VendedCredentials[] {
  const config = texts(json['config'])
  const listed = (optionalArray(json, 'storage-credentials', where) ?? []).map((entry) => {
    const { prefix, config: properties } = asObject(entry, where)
    return { prefix: typeof prefix === 'string' ? prefix : '', layers: [texts(properties), config, own] }
  })
  const older = { prefix: '', layers: [config, own] }
  return [...listed, older]
    .flatMap(({ prefix, layers }) => credentialsIn(prefix, layers) ?? [])
    .toSorted((a, b) => b.prefix.length - a.prefix.length)
}

function credentialsIn(prefix: string, layers: readonly Properties[]): VendedCredentials | undefined {
  const keys = keysIn(layers[0] ?? {})
  if (keys === undefined) return undefined
  const endpoint = find(layers, ['s3.endpoint'])
  const region = find(layers, ['s3.region', 'client.region'])
  const pathStyle = find(layers, ['s3.path-style-access'])
  return {
    prefix,
    keys,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(pathStyle === undefined ? {} : { pathStyle: pathStyle === 'true' }),
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
    ...(/^\d{1,15}$/.test(expiresAt) ? { expiresAtMs: Number(expiresAt) } : {}),
  }
}

function find(layers: readonly Properties[], names: readonly string[]): string | undefined {
  return layers.flatMap((layer) => names.map((name) => layer[name])).find((value) => value !== undefined)
}

function texts(value: JsonObject[string] | undefined): Properties {
  const entries = Object.entries(isJsonObject(value) ? value : {})
  return Object.fromEntries(entries.flatMap(([key, text]) => (typeof text === 'string' ? [[key, text]] : [])))
}
