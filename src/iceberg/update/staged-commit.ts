import type { TableMetadata } from '../metadata/metadata.ts'
import { ancestorsOf } from '../metadata/snapshot-ancestry.ts'
import { mainBranch } from '../metadata/snapshots.ts'
import type { TableRequirement } from './table-update.ts'

/**
 * What a commit is about to make current. It is recorded before the commit is sent, so that after a crash the table tells
 * whether the commit happened.
 */
export type StagedCommit = StagedFile | ServedCommit

/** A commit that writes the next metadata file itself. */
export interface StagedFile {
  readonly kind: 'file'
  readonly location: string
}

/** A commit that the server of a catalog applies; the server names the metadata file. */
export interface ServedCommit {
  readonly kind: 'served'
  /** The snapshot that `main` must be at; null: there must be no `main`; undefined: any. */
  readonly main: bigint | null | undefined
}

/** The served commit with these requirements. */
export function servedCommit(requirements: readonly TableRequirement[]): ServedCommit {
  const found = requirements.find((one) => one.type === 'assert-ref-snapshot-id' && one.ref === mainBranch)
  return { kind: 'served', main: found?.type === 'assert-ref-snapshot-id' ? found['snapshot-id'] : undefined }
}

/**
 * Whether other commits have moved `main` on from where this commit requires it, so that it can never be applied. False
 * also when the remaining snapshots of the table do not prove that.
 */
export function isOvertaken({ main }: ServedCommit, metadata: TableMetadata): boolean {
  const current = metadata.currentSnapshotId
  if (main === undefined || current === undefined || current === main) return false
  const line = [...ancestorsOf(metadata, current)]
  return main === null
    ? line.at(-1)?.parentSnapshotId === undefined
    : line.some(({ snapshotId }) => snapshotId === main)
}
