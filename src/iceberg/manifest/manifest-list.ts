import { openAvroContainer } from '../avro/container-reader.ts'
import { compileRecord } from '../avro/record-reader.ts'
import { COUNT_FIELDS, LINE_FIELDS, type LineDraft } from './list-fields.ts'
import type { ManifestFile } from './manifest.ts'

export { writeManifestList } from './list-writer.ts'
export type { ManifestListOptions } from './list-writer.ts'

/**
 * Reads a manifest list (Iceberg spec, "Manifest Lists", v1 to v3), in file order.
 *
 * Fields are found by id, as their names changed over time. v1 lists have sequence numbers 0 and may lack counts,
 * which are then undefined: unknown, not zero. `label` names the file in errors. Throws `CORRUPT_FILE`, `UNSUPPORTED`.
 */
export function readManifestList(bytes: Uint8Array, label = 'manifest list'): ManifestFile[] {
  const container = openAvroContainer(bytes, label)
  const readLine = compileRecord(container.schema, lineBindings)
  const manifests: ManifestFile[] = []
  container.forEachRecord((cursor) => {
    const line: LineDraft = { ...emptyLine }
    readLine(cursor, line)
    if (line.manifestPath === '') throw cursor.corrupt('a manifest has no path')
    manifests.push(line)
  })
  return manifests
}

const emptyLine: LineDraft = {
  manifestPath: '',
  manifestLength: 0,
  partitionSpecId: 0,
  content: 'data',
  sequenceNumber: 0,
  minSequenceNumber: 0,
  // v1 allows null here; no snapshot has this id, and v1 entries have their own.
  addedSnapshotId: -1n,
}

const lineBindings = [...Object.values(LINE_FIELDS), ...COUNT_FIELDS.files, ...COUNT_FIELDS.rows].map(
  ({ bind }) => bind,
)
