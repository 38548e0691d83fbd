import type { Catalog } from '../../catalog/catalog.ts'
import { commitTable } from '../../catalog/commit-table.ts'
import { asObject, jsonInteger, optionalArray, optionalLong } from '../../iceberg/json/json-fields.ts'
import { parseJson, stringifyJson } from '../../iceberg/json/lossless-json.ts'
import { snapshotById } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { FOREVER_MS, mainBranch, snapshotRefToJson } from '../../iceberg/metadata/snapshots.ts'
import type { SnapshotRef } from '../../iceberg/metadata/snapshots.ts'
import type { TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { TableRequirement, TableUpdate } from '../../iceberg/update/table-update.ts'

/** Table property of a source: the pipelines that it is pinned for, and the retention that `main` had before. */
const PINS_PROPERTY = 'lockhouse.pins'
const TAG_PREFIX = 'lockhouse-pipeline-'

/** The value of {@link PINS_PROPERTY}. */
interface Pins {
  readonly pipelines: readonly string[]
  readonly mainMaxSnapshotAgeMs: bigint | undefined
}

/** The tag that keeps the snapshot up to which a pipeline has read. */
export function pinTag(pipelineId: string): string {
  return `${TAG_PREFIX}${pipelineId}`
}

/** Whether a reference of a table is the tag of a pipeline. */
export function isPinTag(name: string): boolean {
  return name.startsWith(TAG_PREFIX)
}

/** The snapshot that the tag of a pipeline points to; undefined when there is none. */
export function pinnedSnapshot({ refs }: TableMetadata, pipelineId: string): bigint | undefined {
  return refs[pinTag(pipelineId)]?.snapshotId
}

/** Every pipeline that the table is pinned for, also those of other services, with the snapshot up to which it has read. */
export function pinnedPipelines({
  refs,
}: TableMetadata): readonly { readonly pipelineId: string; readonly snapshotId: bigint }[] {
  return Object.entries(refs)
    .filter(([name]) => isPinTag(name))
    .map(([name, { snapshotId }]) => ({ pipelineId: name.slice(TAG_PREFIX.length), snapshotId }))
}

/** Whether the history after the tag is kept, too: a writer that does not know retention may have reset it. */
export function isHeld({ refs }: TableMetadata, pipelineId: string): boolean {
  return refs[pinTag(pipelineId)] !== undefined && refs[mainBranch]?.maxSnapshotAgeMs === FOREVER_MS
}

/**
 * Prevents every engine from expiring snapshots that a pipeline has not read yet. A tag keeps one snapshot only, and an
 * incremental reader needs all later ones: so this sets the tag and an unlimited retention on `main`, which overrides
 * the arguments of any expiry (Iceberg spec, "Snapshot Retention Policy"). A table property stores the old retention.
 */
export async function pinHistory(
  catalog: Catalog,
  identifier: TableIdentifier,
  pin: { readonly pipelineId: string; readonly snapshotId: bigint },
): Promise<void> {
  await commitUpdates(catalog, identifier, (metadata) => pinUpdates(metadata, pin))
}

/** Removes a pipeline's pin; with the last pin, `main` gets its old retention back. */
export async function unpinHistory(catalog: Catalog, identifier: TableIdentifier, pipelineId: string): Promise<void> {
  await commitUpdates(catalog, identifier, (metadata) => unpinUpdates(metadata, pipelineId))
}

/** The metadata as it would be without the pins of the known pipelines. */
export function withoutPins(metadata: TableMetadata, known: ReadonlySet<string>): TableMetadata {
  const { refs } = withoutPinRetention(metadata, known)
  const isPin = (name: string): boolean => isPinTag(name) && known.has(name.slice(TAG_PREFIX.length))
  return { ...metadata, refs: Object.fromEntries(Object.entries(refs).filter(([name]) => !isPin(name))) }
}

/**
 * The metadata with the old retention of `main`, for an expiry that itself knows what pipelines need. A pipeline that
 * is not known here belongs to another service, so its pin stays in force.
 */
export function withoutPinRetention(metadata: TableMetadata, known: ReadonlySet<string>): TableMetadata {
  const main = metadata.refs[mainBranch]
  const pins = readPins(metadata)
  if (main === undefined || !pins?.pipelines.every((id) => known.has(id)) || main.maxSnapshotAgeMs !== FOREVER_MS)
    return metadata
  return { ...metadata, refs: { ...metadata.refs, [mainBranch]: withAge(main, pins.mainMaxSnapshotAgeMs) } }
}

async function commitUpdates(
  catalog: Catalog,
  identifier: TableIdentifier,
  updatesFor: (metadata: TableMetadata) => readonly TableUpdate[],
): Promise<void> {
  await commitTable(catalog, identifier, async ({ metadata }) => ({
    updates: updatesFor(metadata),
    requirements: requirementsFor(metadata),
    writtenFiles: [],
  }))
}

function requirementsFor(metadata: TableMetadata): TableRequirement[] {
  const head = metadata.refs[mainBranch]?.snapshotId ?? null
  return [{ type: 'assert-ref-snapshot-id', ref: mainBranch, 'snapshot-id': head }]
}

function pinUpdates(
  metadata: TableMetadata,
  { pipelineId, snapshotId }: { readonly pipelineId: string; readonly snapshotId: bigint },
): TableUpdate[] {
  const main = metadata.refs[mainBranch]
  if (main === undefined || snapshotById(metadata, snapshotId) === undefined) return []
  const before = readPins(metadata)
  const isForever = main.maxSnapshotAgeMs === FOREVER_MS
  const pins: Pins = {
    pipelines: [...new Set([...(before?.pipelines ?? []), pipelineId])],
    mainMaxSnapshotAgeMs: before !== undefined && isForever ? before.mainMaxSnapshotAgeMs : main.maxSnapshotAgeMs,
  }
  return [
    setRef(pinTag(pipelineId), { type: 'tag', snapshotId, maxRefAgeMs: FOREVER_MS }),
    setRef(mainBranch, { ...main, maxSnapshotAgeMs: FOREVER_MS }),
    { action: 'set-properties', updates: { [PINS_PROPERTY]: formatPins(pins) } },
  ]
}

function unpinUpdates(metadata: TableMetadata, pipelineId: string): TableUpdate[] {
  const pins = readPins(metadata)
  const updates: TableUpdate[] = []
  if (metadata.refs[pinTag(pipelineId)] !== undefined) {
    updates.push({ action: 'remove-snapshot-ref', 'ref-name': pinTag(pipelineId) })
  }
  if (!pins?.pipelines.includes(pipelineId)) return updates
  const pipelines = pins.pipelines.filter((id) => id !== pipelineId)
  if (pipelines.length > 0) {
    updates.push({ action: 'set-properties', updates: { [PINS_PROPERTY]: formatPins({ ...pins, pipelines }) } })
    return updates
  }
  const main = metadata.refs[mainBranch]
  if (main?.maxSnapshotAgeMs === FOREVER_MS) updates.push(setRef(mainBranch, withAge(main, pins.mainMaxSnapshotAgeMs)))
  updates.push({ action: 'remove-properties', removals: [PINS_PROPERTY] })
  return updates
}

function setRef(name: string, ref: SnapshotRef): TableUpdate {
  return { action: 'set-snapshot-ref', 'ref-name': name, ...snapshotRefToJson(ref) }
}

function withAge(ref: SnapshotRef, ageMs: bigint | undefined): SnapshotRef {
  const { snapshotId, type, minSnapshotsToKeep, maxRefAgeMs } = ref
  return {
    snapshotId,
    type,
    ...(minSnapshotsToKeep === undefined ? {} : { minSnapshotsToKeep }),
    ...(maxRefAgeMs === undefined ? {} : { maxRefAgeMs }),
    ...(ageMs === undefined ? {} : { maxSnapshotAgeMs: ageMs }),
  }
}

function formatPins({ pipelines, mainMaxSnapshotAgeMs }: Pins): string {
  const ageMs = mainMaxSnapshotAgeMs === undefined ? null : jsonInteger(mainMaxSnapshotAgeMs)
  return stringifyJson({ pipelines: [...pipelines], 'main-max-snapshot-age-ms': ageMs })
}

/** Undefined when nothing is pinned; an invalid property counts as none. */
function readPins({ properties }: TableMetadata): Pins | undefined {
  const text = properties[PINS_PROPERTY]
  if (text === undefined) return undefined
  try {
    const json = asObject(parseJson(text), PINS_PROPERTY)
    const pipelines = optionalArray(json, 'pipelines', PINS_PROPERTY) ?? []
    return {
      pipelines: pipelines.filter((id) => typeof id === 'string'),
      mainMaxSnapshotAgeMs: optionalLong(json, 'main-max-snapshot-age-ms', PINS_PROPERTY),
    }
  } catch {
    return undefined
  }
}
