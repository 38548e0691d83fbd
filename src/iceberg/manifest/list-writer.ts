import { AvroContainerWriter } from '../avro/container-writer.ts'
import { recordType } from '../avro/record-writer.ts'
import type { WriteField } from '../avro/record-writer.ts'
import { IcebergError } from '../errors.ts'
import { COUNT_FIELDS, knownCount, LINE_FIELDS } from './list-fields.ts'
import type { ManifestFile } from './manifest.ts'

/** The snapshot that a manifest list is written for. */
export interface ManifestListOptions {
  readonly formatVersion: 1 | 2 | 3
  readonly snapshotId: bigint
  readonly parentSnapshotId?: bigint
  readonly sequenceNumber: number
  /** v3: the table's `next-row-id`, where rows of this snapshot start. */
  readonly nextRowId?: number
  readonly manifests: readonly ManifestFile[]
}

/**
 * Writes a manifest list (Iceberg spec, "Manifest Lists").
 *
 * v3 gives every data manifest that has no first row id the next one, advancing by its existing and added rows;
 * `nextRowId` of the result is where the table continues. v2 and v3 need all counts: `INVALID_ARGUMENT` without.
 */
export function writeManifestList(options: ManifestListOptions): { bytes: Uint8Array; nextRowId?: number } {
  const { formatVersion } = options
  const type = recordType('manifest_file', listFields(formatVersion))
  const writer = new AvroContainerWriter(JSON.stringify(type.json), headerOf(options))
  const { manifests, ...next } = formatVersion === 3 ? assignRowIds(options) : { manifests: options.manifests }
  for (const manifest of manifests) writer.append((sink) => type.write(sink, manifest))
  return { bytes: writer.finish(), ...next }
}

function headerOf(options: ManifestListOptions): Record<string, string> {
  const { formatVersion, snapshotId, parentSnapshotId, sequenceNumber, nextRowId } = options
  return {
    'format-version': String(formatVersion),
    'snapshot-id': String(snapshotId),
    // Java writes the text "null" when there is no parent, and its readers expect the key.
    'parent-snapshot-id': parentSnapshotId === undefined ? 'null' : String(parentSnapshotId),
    ...(formatVersion >= 2 && { 'sequence-number': String(sequenceNumber) }),
    ...(formatVersion === 3 && { 'first-row-id': String(nextRowId ?? 0) }),
  }
}

function assignRowIds({ manifests, nextRowId }: ManifestListOptions): { manifests: ManifestFile[]; nextRowId: number } {
  if (nextRowId === undefined) {
    throw new IcebergError('INVALID_ARGUMENT', 'A format version 3 manifest list needs the next row id of the table.')
  }
  let next = nextRowId
  const assigned = manifests.map((manifest) => {
    if (manifest.content !== 'data' || manifest.firstRowId !== undefined) return manifest
    const withRowId = { ...manifest, firstRowId: next }
    next += knownCount(manifest, 'existingRowsCount') + knownCount(manifest, 'addedRowsCount')
    return withRowId
  })
  return { manifests: assigned, nextRowId: next }
}

/** Field order as Java writes it in each version, because some readers depend on positions. */
function listFields(formatVersion: 1 | 2 | 3): WriteField<ManifestFile>[] {
  const { files, rows } = COUNT_FIELDS
  if (formatVersion === 1) {
    return [
      ...written('manifestPath', 'manifestLength', 'partitionSpecId', 'addedSnapshotId'),
      ...files.map(({ write }) => write),
      ...written('partitions'),
      ...rows.map(({ write }) => write),
      ...written('keyMetadata'),
    ]
  }
  const fields = [
    ...written('manifestPath', 'manifestLength', 'partitionSpecId', 'content', 'sequenceNumber', 'minSequenceNumber'),
    ...written('addedSnapshotId'),
    ...[...files, ...rows].map(({ writeKnown }) => writeKnown),
    ...written('partitions', 'keyMetadata'),
  ]
  return formatVersion === 2 ? fields : [...fields, ...written('firstRowId')]
}

function written(...names: readonly (keyof typeof LINE_FIELDS)[]): WriteField<ManifestFile>[] {
  return names.map((name) => LINE_FIELDS[name].write)
}
