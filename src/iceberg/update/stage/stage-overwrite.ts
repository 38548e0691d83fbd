import { IcebergError } from '../../errors.ts'
import type { DataFile, ManifestFile } from '../../manifest/manifest.ts'
import { PartitionScopes } from '../../scan/file-scope.ts'
import type { Table } from '../../metadata/table.ts'
import { searchLiveData } from './live-data.ts'
import { removeFromManifest } from './manifest-filter.ts'
import { produceSnapshot } from './snapshot-producer.ts'
import type { StagedSnapshot, StageOptions } from './snapshot-producer.ts'
import { SnapshotSummaryBuilder } from './snapshot-summary.ts'
import { checkNewFiles, parentSummary, writeAddedFiles } from './stage-append.ts'

export interface OverwriteOptions extends StageOptions {
  /** Data files that are removed with all their rows; no delete must apply to them. */
  readonly removed: readonly DataFile[]
  /** New data files, which have been written; may be empty. */
  readonly added: readonly DataFile[]
}

/**
 * Stages an `overwrite` snapshot (Iceberg spec, "Snapshots", `operation`): removes data files and adds others, which may have other
 * rows. `COMMIT_CONFLICT` when a removed file is not live; `INVALID_ARGUMENT` as `stageAppend`.
 */
export async function stageOverwrite(table: Table, options: OverwriteOptions): Promise<StagedSnapshot> {
  const { removed, added } = options
  checkNewFiles(table, added, ['data'])
  const wanted = new Set(removed.map(({ filePath }) => filePath))
  return produceSnapshot(table, options, async (producer) => {
    const parent = await producer.parentManifests()
    const forbidden = new Set(added.map(({ filePath }) => filePath))
    const live = await searchLiveData(table, parent, { wanted, forbidden, referenced: new Set(), scopes: undefined })
    if (live.found.length < wanted.size) {
      throw new IcebergError('COMMIT_CONFLICT', 'a file that is to be removed is no longer in the table')
    }
    const summary = new SnapshotSummaryBuilder()
    const scopes = new PartitionScopes(table.metadata)
    const manifests: ManifestFile[] = [...(await writeAddedFiles(producer, { content: 'data', files: added }))]
    for (const file of added) summary.add(file, scopes.keyOf(file))
    for (const manifest of parent) {
      if (!live.affected.has(manifest)) {
        manifests.push(manifest)
        continue
      }
      const filtered = await removeFromManifest(producer, manifest, ({ filePath }) => wanted.has(filePath))
      manifests.push(filtered.manifest)
      for (const file of filtered.removed) summary.remove(file, scopes.keyOf(file))
    }
    return {
      operation: 'overwrite',
      manifests,
      summary: summary.build(parentSummary(producer), {}),
      removedDeleteFiles: 0,
    }
  })
}
