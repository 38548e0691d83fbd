import { type TableMetadata } from '../iceberg/metadata.ts'
import { ancestorsOf } from '../iceberg/snapshot-ancestry.ts'
import { mainBranch } from '../iceberg/snapshots.ts'
import type { TableRequirement } from '../iceberg/update/table-update.ts'

/**
 * A commit that a catalog's server applies, and whose metadata file the server names: what is staged is not a file, but
 * what the commit requires.
 */
export interface ServedCommit {
  /** Where `main` must be for the commit to be applied; null: nowhere; undefined: it does not matter. */
  readonly main: bigint | null | undefined
}

const SCHEME = 'served-commit:'

/** The commit as text that takes the place of a metadata location in a ledger. */
export function formatServedCommit(requirements: readonly TableRequirement[]): string {
  const main = requiredMain(requirements)
  return main === undefined ? SCHEME : `${SCHEME}main=${main ?? 'none'}`
}

/** The inverse of {@link formatServedCommit}; undefined for the location of a file. */
export function parseServedCommit(staged: string): ServedCommit | undefined {
  if (!staged.startsWith(SCHEME)) return undefined
  const id = /^main=(\d+|none)$/.exec(staged.slice(SCHEME.length))?.[1]
  return { main: id === undefined ? undefined : id === 'none' ? null : BigInt(id) }
}

/** Where `main` must be by the requirements; undefined when they do not say. */
export function requiredMain(requirements: readonly TableRequirement[]): bigint | null | undefined {
  const found = requirements.find((one) => one.type === 'assert-ref-snapshot-id' && one.ref === mainBranch)
  return found?.type === 'assert-ref-snapshot-id' ? found['snapshot-id'] : undefined
}

/**
 * Whether others have brought `main` on from where the commit requires it, so that it cannot be applied any more. False
 * also when that does not follow from the snapshots that the table still has.
 */
export function isOvertaken({ main }: ServedCommit, metadata: TableMetadata): boolean {
  const current = metadata.currentSnapshotId
  if (main === undefined || current === undefined || current === main) return false
  const line = [...ancestorsOf(metadata, current)]
  return main === null
    ? line.at(-1)?.parentSnapshotId === undefined
    : line.some(({ snapshotId }) => snapshotId === main)
}
