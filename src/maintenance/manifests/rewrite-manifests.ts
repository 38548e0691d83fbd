import { IcebergError } from '../../iceberg/errors.ts'
import { PartitionScopes } from '../../iceberg/scan/file-scope.ts'
import { loadEntries, loadManifests } from '../../iceberg/manifest/cache.ts'
import type { ManifestEntryInput } from '../../iceberg/manifest/writer.ts'
import type { ManifestEntry, ManifestFile } from '../../iceberg/manifest/manifest.ts'
import { currentSnapshot, propertyCount } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { isLive } from '../../iceberg/scan/scan.ts'
import { SnapshotSummaryBuilder } from '../../iceberg/update/stage/snapshot-summary.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { produceSnapshot } from '../../iceberg/update/stage/snapshot-producer.ts'
import type { SnapshotProducer } from '../../iceberg/update/stage/snapshot-producer.ts'
import { commitChange, loadTarget, type OperationRun, type OperationTarget } from '../operation-commit.ts'
import { requireUnchanged } from '../operation-hooks.ts'

export interface RewriteManifestsInput extends OperationTarget {
  /** No options so far. */
  readonly request: Readonly<Record<string, unknown>>
}

export interface RunRewriteManifestsInput extends RewriteManifestsInput, OperationRun {
  /** Unique prefix of the names of all files written, also recorded in the snapshot. */
  readonly operationId: string
}

/** Outcome of a manifest rewrite, or of its dry run, in the column names of Iceberg's `rewrite_manifests`. */
export interface RewriteManifestsDetails {
  readonly rewritten_manifests_count: number
  readonly added_manifests_count: number
  readonly base_snapshot_id: string | null
  readonly snapshot_id: string | null
}

/** Manifests of one spec and content that are merged. */
export interface ManifestGroup {
  readonly specId: number
  readonly content: ManifestFile['content']
  readonly manifests: readonly ManifestFile[]
  readonly expectedManifests: number
}

const DEFAULT_TARGET_BYTES = 8_388_608
/** A manifest of at least this share of the target is left alone. */
const FULL_RATIO = 0.75

/** What a manifest rewrite would merge; changes nothing. */
export async function previewRewriteManifests(input: RewriteManifestsInput): Promise<RewriteManifestsDetails> {
  refuseOptions(input.request)
  const table = await loadTarget(input)
  const groups = planManifestRewrite(table.metadata, await currentManifests(table))
  return {
    ...noChange(table.metadata),
    rewritten_manifests_count: groups.reduce((total, { manifests }) => total + manifests.length, 0),
    added_manifests_count: groups.reduce((total, { expectedManifests }) => total + expectedManifests, 0),
  }
}

/**
 * Merges small manifests into ones of the target size (`commit.manifest.target-size-bytes`), files of a partition
 * next to each other, with a `replace` commit that changes no data file. Nothing is committed when no manifest would be saved.
 * Errors: those of catalog, manifests and FileIO; `PLAN_STALE`, `CANCELLED`.
 */
export async function runRewriteManifests(input: RunRewriteManifestsInput): Promise<RewriteManifestsDetails> {
  refuseOptions(input.request)
  const { operationId, hooks } = input
  const current = await loadTarget(input)
  if (planManifestRewrite(current.metadata, await currentManifests(current)).length === 0) {
    return noChange(current.metadata)
  }
  await hooks?.onCleanup?.({ prefixes: [operationId] })
  const { staged } = await commitChange({ ...input, loaded: current }, async (fresh) => {
    requireUnchanged(fresh, input.expectedMetadataLocation)
    return stageManifestRewrite(fresh, operationId)
  })
  return staged.details
}

