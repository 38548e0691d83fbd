import { LRUCache } from 'lru-cache'

import { IcebergError } from '../../../iceberg/errors.ts'
import { loadManifests } from '../../../iceberg/manifest/cache.ts'
import type { ManifestFile } from '../../../iceberg/manifest/manifest.ts'
import { type ManifestTotals, readManifestTotals, type TotalsPartitioning } from '../../../iceberg/manifest/totals.ts'
import { currentSnapshot } from '../../../iceberg/metadata/metadata.ts'
import type { Table } from '../../../iceberg/metadata/table.ts'
import { partitionType } from '../../../iceberg/partitioning/partitioning.ts'
import { mapBounded } from '../../../lib/bounded-map.ts'
import { giveTurn } from '../../../lib/turns.ts'
import type { CountedManifest } from '../../table-files.ts'
import { DecodePool, DecodeThreadError } from './decode-pool.ts'

/**
 * Reads the totals of a table's manifests. Those of the last snapshot that was asked for are kept (tables that were used least recently
 * are evicted first): reading an unchanged table again is free, and a changed table costs its new manifests.
 */
export interface TotalsSource {
  /** The manifests of the current snapshot with their totals, in order. Errors: those of manifests and FileIO. */
  read(table: Table): Promise<readonly CountedManifest[]>
  /** Ends the threads; nothing may be read any more. */
  close(): Promise<void>
}

export interface TotalsSourceOptions {
  /** Decodes large manifests; null: without threads. Default: a pool with as many threads as processors. */
  readonly pool?: DecodePool | null
  /** Memory for totals. */
  readonly maxBytes?: number
}

/** The totals of one table, by {@link manifestKey}. */
type KnownTotals = ReadonlyMap<string, ManifestTotals>

const CACHED_BYTES = 96 * 1024 * 1024
const CONCURRENT_READS = 8
/** Manifests of fewer bytes together are decoded here: some 20 ms of work, with turns of other work between them. */
const MIN_THREADED_BYTES = 1024 * 1024

/** Names a manifest, which never changes. */
export function manifestKey({ manifestPath, manifestLength }: ManifestFile): string {
  return `${manifestPath} ${manifestLength}`
}

/** A source with its own memory and threads. */
export function createTotalsSource({ pool, maxBytes = CACHED_BYTES }: TotalsSourceOptions = {}): TotalsSource {
  const threads = pool === undefined ? new DecodePool() : pool
  const tables = new LRUCache<string, KnownTotals>({ maxSize: maxBytes, sizeCalculation: weigh })
  const running = new Map<string, Promise<readonly CountedManifest[]>>()

  async function load(table: Table, key: string): Promise<readonly CountedManifest[]> {
    const snapshot = currentSnapshot(table.metadata)
    const manifests = snapshot === undefined ? [] : await loadManifests(table, snapshot)
    const counted = await countManifests(table, manifests, { known: tables.get(key), threads })
    tables.set(key, new Map(counted.map(({ manifest, totals }) => [manifestKey(manifest), totals])))
    return counted
  }

  return {
    async read(table) {
      const { tableUuid, location, currentSnapshotId } = table.metadata
      const key = `${tableUuid} ${location}` // a copied table has the same UUID
      const state = `${key} ${currentSnapshotId} ${table.metadataLocation}`
      const known = running.get(state)
      if (known !== undefined) return known
      const loading = load(table, key).finally(() => running.delete(state))
      running.set(state, loading)
      return loading
    },
    async close() {
      await threads?.close()
    },
  }
}

interface Counting {
  readonly known: KnownTotals | undefined
  readonly threads: DecodePool | null
}

async function countManifests(
  table: Table,
  manifests: readonly ManifestFile[],
  { known, threads }: Counting,
): Promise<readonly CountedManifest[]> {
  const unknown = manifests.filter((manifest) => known?.has(manifestKey(manifest)) !== true)
  const bytes = unknown.reduce((sum, { manifestLength }) => sum + manifestLength, 0)
  const partitionings = partitioningsOf(table)
  const pool = bytes < MIN_THREADED_BYTES ? null : threads
  return mapBounded(manifests, CONCURRENT_READS, async (manifest) => {
    const totals =
      known?.get(manifestKey(manifest)) ??
      (await readTotals(table, manifest, { pool, partitioning: partitionings(manifest.partitionSpecId) }))
    return { manifest, totals }
  })
}

interface Decoding {
  readonly pool: DecodePool | null
  /** Undefined when the table has the spec of the manifest no more. */
  readonly partitioning: TotalsPartitioning | undefined
}

async function readTotals(
  table: Table,
  manifest: ManifestFile,
  { pool, partitioning }: Decoding,
): Promise<ManifestTotals> {
  if (manifest.keyMetadata !== undefined) {
    throw new IcebergError('UNSUPPORTED', `The manifest ${manifest.manifestPath} is encrypted`)
  }
  const bytes = await table.io.read(manifest.manifestPath)
  if (pool?.isUsable === true && partitioning !== undefined) {
    try {
      const { partitions: _, ...needed } = manifest
      return await pool.decode({ bytes: bytes as Uint8Array<ArrayBuffer>, manifest: needed, partitioning })
    } catch (error) {
      if (!(error instanceof DecodeThreadError)) throw error
    }
  }
  await giveTurn()
  return readManifestTotals(bytes, { manifest, metadata: table.metadata })
}

/** Specs and types of partition values, resolved once per spec. */
function partitioningsOf({ metadata }: Table): (specId: number) => TotalsPartitioning | undefined {
  const known = new Map<number, TotalsPartitioning | undefined>()
  return (specId) => {
    if (!known.has(specId)) {
      const spec = metadata.partitionSpecs.find((candidate) => candidate.specId === specId)
      known.set(specId, spec && { spec, types: partitionType(spec, metadata.schemas) })
    }
    return known.get(specId)
  }
}

/** Approximate memory size, bytes. */
function weigh(known: KnownTotals): number {
  return known.values().reduce((bytes, one) => bytes + weighTotals(one), 1000)
}

function weighTotals({ sizes, partitionKeys }: ManifestTotals): number {
  const bytesPerFile = 8 + 8 + 8 + 4
  return 1500 + sizes.length * bytesPerFile + partitionKeys.size * 300
}
