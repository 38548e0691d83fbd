import { compileRecord } from '../avro/record-reader.ts'
import { IcebergError } from '../errors.ts'
import { emptyDraft, entryBindings } from './entry-bindings.ts'
import type { EntryDraft } from './entry-fields.ts'
import { decodeManifest, findSpec, hasTwoForms, openManifest } from './open.ts'
import { partitionReader } from './partition.ts'
import type { ManifestEntry, ManifestFile } from './manifest.ts'
import type { TableMetadata } from '../metadata/metadata.ts'
import { partitionType } from '../partitioning/partitioning.ts'

export { readManifestTotals } from './totals.ts'

/** The context in which a manifest is read. */
export interface ManifestContext {
  /** Its entry in the manifest list, from which values are inherited. */
  readonly manifest: ManifestFile
  readonly metadata: TableMetadata
  /** `no-metrics` leaves out column sizes, counts and bounds, and is more than twice as fast; default `all`. */
  readonly project?: 'all' | 'no-metrics'
}

/**
 * Reads a manifest (Iceberg spec, "Manifests", v1 to v3): every entry, deleted ones included, in file order.
 *
 * Snapshot ids, sequence numbers and v3 first row ids are inherited as the spec says. Partition values have the types
 * of the spec's fields today, even if the file has an older, narrower type.
 * Errors: `CORRUPT_FILE` (also when the file is shorter than the manifest list says), `INVALID_METADATA` (an entry that
 * lacks what only new entries may inherit, an unknown spec), `UNSUPPORTED` (encrypted, unknown content).
 */
export function readManifest(bytes: Uint8Array, context: ManifestContext): ManifestEntry[] {
  const { manifest, metadata } = context
  const container = openManifest(bytes, manifest)
  const spec = findSpec(container, manifest.partitionSpecId, metadata)
  const partition = partitionReader(spec, partitionType(spec, metadata.schemas))
  const bindings = entryBindings(partition, context.project ?? 'all')
  return decodeManifest(container, (schema) => {
    const readEntry = compileRecord(schema, bindings)
    const inherit = createInheritance(manifest)
    const entries: ManifestEntry[] = []
    container.forEachRecord((cursor) => {
      const draft = emptyDraft(spec.specId)
      readEntry(cursor, draft)
      entries.push(inherit(draft))
    })
    return entries
  })
}

/**
 * The same entries one at a time, for a reader that needs few of them in memory, or that lets other work run between them.
 * A manifest with `fixed` partition values is read at once, because its form is known only at its end.
 */
export function* manifestEntries(bytes: Uint8Array, context: ManifestContext): Generator<ManifestEntry> {
  const { manifest, metadata } = context
  const container = openManifest(bytes, manifest)
  if (hasTwoForms(container)) {
    yield* readManifest(bytes, context)
    return
  }
  const spec = findSpec(container, manifest.partitionSpecId, metadata)
  const partition = partitionReader(spec, partitionType(spec, metadata.schemas))
  const readEntry = compileRecord(container.schema, entryBindings(partition, context.project ?? 'all'))
  const inherit = createInheritance(manifest)
  for (const cursor of container.records()) {
    const draft = emptyDraft(spec.specId)
    readEntry(cursor, draft)
    yield inherit(draft)
  }
}

/** Fills in what an entry inherits (Iceberg spec, "Sequence Number Inheritance", "First Row ID Inheritance"). */
function createInheritance(manifest: ManifestFile): (draft: EntryDraft) => ManifestEntry {
  const assignRowId = createRowIdAssigner(manifest)
  return (draft) => {
    assignRowId(draft)
    const { status, snapshotId = manifest.addedSnapshotId, file } = draft
    const sequenceNumber = draft.sequenceNumber ?? inheritedSequenceNumber(draft, manifest)
    // Writers before Iceberg 1.0 wrote no file sequence number; it was always the data sequence number.
    const inherited = status === 'added' ? manifest.sequenceNumber : sequenceNumber
    return {
      status,
      snapshotId,
      sequenceNumber,
      fileSequenceNumber: draft.fileSequenceNumber ?? inherited,
      dataFile: file,
    }
  }
}

function inheritedSequenceNumber(draft: EntryDraft, manifest: ManifestFile): number {
  if (draft.status === 'added' || manifest.sequenceNumber === 0) return manifest.sequenceNumber
  const what = `has no sequence number, which only added files may inherit`
  const where = `The manifest ${manifest.manifestPath}: the ${draft.status} file ${draft.file.filePath}`
  throw new IcebergError('INVALID_METADATA', `${where} ${what}.`)
}

function createRowIdAssigner(manifest: ManifestFile): (draft: EntryDraft) => void {
  if (manifest.firstRowId === undefined) {
    // Without a start in the manifest list, row ids of the entries are ignored (rows from before the upgrade to v3).
    return ({ file }) => {
      if (file.firstRowId !== undefined) delete file.firstRowId
    }
  }
  let next = manifest.firstRowId
  return ({ status, file }) => {
    if (status === 'deleted' || file.content !== 'data' || file.firstRowId !== undefined) return
    file.firstRowId = next
    next += file.recordCount
  }
}
