import type { Catalog } from '../../src/catalog/catalog.ts'
import { commitTable } from '../../src/catalog/commit-table.ts'
import type { ManifestFile } from '../../src/iceberg/manifest/manifest.ts'
import type { Table, TableIdentifier } from '../../src/iceberg/metadata/table.ts'
import { produceSnapshot } from '../../src/iceberg/update/stage/snapshot-producer.ts'
import { metadataOnlyFile, WIDE_SCHEMA } from './metadata-only-files.ts'

const DAYS = 365

/** How many manifests a table gets, and how many data files each of them lists. */
export interface ManifestCounts {
  readonly manifests: number
  readonly filesPerManifest: number
  /** Whether the entries have sizes, counts and bounds of twenty columns. */
  readonly withMetrics: boolean
}

/** Creates a table, partitioned by day, with one snapshot of so many manifests. Its data files do not exist. */
export async function makeManyManifests(
  catalog: Catalog,
  identifier: TableIdentifier,
  counts: ManifestCounts,
): Promise<void> {
  await catalog.createTable(identifier, {
    schema: WIDE_SCHEMA,
    partitionSpec: {
      specId: 0,
      fields: [{ fieldId: 1000, sourceId: 1, name: 'column_1', transform: { kind: 'identity' } }],
    },
  })
  await commitTable(catalog, identifier, (table) => stageManifests(table, counts))
}

function stageManifests(table: Table, { manifests: count, filesPerManifest, withMetrics }: ManifestCounts) {
  return produceSnapshot(table, { operationId: 'many' }, async (producer) => {
    const manifests: ManifestFile[] = []
    for (let at = 0; at < count; at += 1) {
      const entries = Array.from({ length: filesPerManifest }, (_, i) => {
        const index = at * filesPerManifest + i
        const dataFile = metadataOnlyFile(index, index % DAYS)
        return { status: 'added' as const, dataFile: withMetrics ? dataFile : withoutMetrics(dataFile) }
      })
      manifests.push(await producer.writeManifest(0, 'data', entries))
    }
    const total = String(count * filesPerManifest)
    const summary = { 'added-data-files': total, 'total-data-files': total }
    return { operation: 'append', manifests, summary, removedDeleteFiles: 0 }
  })
}

function withoutMetrics(file: ReturnType<typeof metadataOnlyFile>): ReturnType<typeof metadataOnlyFile> {
  const { content, filePath, fileFormat, specId, partition, recordCount, fileSizeInBytes } = file
  return { content, filePath, fileFormat, specId, partition, recordCount, fileSizeInBytes }
}
