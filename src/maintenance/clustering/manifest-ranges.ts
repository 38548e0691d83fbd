import type { ManifestFile } from '../../iceberg/manifest/manifest.ts'
import { manifestEntries } from '../../iceberg/manifest/reader.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { isLive } from '../../iceberg/scan/scan.ts'
import { giveTurn } from '../../lib/turns.ts'
import { fileRange } from '../where/metrics-filter.ts'
import type { Layout } from './layout.ts'
import type { FileRange } from './overlap.ts'

/** For each column of a layout, the bounds of the live data files of a manifest, in file order. */
export type ManifestRanges = readonly (readonly FileRange[])[]

/** Entries between two turns of other work: a few milliseconds. */
const ENTRIES_PER_TURN = 1000

/** Reads the bounds of a data manifest. Errors as of the manifest. */
export async function readManifestRanges(
  bytes: Uint8Array,
  { columns }: Layout,
  context: { readonly manifest: ManifestFile; readonly metadata: TableMetadata },
): Promise<ManifestRanges> {
  const ranges = columns.map((): FileRange[] => [])
  let read = 0
  for (const entry of manifestEntries(bytes, context)) {
    read += 1
    if (read % ENTRIES_PER_TURN === 0) await giveTurn()
    if (!isLive(entry) || entry.dataFile.content !== 'data') continue
    for (const [at, { id, type }] of columns.entries()) ranges[at]?.push(fileRange(entry.dataFile, id, type))
  }
  return ranges
}