/** Which manifests to merge: per spec and content, those under 75 % of the target, when that saves some. Pure. */
export function planManifestRewrite(metadata: TableMetadata, manifests: readonly ManifestFile[]): ManifestGroup[] {
  const target = propertyCount(metadata, 'commit.manifest.target-size-bytes', DEFAULT_TARGET_BYTES)
  const groups = new Map<string, ManifestFile[]>()
  for (const manifest of manifests) {
    if (manifest.manifestLength >= target * FULL_RATIO) continue
    const key = `${manifest.partitionSpecId}/${manifest.content}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [manifest])
    else group.push(manifest)
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    const bytes = group.reduce((total, { manifestLength }) => total + manifestLength, 0)
    const expectedManifests = Math.max(1, Math.ceil(bytes / target))
    if (first === undefined || expectedManifests >= group.length) return []
    return [{ specId: first.partitionSpecId, content: first.content, manifests: group, expectedManifests }]
  })
}

/** Bytes of the manifests that a rewrite of a table as loaded would merge. */
export async function measureManifestRewrite(table: Table): Promise<number> {
  const groups = planManifestRewrite(table.metadata, await currentManifests(table))
  return groups.flatMap(({ manifests }) => manifests).reduce((total, { manifestLength }) => total + manifestLength, 0)
}

async function stageManifestRewrite(table: Table, operationId: string) {
  let details: RewriteManifestsDetails = noChange(table.metadata)
  const change = await produceSnapshot(table, { operationId }, async (producer) => {
    const manifests = await producer.parentManifests()
    const groups = planManifestRewrite(table.metadata, manifests)
    const replaced = new Set(groups.flatMap((group) => group.manifests))
    const kept = manifests.filter((manifest) => !replaced.has(manifest))
    const added: ManifestFile[] = []
    let processed = 0
    for (const group of groups) {
      const entries = await readGroup(table, group)
      processed += entries.length
      added.push(...(await writeGroup(producer, group, entries)))
    }
    details = {
      rewritten_manifests_count: replaced.size,
      added_manifests_count: added.length,
      base_snapshot_id: table.metadata.currentSnapshotId?.toString() ?? null,
      snapshot_id: producer.snapshotId.toString(),
    }
    return {
      operation: 'replace',
      manifests: [...added, ...kept],
      summary: new SnapshotSummaryBuilder().build(producer.parent?.summary, {
        'manifests-created': String(added.length),
        'manifests-kept': String(kept.length),
        'manifests-replaced': String(replaced.size),
        'entries-processed': String(processed),
      }),
      removedDeleteFiles: 0,
    }
  })
  return { ...change, details }
}

/** The live entries of a group's manifests, grouped by partition, otherwise in order. */
async function readGroup(table: Table, group: ManifestGroup): Promise<readonly ManifestEntry[]> {
  const scopes = new PartitionScopes(table.metadata)
  const byPartition = new Map<string, ManifestEntry[]>()
  for (const manifest of group.manifests) {
    for (const entry of await loadEntries(table, manifest, { project: 'all' })) {
      if (!isLive(entry)) continue
      const key = scopes.keyOf(entry.dataFile)
      const partition = byPartition.get(key)
      if (partition === undefined) byPartition.set(key, [entry])
      else partition.push(entry)
    }
  }
  return [...byPartition.values()].flat()
}

async function writeGroup(
  producer: SnapshotProducer,
  group: ManifestGroup,
  entries: readonly ManifestEntry[],
): Promise<readonly ManifestFile[]> {
  const existing = entries.map(({ snapshotId, sequenceNumber, fileSequenceNumber, dataFile }): ManifestEntryInput => ({
    status: 'existing',
    snapshotId,
    sequenceNumber,
    fileSequenceNumber,
    dataFile,
  }))
  return producer.writeManifests(group.specId, group.content, existing)
}

async function currentManifests(table: Table): Promise<readonly ManifestFile[]> {
  const snapshot = currentSnapshot(table.metadata)
  return snapshot === undefined ? [] : loadManifests(table, snapshot)
}

function noChange(metadata: TableMetadata): RewriteManifestsDetails {
  return {
    rewritten_manifests_count: 0,
    added_manifests_count: 0,
    base_snapshot_id: metadata.currentSnapshotId?.toString() ?? null,
    snapshot_id: metadata.currentSnapshotId?.toString() ?? null,
  }
}

function refuseOptions(request: Readonly<Record<string, unknown>>): void {
  const [field] = Object.keys(request)
  if (field !== undefined) throw new IcebergError('INVALID_ARGUMENT', `${field} is not an option of a manifest rewrite`)
}
