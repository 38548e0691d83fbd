import { randomUUID } from 'node:crypto'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { newDataLocation } from '../../../src/iceberg/metadata/locations.ts'
import { currentSchema, currentSpec } from '../../../src/iceberg/metadata/metadata.ts'
import { partitionPath, partitionType } from '../../../src/iceberg/partitioning/partitioning.ts'
import { removeFromManifest } from '../../../src/iceberg/update/stage/manifest-filter.ts'
import { produceSnapshot, type SnapshotOperation } from '../../../src/iceberg/update/stage/snapshot-producer.ts'
import { writeAddedFiles } from '../../../src/iceberg/update/stage/stage-append.ts'
import type { StreamLab } from '../../streaming/support.ts'

/** How a table is overwritten. */
export interface Overwrite {
  /** SELECTs of the new rows (columns `c<id>`), each one file. */
  readonly queries?: readonly string[]
  /** Data files that are added as they are. */
  readonly files?: readonly DataFile[]
  /** Whether a data file stays; default: none does. */
  readonly keeps?: (file: DataFile) => boolean
  readonly operation?: SnapshotOperation
}

/** Replaces data files of a table by new ones in one snapshot, as a copy-on-write update does; returns its id. */
export async function overwrite(lab: StreamLab, name: string, change: Overwrite): Promise<bigint> {
  const { queries = [], files = [], keeps = () => false, operation = 'overwrite' } = change
  const { metadata, io, identifier } = await lab.load(name)
  const partitionSpec = currentSpec(metadata)
  const types = partitionType(partitionSpec, metadata.schemas)
  const added = [...files]
  for (const query of queries) {
    const output = {
      schema: currentSchema(metadata),
      partitionSpec,
      formatVersion: metadata.formatVersion,
      targetFileSizeBytes: 2 ** 29,
      properties: metadata.properties,
      newDataLocation: (tuple: Parameters<typeof partitionPath>[2]) =>
        newDataLocation(metadata, partitionPath(partitionSpec, types, tuple), `o-${randomUUID()}.parquet`),
    }
    added.push(...(await lab.engine.append({ io, query, output })))
  }
  const { table } = await commitTable(lab.catalog(), identifier, (fresh) =>
    produceSnapshot(fresh, { operationId: `overwrite-${randomUUID()}` }, async (producer) => {
      const kept = []
      for (const manifest of await producer.parentManifests()) {
        if (manifest.content === 'deletes') kept.push(manifest)
        else kept.push((await removeFromManifest(producer, manifest, (file) => !keeps(file))).manifest)
      }
      const manifests = [...(await writeAddedFiles(producer, { content: 'data', files: added })), ...kept]
      return { operation, manifests, summary: {}, removedDeleteFiles: 0 }
    }),
  )
  return table.metadata.currentSnapshotId ?? 0n
}
