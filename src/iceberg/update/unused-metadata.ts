import { mapBounded } from '../../lib/bounded-map.ts'
import { loadEntries, readManifests } from '../manifest/cache.ts'
import type { ManifestFile } from '../manifest/manifest.ts'
import type { TableMetadata } from '../metadata/metadata.ts'
import { sourceIdsOf } from '../partitioning/partitioning.ts'
import type { PartitionSpec } from '../partitioning/partitioning.ts'
import { isLive } from '../scan/scan.ts'
import { walkFields } from '../schema/schema.ts'
import type { Schema } from '../schema/schema.ts'
import type { Snapshot } from '../metadata/snapshots.ts'
import type { Table } from '../metadata/table.ts'

const CONCURRENCY = 8

/** The parts of the table's metadata that are needed to read the files of some snapshots. */
export interface UsedMetadata {
  readonly specIds: ReadonlySet<number>
  /** Columns that equality deletes compare; newer schemas may lack them. */
  readonly equalityIds: ReadonlySet<number>
}

/** Reads the manifest lists and delete manifests of snapshots to find out what they use; each file once. */
export async function findUsedMetadata(table: Table, snapshots: readonly Snapshot[]): Promise<UsedMetadata> {
  const specIds = new Set<number>()
  const deleteManifests = new Map<string, ManifestFile>()
  await mapBounded(snapshots, CONCURRENCY, async (snapshot) => {
    for (const manifest of await readManifests(table, snapshot)) {
      specIds.add(manifest.partitionSpecId)
      if (manifest.content === 'deletes') deleteManifests.set(manifest.manifestPath, manifest)
    }
  })
  const equalityIds = new Set<number>()
  await mapBounded([...deleteManifests.values()], CONCURRENCY, async (manifest) => {
    for (const entry of await loadEntries(table, manifest, { project: 'no-metrics' })) {
      if (isLive(entry)) for (const id of entry.dataFile.equalityIds ?? []) equalityIds.add(id)
    }
  })
  return { specIds, equalityIds }
}

/**
 * Schemas and partition specs that the kept snapshots do not need. Without `used`, nothing is known about files; then
 * all specs are kept, and all schemas with columns of their own. The newest of each is always kept: the next one gets the
 * highest id plus one, and a reused id would mean something else to running operations.
 */
export function unusedMetadata(
  metadata: TableMetadata,
  kept: readonly Snapshot[],
  used: UsedMetadata | undefined,
): { readonly schemaIds: readonly number[]; readonly specIds: readonly number[] } {
  const newestSpec = Math.max(...metadata.partitionSpecs.map(({ specId }) => specId))
  const isKept = ({ specId }: PartitionSpec): boolean =>
    specId === metadata.defaultSpecId || specId === newestSpec || used === undefined || used.specIds.has(specId)
  const keptSpecs = metadata.partitionSpecs.filter(isKept)
  const specIds = metadata.partitionSpecs.filter((spec) => !isKept(spec)).map(({ specId }) => specId)
  // a snapshot that does not say its schema may need any of them
  if (kept.some((snapshot) => snapshot.schemaId === undefined)) return { schemaIds: [], specIds }
  const newestSchema = Math.max(...metadata.schemas.map(({ schemaId }) => schemaId))
  const named = new Set([metadata.currentSchemaId, newestSchema, ...kept.map((snapshot) => snapshot.schemaId)])
  const keptSchemas = metadata.schemas.filter((schema) => named.has(schema.schemaId))
  const sources = [...keptSpecs, ...metadata.sortOrders].flatMap(({ fields }) => fields.flatMap(sourceIdsOf))
  const needed = used === undefined ? undefined : new Set([...used.equalityIds, ...sources])
  const schemaIds = metadata.schemas
    .filter((schema) => !named.has(schema.schemaId) && !hasColumnOfItsOwn(schema, keptSchemas, needed))
    .map((schema) => schema.schemaId)
  return { schemaIds, specIds }
}

/** Whether a schema has a column (one of `needed`, or any) that no kept schema has. */
function hasColumnOfItsOwn(schema: Schema, kept: readonly Schema[], needed: ReadonlySet<number> | undefined): boolean {
  const known = new Set(kept.flatMap((other) => [...walkFields(other)].map(({ field }) => field.id)))
  for (const { field } of walkFields(schema)) {
    if (!known.has(field.id) && (needed === undefined || needed.has(field.id))) return true
  }
  return false
}
