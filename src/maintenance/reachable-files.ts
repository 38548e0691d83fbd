import { mapBounded } from '../iceberg/bounded-map.ts'
import { locationKey } from '../iceberg/location-identity.ts'
import { loadEntries, loadManifests } from '../iceberg/manifest-cache.ts'
import type { ManifestFile } from '../iceberg/manifest.ts'
import { isLive } from '../iceberg/scan.ts'
import type { Table } from '../iceberg/table.ts'

/** Manifests that are read at the same time. */
const CONCURRENT_READS = 4

/**
 * Which of some files nothing in a table reaches: no snapshot of any branch or tag (live files, manifests, manifest
 * lists), no statistics, no metadata file of the log. Locations are compared by path alone, so that another spelling of
 * scheme or host never makes a live file look lost. Any file that cannot be read is an error: then nothing is known.
 */
export async function findUnreachable(table: Table, locations: Iterable<string>): Promise<readonly string[]> {
  const candidates = new Map<string, string[]>()
  for (const location of locations) {
    const key = locationKey(location)
    const same = candidates.get(key)
    if (same === undefined) candidates.set(key, [location])
    else same.push(location)
  }
  const reach = (location: string): void => {
    candidates.delete(locationKey(location))
  }
  reachFromMetadata(table, reach)
  for (const manifest of await reachManifests(table, candidates, reach)) reach(manifest.manifestPath)
  return [...candidates.values()].flat()
}

function reachFromMetadata({ metadata, metadataLocation }: Table, reach: (location: string) => void): void {
  reach(metadataLocation)
  for (const { metadataFile } of metadata.metadataLog) reach(metadataFile)
  for (const { statisticsPath } of [...metadata.statistics, ...metadata.partitionStatistics]) reach(statisticsPath)
  for (const { manifestList } of metadata.snapshots) if (manifestList !== undefined) reach(manifestList)
}

/** Visits the files of all manifests, each manifest once; stops reading when no candidate is left. */
async function reachManifests(
  table: Table,
  candidates: ReadonlyMap<string, unknown>,
  reach: (location: string) => void,
): Promise<readonly ManifestFile[]> {
  const manifests = new Map<string, ManifestFile>()
  for (const snapshot of table.metadata.snapshots) {
    if (candidates.size === 0) return []
    for (const manifest of await loadManifests(table, snapshot)) manifests.set(manifest.manifestPath, manifest)
  }
  await mapBounded([...manifests.values()], CONCURRENT_READS, async (manifest) => {
    if (candidates.size === 0) return
    for (const entry of await loadEntries(table, manifest, { project: 'no-metrics' })) {
      if (isLive(entry)) reach(entry.dataFile.filePath)
    }
  })
  return [...manifests.values()]
}
