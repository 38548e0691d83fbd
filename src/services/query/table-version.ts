import { DomainError } from '../../domain/errors.ts'
import { branchStates, findStateAt } from '../../iceberg/metadata/branch-states.ts'
import { currentSchema, schemaOf, snapshotById } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { mainBranch } from '../../iceberg/metadata/snapshots.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'

/** Which state of a table is read; nothing: the current one. */
export interface AsOf {
  readonly snapshotId?: bigint | undefined
  /** A branch or tag. */
  readonly ref?: string | undefined
  /** The state of `main` at this time, ms since the epoch. */
  readonly timestampMs?: number | undefined
}

/** A state of a table: its snapshot, undefined before the first one, and the columns that it is read with. */
export interface TableVersion {
  readonly snapshotId: bigint | undefined
  readonly schema: Schema
}

/**
 * The state of a table to read. A snapshot, a tag and a time are read with the columns of the snapshot, a branch with the current
 * columns (Iceberg spec, "Snapshot References"). `NO_SUCH_SNAPSHOT`; `UNPROCESSABLE` for an unknown branch or tag and
 * for a time before the oldest snapshot that is kept.
 */
export function versionOf(metadata: TableMetadata, { snapshotId, ref, timestampMs }: AsOf): TableVersion {
  if (snapshotId !== undefined) return { snapshotId, schema: schemaOf(metadata, snapshotId) }
  if (ref !== undefined) return versionOfRef(metadata, ref)
  if (timestampMs !== undefined) return versionAt(metadata, timestampMs)
  return { snapshotId: metadata.currentSnapshotId, schema: currentSchema(metadata) }
}

function versionOfRef(metadata: TableMetadata, name: string): TableVersion {
  const ref = Object.hasOwn(metadata.refs, name) ? metadata.refs[name] : undefined
  if (ref === undefined) {
    const known = Object.keys(metadata.refs).toSorted().slice(0, 20).join(', ') || 'none'
    throw new DomainError('UNPROCESSABLE', `there is no branch or tag ${name}; the table has ${known}`)
  }
  const { snapshotId, type } = ref
  return { snapshotId, schema: type === 'tag' ? schemaOf(metadata, snapshotId) : currentSchema(metadata) }
}

/** The log of current snapshots decides: after a rollback, ancestors of the current snapshot say nothing about that time. */
function versionAt(metadata: TableMetadata, timestampMs: number): TableVersion {
  const found = findStateAt(branchStates(metadata, mainBranch), timestampMs)?.snapshotId
  if (found !== undefined && snapshotById(metadata, found) !== undefined) {
    return { snapshotId: found, schema: schemaOf(metadata, found) }
  }
  const time = new Date(timestampMs).toISOString()
  const why =
    found === undefined
      ? `the table has no snapshot from ${time} or before: older ones have expired`
      : `the snapshot that the table had at ${time} has expired`
  throw new DomainError('UNPROCESSABLE', why)
}
