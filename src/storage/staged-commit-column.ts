import type { StagedCommit } from '../iceberg/update/staged-commit.ts'

const SERVED = 'served-commit:'
const MAIN = /^main=(\d+|none)$/

/** A staged commit as the ledger stores it: the location of a file, or `served-commit:` with the snapshot of `main`. */
export function stagedCommitToColumn(staged: StagedCommit | undefined): string | undefined {
  if (staged === undefined) return undefined
  if (staged.kind === 'file') return staged.location
  return staged.main === undefined ? SERVED : `${SERVED}main=${staged.main ?? 'none'}`
}

/** The inverse of {@link stagedCommitToColumn}. An unreadable served commit has no snapshot, so it stays unknown. */
export function stagedCommitFromColumn(text: string | null): StagedCommit | undefined {
  if (text === null) return undefined
  if (!text.startsWith(SERVED)) return { kind: 'file', location: text }
  const id = MAIN.exec(text.slice(SERVED.length))?.[1]
  return { kind: 'served', main: id === undefined ? undefined : id === 'none' ? null : BigInt(id) }
}
