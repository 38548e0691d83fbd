import type { AvroSchema } from '../avro/avro-schema.ts'
import { headerText, isEncryptedStream, openAvroContainer } from '../avro/container-reader.ts'
import type { AvroContainer } from '../avro/container-reader.ts'
import { IcebergError, isIcebergError } from '../errors.ts'
import { parseJson } from '../json/lossless-json.ts'
import type { ManifestFile } from './manifest.ts'
import type { TableMetadata } from '../metadata/metadata.ts'
import { parsePartitionFields } from '../partitioning/partitioning.ts'
import type { PartitionSpec } from '../partitioning/partitioning.ts'

/** Opens a manifest and checks it against its entry in the manifest list. */
export function openManifest(bytes: Uint8Array, manifest: ManifestFile): AvroContainer {
  if (manifest.keyMetadata !== undefined && isEncryptedStream(bytes)) {
    throw new IcebergError('UNSUPPORTED', `The manifest ${manifest.manifestPath} is encrypted.`)
  }
  // A file that ends exactly between two blocks is valid Avro: only its length shows that entries are missing.
  if (bytes.length < manifest.manifestLength) {
    const lengths = `has ${bytes.length} bytes instead of ${manifest.manifestLength}`
    throw new IcebergError('CORRUPT_FILE', `The manifest ${manifest.manifestPath} is truncated: it ${lengths}.`)
  }
  return openAvroContainer(bytes, `manifest ${manifest.manifestPath}`)
}

/** The partition spec of a manifest: from the table, or else (a spec that was removed) from the manifest's own header. */
export function findSpec(container: AvroContainer, specId: number, metadata?: TableMetadata): PartitionSpec {
  const known = metadata?.partitionSpecs.find((spec) => spec.specId === specId)
  if (known !== undefined) return known
  const text = headerText(container.header, 'partition-spec')
  const fields = text === undefined ? undefined : parseJson(text)
  if (!Array.isArray(fields)) {
    throw new IcebergError('INVALID_METADATA', `The ${container.label} uses the unknown partition spec ${specId}.`)
  }
  return { specId, fields: parsePartitionFields(fields, `partition spec of the ${container.label}`) }
}

/**
 * Decodes a manifest with its schema and, if that fails, with the form in which Java writes `fixed` partition values: the
 * schema says Avro `fixed`, but the bytes are length-prefixed. The wrong form shifts all following fields, which the checks
 * of counts, unions and block ends detect.
 */
export function decodeManifest<T>(container: AvroContainer, decode: (schema: AvroSchema) => T): T {
  try {
    return decode(container.schema)
  } catch (error) {
    const prefixed = isIcebergError(error, 'CORRUPT_FILE') ? withPrefixedFixed(container.schema) : container.schema
    if (prefixed === container.schema) throw error
    try {
      return decode(prefixed)
    } catch {
      throw error
    }
  }
}

/** Whether {@link decodeManifest} may need a second attempt. */
export function hasTwoForms({ schema }: AvroContainer): boolean {
  return withPrefixedFixed(schema) !== schema
}

/** The schema with plain fixed types read as bytes; the same object when it has none. Manifests have them in partitions only. */
function withPrefixedFixed(schema: AvroSchema): AvroSchema {
  if (schema.kind === 'fixed') return schema.logicalType === undefined ? { kind: 'bytes' } : schema
  if (schema.kind === 'union') {
    const branches = schema.branches.map(withPrefixedFixed)
    return branches.every((branch, index) => branch === schema.branches[index]) ? schema : { ...schema, branches }
  }
  if (schema.kind !== 'record') return schema
  const fields = schema.fields.map((field) => {
    const changed = withPrefixedFixed(field.schema)
    return changed === field.schema ? field : { ...field, schema: changed }
  })
  return fields.every((field, index) => field === schema.fields[index]) ? schema : { ...schema, fields }
}
