import { IcebergError } from '../errors.ts'
import { has, isJsonObject } from '../json/json-fields.ts'
import type { JsonObject } from '../json/lossless-json.ts'
import { tableProperty } from './table-properties.ts'

type Properties = Readonly<Record<string, string>>

/** The part of `TableMetadata` that says whether and why a table is encrypted. */
interface EncryptionInfo {
  readonly encrypted: boolean
  readonly location: string
  readonly properties: Properties
}

/** The table property that asks for encrypted files, if there is one. */
function encryptionProperty(properties: Properties): string | undefined {
  return Object.keys(properties).find((name) => tableProperty(name)?.encrypts === true)
}

/**
 * Whether a table requires encrypted files: by a property (`encryption.key-id`), by keys in its metadata
 * (`encryption-keys`, Iceberg spec v3, "Table Metadata"), or by a snapshot that names the key of its manifest list.
 */
export function isEncrypted(json: JsonObject, properties: Properties): boolean {
  if (encryptionProperty(properties) !== undefined) return true
  const { 'encryption-keys': keys, snapshots } = json
  if (has(json, 'encryption-keys') && !(Array.isArray(keys) && keys.length === 0)) return true
  return Array.isArray(snapshots) && snapshots.some((snapshot) => isJsonObject(snapshot) && has(snapshot, 'key-id'))
}

/** Refuses (`UNSUPPORTED`) to change an encrypted table, because new files would not be encrypted. */
export function requirePlain({ encrypted, location, properties }: EncryptionInfo): void {
  if (!encrypted) return
  const property = encryptionProperty(properties)
  const why = property === undefined ? '' : ` (table property ${property})`
  throw new IcebergError(
    'UNSUPPORTED',
    `The table at ${location} is encrypted${why}; new files would not be encrypted, so nothing was changed`,
  )
}
