import type { Catalog } from '../catalog/catalog.ts'
import { commitTable } from '../catalog/commit-table.ts'
import { asObject, jsonInteger, optionalArray, optionalLong } from '../iceberg/json/json-fields.ts'
import { parseJson, stringifyJson } from '../iceberg/json/lossless-json.ts'
import { snapshotById } from '../iceberg/metadata.ts'
import type { TableMetadata } from '../iceberg/metadata.ts'
import { FOREVER_MS, mainBranch, snapshotRefToJson } from '../iceberg/snapshots.ts'
import type { SnapshotRef } from '../iceberg/snapshots.ts'
import type { TableIdentifier } from '../iceberg/table.ts'
import type { TableRequirement, TableUpdate } from '../iceberg/update/table-update.ts'

/** Table property of a source: the pipelines that it is pinned for, and the retention that `main` had before. */
const PINS_PROPERTY = 'lockhouse.pins'
const TAG_PREFIX = 'lockhouse-pipeline-'

/** What {@link PINS_PROPERTY} says. */
interface Pins {
  readonly pipelines: readonly string[]
  readonly mainMaxSnapshotAgeMs: bigint | undefined
}

/** The tag that keeps the snapshot up to which a pipeline has read. */
export function pinTag(pipelineId: string): string {
  return `${TAG_PREFIX}${pipelineId}`
}

/** Where the tag of a pipeline stands; undefined when there is none. */
export function pinnedSnapshot({ refs }: TableMetadata, pipelineId: string): bigint | undefined {
  return refs[pinTag(pipelineId)]?.snapshotId
}

/** Whether the history after the tag is kept, too: a writer that does not know retention may have reset it. */
export function isHeld({ refs }: TableMetadata, pipelineId: string): boolean {
  return refs[pinTag(pipelineId)] !== undefined && refs[mainBranch]?.maxSnapshotAgeMs === FOREVER_MS
}

/**
 * Keeps every engine from expiring what a pipeline has still to read. A tag holds one snapshot only, and a reader of
 * increments needs all that come after it: so the tag, and on `main` a retention without end, which goes before the
 * arguments of any expiry (Iceberg spec, "Snapshot Retention Policy"). What `main` had before is noted in a property.
 */
export async function pinHistory(
  catalog: Catalog,
  identifier: TableIdentifier,
  pin: { readonly pipelineId: string; readonly snapshotId: bigint },
): Promise<void> {
  await commitUpdates(catalog, identifier, (metadata) => pinUpdates(metadata, pin))
}

/** Takes a pipeline's pin away; with the last one, `main` gets back the retention that it had. */
export async function unpinHistory(catalog: Catalog, identifier: TableIdentifier, pipelineId: string): Promise<void> {
  await commitUpdates(catalog, identifier, (metadata) => unpinUpdates(metadata, pipelineId))
}

/** The metadata as it would be without the pins of the known pipelines. */
export function withoutPins(metadata: TableMetadata, known: ReadonlySet<string>): TableMetadata {
  const { refs } = withoutPinRetention(metadata, known)
  const isPin = (name: string): boolean => name.startsWith(TAG_PREFIX) && known.has(name.slice(TAG_PREFIX.length))
  return { ...metadata, refs: Object.fromEntries(Object.entries(refs).filter(([name]) => !isPin(name))) }
}

/**
 * The metadata with the retention that `main` had before, for an expiry that knows by itself what pipelines need. Where
 * a pipeline is not among the known ones, it is somebody else's, and its pin holds.
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

/** Undefined when nothing is pinned; a property that somebody has spoilt is as good as none. */
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
