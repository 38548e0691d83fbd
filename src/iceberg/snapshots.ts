/** A snapshot of a table (Iceberg spec, "Snapshots"); times in ms since the epoch. */
export interface Snapshot {
  readonly snapshotId: bigint
  readonly parentSnapshotId?: bigint
  /** 0 in format version 1. */
  readonly sequenceNumber: number
  readonly timestampMs: number
  /** Location of the manifest list; undefined only in v1 snapshots that list their manifests inline. */
  readonly manifestList?: string
  /** Inline manifest locations of old v1 snapshots. */
  readonly manifests?: readonly string[]
  /** All strings, `operation` among them. */
  readonly summary: Readonly<Record<string, string>>
  readonly schemaId?: number
  readonly firstRowId?: number
  readonly addedRows?: number
}

/** A branch or tag (Iceberg spec, "Snapshot References"). */
export interface SnapshotRef {
  readonly snapshotId: bigint
  readonly type: 'branch' | 'tag'
  readonly minSnapshotsToKeep?: number
  readonly maxSnapshotAgeMs?: number
  readonly maxRefAgeMs?: number
}
