import { mapBounded } from '../lib/bounded-map.ts'
import { FilePlaces, pathOfPlace } from '../iceberg/io/place.ts'
import { loadEntries, loadManifests } from '../iceberg/manifest/cache.ts'
import type { ManifestFile } from '../iceberg/manifest/manifest.ts'
import { isLive } from '../iceberg/scan/scan.ts'
import type { Table } from '../iceberg/metadata/table.ts'

/** Manifests that are read at the same time. */
const CONCURRENT_READS = 4

type Reach = (location: string) => Promise<void>

/**
 * Which of some files nothing in a table reaches: no snapshot of any branch or tag (live files, manifests, manifest
 * lists), no statistics, no metadata file of the log. Locations are compared by place (see `placeOf`), and by path alone,
 * so that another spelling of scheme or host, or a path through a link, never makes a live file look unreachable. Any
 * unreadable file is an error: then nothing is known.
 */
export async function findUnreachable(table: Table, locations: Iterable<string>): Promise<readonly string[]> {
  const places = new FilePlaces(table.io)
  const keyOf = async (location: string): Promise<string> => pathOfPlace(await places.of(location))
  const candidates = new Map<string, string[]>()
  for (const location of locations) {
    const key = await keyOf(location)
    const same = candidates.get(key)
    if (same === undefined) candidates.set(key, [location])
    else same.push(location)
  }
  const reach: Reach = async (location) => void candidates.delete(await keyOf(location))
  await reachFromMetadata(table, reach)
  for (const manifest of await reachManifests(table, candidates, reach)) await reach(manifest.manifestPath)
  return [...candidates.values()].flat()
}

async function reachFromMetadata({ metadata, metadataLocation }: Table, reach: Reach): Promise<void> {
  await reach(metadataLocation)
  for (const { metadataFile } of metadata.metadataLog) await reach(metadataFile)
  for (const { statisticsPath } of [...metadata.statistics, ...metadata.partitionStatistics])
    await reach(statisticsPath)
  for (const { manifestList } of metadata.snapshots) if (manifestList !== undefined) await reach(manifestList)
}

/** Visits the files of all manifests, each manifest once; stops reading when no candidate is left. */
async function reachManifests(
  table: Table,
  candidates: ReadonlyMap<string, unknown>,
  reach: Reach,
): Promise<readonly ManifestFile[]> {
  const manifests = new Map<string, ManifestFile>()
  for (const snapshot of table.metadata.snapshots) {
    if (candidates.size === 0) return []
    for (const manifest of await loadManifests(table, snapshot)) manifests.set(manifest.manifestPath, manifest)
  }
  await mapBounded([...manifests.values()], CONCURRENT_READS, async (manifest) => {
    if (candidates.size === 0) return
    for (const entry of await loadEntries(table, manifest, { project: 'no-metrics' })) {
      if (isLive(entry)) await reach(entry.dataFile.filePath)
    }
  })
  return [...manifests.values()]
}
