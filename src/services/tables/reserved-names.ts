import { DomainError } from '../../domain/errors.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { SAME_ROWS, type Snapshot, type SnapshotRef } from '../../iceberg/metadata/snapshots.ts'
import { CLUSTER_BY_PROPERTY } from '../../maintenance/clustering/layout.ts'
import { isPinTag } from '../../streaming/pins/retention-pin.ts'
import { FRESHNESS_PROPERTY, MAINTENANCE_PROPERTY } from './health-index/measure-table.ts'

const RESERVED = 'lockhouse.'

/** Properties that are settings of users; everything else under the prefix is a record of this service. */
const SETTINGS: ReadonlySet<string> = new Set([FRESHNESS_PROPERTY, MAINTENANCE_PROPERTY, CLUSTER_BY_PROPERTY])

/** Summary entries that another service may write: those by which operations recognise their own commits, and what `replace` says. */
const SHARED_SUMMARY: ReadonlySet<string> = new Set(['lockhouse.operation-id', SAME_ROWS])

type Recorded = Pick<TableMetadata, 'properties' | 'refs' | 'snapshots'>

const NOTHING: Recorded = { properties: {}, refs: {}, snapshots: [] }

/**
 * Refuses a commit of another system that changes what this service records in tables: properties under `lockhouse.`
 * that are no settings, tags of pipelines, and their batches in snapshot summaries. Throws `FORBIDDEN` with the name.
 */
export function requireUnreserved(base: Recorded = NOTHING, next: Recorded): void {
  requireProperties(base.properties, next.properties)
  const tag = changedTag(base.refs, next.refs)
  if (tag !== undefined) {
    const why = 'Lockhouse keeps unread snapshots for a pipeline with this tag'
    throw forbidden(`the tag "${tag}" cannot be set, moved or dropped: ${why}. Delete the pipeline to remove the tag.`)
  }
  for (const snapshot of addedSnapshots(base, next)) requireSummary(snapshot)
}

/** Refuses properties of a new table that only this service sets. Throws `FORBIDDEN` with the name. */
export function requireUnreservedProperties(properties: TableMetadata['properties']): void {
  requireProperties({}, properties)
}

/** Names of records of this service in a table, which make the table a part of pipelines; empty for an ordinary table. */
export function reservedNames({ properties, refs }: Recorded): readonly string[] {
  return [...Object.keys(properties).filter(isReserved), ...Object.keys(refs).filter(isPinTag)]
}

/** The snapshots of a commit that the base does not have. */
export function addedSnapshots(base: Pick<Recorded, 'snapshots'> = NOTHING, next: Recorded): readonly Snapshot[] {
  const known = new Set(base.snapshots.map(({ snapshotId }) => snapshotId))
  return next.snapshots.filter(({ snapshotId }) => !known.has(snapshotId))
}

function isReserved(property: string): boolean {
  return property.startsWith(RESERVED) && !SETTINGS.has(property)
}

function requireProperties(base: TableMetadata['properties'], next: TableMetadata['properties']): void {
  const names = [...Object.keys(base), ...Object.keys(next)].filter(isReserved)
  const changed = names.find((name) => base[name] !== next[name])
  if (changed === undefined) return
  const why = 'Lockhouse stores its own state under this prefix'
  throw forbidden(`the property "${changed}" cannot be set, changed or removed: ${why}. Leave the property as it is.`)
}

function changedTag(base: TableMetadata['refs'], next: TableMetadata['refs']): string | undefined {
  const names = [...Object.keys(base), ...Object.keys(next)].filter(isPinTag)
  return names.find((name) => describeRef(base[name]) !== describeRef(next[name]))
}

function describeRef(ref: SnapshotRef | undefined): string {
  if (ref === undefined) return ''
  const { snapshotId, type, minSnapshotsToKeep, maxSnapshotAgeMs, maxRefAgeMs } = ref
  return [snapshotId, type, minSnapshotsToKeep, maxSnapshotAgeMs, maxRefAgeMs].join(' ')
}

function requireSummary({ snapshotId, summary }: Snapshot): void {
  const name = Object.keys(summary).find((key) => key.startsWith(RESERVED) && !SHARED_SUMMARY.has(key))
  if (name === undefined) return
  throw forbidden(`snapshot ${snapshotId} has "${name}" in its summary: only Lockhouse writes this entry. Remove it.`)
}

function forbidden(message: string): DomainError {
  return new DomainError('FORBIDDEN', message)
}
