import { mapBounded } from '../../lib/bounded-map.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { jsonEquals, requireString, toLong } from '../../iceberg/json/json-fields.ts'
import type { JsonObject } from '../../iceberg/json/lossless-json.ts'
import { loadEntries, loadManifests, readManifests } from '../../iceberg/manifest/cache.ts'
import type { ManifestFile } from '../../iceberg/manifest/manifest.ts'
import { parseSnapshot, parseSnapshotRef, type Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { parsePartitionSpec } from '../../iceberg/partitioning/partitioning.ts'
import { isLive } from '../../iceberg/scan/scan.ts'
import type { TableRequirement, TableUpdate } from '../../iceberg/update/table-update.ts'
import type { ExpiredHistory } from './removed-history.ts'

/** A snapshot that cannot come back, and why. */
export interface LeftOutSnapshot {
  readonly snapshot_id: string
  readonly reason: string
}

/** What of an expired history a table can have again. */
export interface ChosenHistory {
  readonly updates: readonly TableUpdate[]
  readonly requirements: readonly TableRequirement[]
  /** Ids, as text. */
  readonly snapshots: readonly string[]
  readonly leftOut: readonly LeftOutSnapshot[]
  readonly refs: readonly string[]
  readonly leftOutRefs: readonly string[]
}

const CONCURRENT_LOOKS = 8
const CONCURRENT_SNAPSHOTS = 4

/**
 * Chooses the snapshots whose files all exist, and the branches and tags whose name is free. `back` are files that exist or
 * will. Schemas and specs whose ids mean something else now leave out all snapshots that may need them.
 */
export async function chooseHistory(
  table: Table,
  history: ExpiredHistory | undefined,
  back: ReadonlySet<string>,
): Promise<ChosenHistory> {
  if (history === undefined) {
    return { updates: [], requirements: [], snapshots: [], leftOut: [], refs: [], leftOutRefs: [] }
  }
  const leftOut: LeftOutSnapshot[] = []
  const chosen: JsonObject[] = []
  const files = new KnownFiles(withSpecs(table, history), back)
  const present = new Set(table.metadata.snapshots.map(({ snapshotId }) => snapshotId))
  const missing = history.snapshots.filter((json) => !present.has(parseSnapshot(json).snapshotId))
  const reasons = await mapBounded(missing, CONCURRENT_SNAPSHOTS, async (json) => {
    const snapshot = parseSnapshot(json)
    return contradiction(table, history, snapshot) ?? (await files.missingOf(snapshot))
  })
  for (const [at, json] of missing.entries()) {
    const reason = reasons[at]
    if (reason === undefined) chosen.push(json)
    else leftOut.push({ snapshot_id: parseSnapshot(json).snapshotId.toString(), reason })
  }
  const statistics = await files.existing(history.statistics)
  const partitionStatistics = await files.existing(history['partition-statistics'])
  const known = { ...history, statistics, 'partition-statistics': partitionStatistics }
  const ids = new Set(chosen.map((json) => parseSnapshot(json).snapshotId))
  const { refs, leftOutRefs, updates } = chooseRefs(table, history, new Set([...present, ...ids]))
  const restores: readonly TableUpdate[] = chosen.length === 0 ? [] : [restoreOf(known, chosen, ids)]
  return {
    updates: [...restores, ...updates],
    requirements: requirementsFor(table, refs),
    snapshots: [...ids].map(String),
    leftOut,
    refs,
    leftOutRefs,
  }
}

function restoreOf(history: ExpiredHistory, snapshots: readonly JsonObject[], ids: ReadonlySet<bigint>): TableUpdate {
  const { refs: _, ...entries } = history
  const isChosen = (entry: JsonObject): boolean => ids.has(toLong(entry['snapshot-id']) ?? -1n)
  return {
    ...entries,
    action: 'restore-snapshots',
    snapshots,
    statistics: history.statistics.filter(isChosen),
    'partition-statistics': history['partition-statistics'].filter(isChosen),
  }
}

function requirementsFor({ metadata }: Table, refs: readonly string[]): readonly TableRequirement[] {
  return [
    ...(metadata.tableUuid === '' ? [] : [{ type: 'assert-table-uuid' as const, uuid: metadata.tableUuid }]),
    ...refs.map((ref) => ({ type: 'assert-ref-snapshot-id' as const, ref, 'snapshot-id': null })),
  ]
}

/** Manifests of removed specs can only be read with these specs. */
function withSpecs(table: Table, history: ExpiredHistory): Table {
  const { metadata } = table
  const known = new Set(metadata.partitionSpecs.map(({ specId }) => specId))
  const removed = history['partition-specs']
    .map((json) => parsePartitionSpec(json))
    .filter(({ specId }) => !known.has(specId))
  return { ...table, metadata: { ...metadata, partitionSpecs: [...metadata.partitionSpecs, ...removed] } }
}

/** Why the metadata that the table has now does not permit a snapshot. */
function contradiction({ metadata }: Table, history: ExpiredHistory, snapshot: Snapshot): string | undefined {
  if (snapshot.sequenceNumber > metadata.lastSequenceNumber) return 'it is newer than the table'
  for (const [key, id] of [
    ['schemas', 'schema-id'],
    ['partition-specs', 'spec-id'],
  ] as const) {
    const now = Array.isArray(metadata.json[key]) ? (metadata.json[key] as readonly JsonObject[]) : []
    const reused = history[key].find((entry) =>
      now.some((other) => other[id] === entry[id] && !jsonEquals(other, entry)),
    )
    if (reused !== undefined) return `${id} ${toLong(reused[id])}, which it may need, means something else now`
  }
  return undefined
}

function chooseRefs({ metadata }: Table, history: ExpiredHistory, snapshots: ReadonlySet<bigint>) {
  const refs: string[] = []
  const leftOutRefs: string[] = []
  const updates: TableUpdate[] = []
  for (const [name, json] of Object.entries(history.refs)) {
    const ref = parseSnapshotRef(json, `reference "${name}"`)
    if (Object.hasOwn(metadata.refs, name) || !snapshots.has(ref.snapshotId)) leftOutRefs.push(name)
    else {
      refs.push(name)
      updates.push({ ...(json as JsonObject), action: 'set-snapshot-ref', 'ref-name': name })
    }
  }
  return { refs, leftOutRefs, updates }
}

/** Knows which files exist; those that the table's own snapshots need are not looked up. */
class KnownFiles {
  readonly #table: Table
  readonly #exists = new Map<string, Promise<boolean>>()
  /** Missing files by manifest: snapshots share most of their manifests. */
  readonly #missing = new Map<string, Promise<number>>()
  #needed: Promise<ReadonlySet<string>> | undefined

  constructor(table: Table, back: ReadonlySet<string>) {
    this.#table = table
    for (const location of back) this.#exists.set(location, Promise.resolve(true))
  }

  /** What a snapshot lacks, for people; undefined when all its files exist. */
  async missingOf(snapshot: Snapshot): Promise<string | undefined> {
    try {
      const { manifestList } = snapshot
      if (manifestList !== undefined && !(await this.#has(manifestList))) return 'its manifest list no longer exists'
      for (const manifest of await readManifests(this.#table, snapshot)) {
        const known = this.#missing.get(manifest.manifestPath) ?? this.#missingIn(manifest)
        this.#missing.set(manifest.manifestPath, known)
        const missing = await known
        if (missing > 0) return `${missing} of its files no longer exist`
      }
      return undefined
    } catch (error) {
      if (!isIcebergError(error, 'FILE_NOT_FOUND') && !isIcebergError(error, 'CORRUPT_FILE')) throw error
      return 'one of its manifests is missing or damaged'
    }
  }

  /** Those of the statistics whose files exist. */
  async existing(statistics: readonly JsonObject[]): Promise<readonly JsonObject[]> {
    const exist = await mapBounded(statistics, CONCURRENT_LOOKS, async (entry) =>
      this.#has(requireString(entry, 'statistics-path', 'statistics')),
    )
    return statistics.filter((_, at) => exist[at])
  }

  async #missingIn(manifest: ManifestFile): Promise<number> {
    const entries = await loadEntries(this.#table, manifest, { project: 'no-metrics' })
    const exist = await mapBounded(
      entries.filter(isLive),
      CONCURRENT_LOOKS,
      async ({ dataFile }) => await this.#has(dataFile.filePath),
    )
    return exist.filter((isThere) => !isThere).length
  }

  async #has(location: string): Promise<boolean> {
    const known = this.#exists.get(location)
    if (known !== undefined) return known
    this.#needed ??= neededFiles(this.#table)
    if ((await this.#needed).has(location)) return true
    const looked = this.#table.io.stat(location).then((status) => status !== undefined)
    this.#exists.set(location, looked)
    return looked
  }
}

/** Files that the table's snapshots need: they exist, or the table has another problem. */
async function neededFiles(table: Table): Promise<ReadonlySet<string>> {
  const needed = new Set<string>()
  for (const snapshot of table.metadata.snapshots) {
    for (const manifest of await loadManifests(table, snapshot)) {
      if (needed.has(manifest.manifestPath)) continue
      needed.add(manifest.manifestPath)
      for (const entry of await loadEntries(table, manifest, { project: 'no-metrics' })) {
        if (isLive(entry)) needed.add(entry.dataFile.filePath)
      }
    }
  }
  return needed
}
