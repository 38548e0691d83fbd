import type { Catalog } from '../../catalog/catalog.ts'
import { type CommitOutcome, unknown } from '../../catalog/commit-outcome.ts'
import { isVersionFile } from '../../catalog/ownership/version-name.ts'
import { loadIfPresent } from '../../catalog/load-if-present.ts'
import { judgeDeletion } from '../../catalog/ownership/deletion-guard.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { isBelow } from '../../iceberg/io/location-identity.ts'
import { ownedFolders } from '../../iceberg/metadata/locations.ts'
import { parseTableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import { isOvertaken, type ServedCommit, type StagedCommit } from '../../iceberg/update/staged-commit.ts'
import { deleteFiles } from '../file-deletion.ts'
import type { DeletionFailure } from '../file-deletion.ts'
import { requireGcEnabled } from '../gc-guard.ts'
import type { OperationCleanup } from '../operation-hooks.ts'
import { isHeld } from '../quarantine/held-files.ts'
import type { Quarantine } from '../quarantine/quarantine.ts'
import { expiredHistory } from '../quarantine/removed-history.ts'
import { findUnreachable } from '../reachable-files.ts'

export interface ReconcileInput {
  readonly catalog: Catalog
  readonly identifier: TableIdentifier
  readonly operationId: string
  /** What the ledger recorded through `OperationHooks.onStaged`, if it reached that point. */
  readonly staged?: StagedCommit
  /** What the ledger recorded through `OperationHooks.onCleanup`, if it reached that point. */
  readonly cleanup?: OperationCleanup
  /** The metadata file that the operation began with; an expiry's history is found there. */
  readonly baseMetadataLocation?: string
  /** Takes what an expiry made unreachable; without it that is deleted. */
  readonly quarantine?: Quarantine
  /** Called right before the table is changed and files are deleted; throws when another process may have the table. */
  readonly confirm?: () => Promise<void>
}

/** The outcome of an operation whose process died. */
export type ReconciledOutcome =
  | 'committed'
  | 'not-committed'
  | 'unknown' // the table does not show it (no longer, or not yet); nothing was deleted
  | 'no-such-table' // nothing was deleted

export interface ReconcileResult {
  readonly outcome: ReconciledOutcome
  /** The newest snapshot of the operation, if any. */
  readonly snapshotId?: bigint
  readonly deletedFiles: readonly string[]
  readonly failedDeletions: readonly DeletionFailure[]
}

const CONCURRENT_LOOKS = 8

/** Prefix of unfinished files; the final name follows. */
const TEMPORARY = '.tmp-'

/** Summary entry by which snapshots name the operation that made them. */
const OPERATION_ID_KEY = 'lockhouse.operation-id'

/**
 * Finds out whether an operation that died had committed, and cleans up after it: files it wrote and nothing reaches are
 * deleted; an expiry that had committed finishes its deletions. Nothing that any snapshot reaches is ever deleted, and
 * nothing at all when the outcome is unknown or the table cannot be read. An operation that seems to have ended may only have
 * been paused in its commit: see {@link settlePointer}. Its ledger entry must not be writable for its process afterwards.
 * Errors: those of catalog, manifests and FileIO; calling it again later is safe.
 */
export async function reconcileOperation(input: ReconcileInput): Promise<ReconcileResult> {
  const table = await loadIfPresent(input.catalog, input.identifier)
  if (table === undefined) return { outcome: 'no-such-table', deletedFiles: [], failedDeletions: [] }
  switch (input.staged?.kind) {
    case 'served':
      return reconcileServed(table, input, {
        served: input.staged,
        snapshotId: snapshotOf(table.metadata, input.operationId),
      })
    case 'file':
      return reconcileFile(table, input, input.staged.location)
    case undefined:
      return reconcileFile(table, input, undefined)
  }
}

async function reconcileFile(
  loaded: Table,
  input: ReconcileInput,
  location: string | undefined,
): Promise<ReconcileResult> {
  const { table, pointer } = await settlePointer(loaded, input, location)
  const snapshotId = snapshotOf(table.metadata, input.operationId)
  const outcome = snapshotId !== undefined && pointer !== 'pending' ? 'committed' : pointer
  const known = snapshotId === undefined ? {} : { snapshotId }
  if (outcome === 'unknown' || outcome === 'pending') return { ...known, ...UNKNOWN }
  const leftovers = await findLeftovers(table, { input, location, pointer })
  const cleaned = await deleteLost(input, table, await lostOf(table, leftovers))
  const expired = pointer === 'not-committed' ? [] : ownFiles(table, input.cleanup?.files ?? [])
  const released = await releaseExpired(input, table, await lostOf(table, expired))
  return { ...known, outcome, ...joined(cleaned, released) }
}

/**
 * A server may still apply a received commit, unless other commits have changed the state that it requires: until then
 * no file of the operation is deleted. An expiry is recognised by the files that it made unreachable.
 */
async function reconcileServed(table: Table, input: ReconcileInput, known: ServedOperation) {
  const { cleanup } = input
  const expired = cleanup?.files ?? []
  if (expired.length > 0) {
    const lost = await lostOf(table, ownFiles(table, expired))
    if (lost.length === 0) return UNKNOWN
    return { outcome: 'committed' as const, ...(await releaseExpired(input, table, lost)) }
  }
  if (!isOvertaken(known.served, table.metadata)) return UNKNOWN
  const lost = await lostOf(table, await listByPrefix(table, cleanup?.prefixes ?? []))
  const { snapshotId } = known
  const outcome =
    snapshotId === undefined ? { outcome: 'not-committed' as const } : { outcome: 'committed' as const, snapshotId }
  return { ...outcome, ...(await deleteLost(input, table, lost)) }
}

interface ServedOperation {
  readonly served: ServedCommit
  readonly snapshotId: bigint | undefined
}

const UNKNOWN: ReconcileResult = { outcome: 'unknown', deletedFiles: [], failedDeletions: [] }

async function lostOf(table: Table, files: readonly string[]): Promise<readonly string[]> {
  return files.length === 0 ? [] : findUnreachable(table, files)
}

/** What other tables of the catalog need stays, as it does in the operations themselves. */
async function deleteLost({ catalog, confirm }: ReconcileInput, table: Table, lost: readonly string[]) {
  const { deletable } = await judgeDeletion(catalog, table, { files: await existing(table, lost) })
  if (deletable.length > 0) await confirm?.()
  const { deleted, failures } = await deleteFiles(table.io, deletable)
  return { deletedFiles: deleted, failedDeletions: failures }
}

type Cleaned = Pick<ReconcileResult, 'deletedFiles' | 'failedDeletions'>

/** The same for files of an expiry, which go to quarantine. */
async function releaseExpired(input: ReconcileInput, table: Table, lost: readonly string[]): Promise<Cleaned> {
  const { quarantine, baseMetadataLocation } = input
  if (quarantine === undefined || lost.length === 0) return deleteLost(input, table, lost)
  const { deletable } = await judgeDeletion(input.catalog, table, { files: await existing(table, lost) })
  const before = baseMetadataLocation === undefined ? undefined : await readMetadata(table, baseMetadataLocation)
  const history = before && expiredHistory(before, table.metadata)
  const { confirm } = input
  const { removed, failures } = await quarantine.hold({ table, reason: 'expire', files: deletable, history, confirm })
  return { deletedFiles: removed, failedDeletions: failures }
}

function joined(a: Cleaned, b: Cleaned): Cleaned {
  return {
    deletedFiles: [...a.deletedFiles, ...b.deletedFiles],
    failedDeletions: [...a.failedDeletions, ...b.failedDeletions],
  }
}

function snapshotOf({ snapshots }: TableMetadata, operationId: string): bigint | undefined {
  return snapshots.findLast(({ summary }) => summary[OPERATION_ID_KEY] === operationId)?.snapshotId
}

/** `unknown`: what remains of the history does not show whether the commit happened, but the commit cannot happen any more. */
type Verdict = 'committed' | 'not-committed' | 'unknown'

/** `pending`: the commit may still happen, because the table is where the commit expects the table. */
type PointerVerdict = Verdict | 'pending'

/** What became of a staged metadata file, and the table as of that answer. */
interface Settlement {
  readonly table: Table
  readonly pointer: PointerVerdict
}

/** How often a fence is tried while other commits come first. */
const MAX_FENCES = 5

/**
 * Finds out whether the staged metadata file became current, so that the answer stays true: a process that only seems to
 * have ended may still be writing the file. While its commit could take effect, a fence is committed first, a new version
 * of the table with the same content. Where no fence can be made, the answer is `pending`.
 */
async function settlePointer(loaded: Table, input: ReconcileInput, location: string | undefined): Promise<Settlement> {
  let table = loaded
  for (let fences = 0; ; fences += 1) {
    const pointer = await judgePointer(table, location)
    if (pointer !== 'pending') return { table, pointer: await disprove(pointer, table, { input, location }) }
    if (fences === MAX_FENCES) return { table, pointer }
    const fence = await commitFence(input, table)
    if (fence.kind === 'committed') {
      return { table: fence.table, pointer: await judgeFenced(fence.table, { input, location }) }
    }
    if (!isIcebergError(fence.error, 'COMMIT_CONFLICT')) return { table, pointer }
    table = await input.catalog.loadTable(input.identifier)
  }
}

/** What became of the staged file, now that the table has moved on by a fence: its commit can no longer happen. */
async function judgeFenced(table: Table, { input, location }: Pick<Attempt, 'input' | 'location'>): Promise<Verdict> {
  // the fence has the name of a version that the staged file should have had
  if (table.metadataLocation === location) return 'not-committed'
  const pointer = await judgePointer(table, location)
  return pointer === 'pending' ? 'not-committed' : disprove(pointer, table, { input, location })
}

/** Moves the table on, so that a commit that expects the table where it is now fails for ever. */
async function commitFence({ catalog, identifier, confirm }: ReconcileInput, table: Table): Promise<CommitOutcome> {
  await confirm?.()
  const requirements = [{ type: 'assert-table-uuid', uuid: table.metadata.tableUuid } as const]
  try {
    return await catalog.commit(identifier, { requirements, updates: [], isFence: true })
  } catch (error) {
    return unknown(identifier, error) // a catalog that throws may have made the fence
  }
}

/** Whether the staged metadata file became current at some time: then the file is in the table's history of metadata files. */
async function judgePointer(table: Table, staged: string | undefined): Promise<PointerVerdict> {
  if (staged === undefined) return 'not-committed'
  const history = [...table.metadata.metadataLog.map(({ metadataFile }) => metadataFile), table.metadataLocation]
  if (history.includes(staged)) return 'committed'
  // the process has not written the file yet, or its commit failed and it deleted the file
  if ((await table.io.stat(staged)) === undefined) return 'pending'
  const base = (await readMetadata(table, staged))?.metadataLog.at(-1)?.metadataFile
  if (base === undefined || base === table.metadataLocation) return 'pending'
  // without its base in the history the outcome is unknown: the log may have been trimmed past both
  return history.includes(base) ? 'not-committed' : 'unknown'
}

/** An operation that may have made a metadata file current, and whether that happened. */
interface Attempt {
  readonly input: ReconcileInput
  /** The metadata file that may have become current; undefined when the operation did not reach its commit. */
  readonly location: string | undefined
  readonly pointer: PointerVerdict
}

/**
 * In a catalog with numbered metadata files, another commit may have used the staged name. An operation with a snapshot
 * is recognised by that snapshot.
 */
async function disprove(
  pointer: Verdict,
  table: Table,
  { input, location }: Pick<Attempt, 'input' | 'location'>,
): Promise<Verdict> {
  if (pointer !== 'committed' || location === undefined || input.cleanup?.prefixes === undefined) return pointer
  const metadata = await readMetadata(table, location)
  if (metadata === undefined) return 'unknown'
  return snapshotOf(metadata, input.operationId) === undefined ? 'not-committed' : 'committed'
}

/** A metadata file of the table; undefined when it is gone, unreadable or another table's. */
async function readMetadata(table: Table, location: string): Promise<TableMetadata | undefined> {
  try {
    const metadata = parseTableMetadata(await table.io.read(location))
    return metadata.tableUuid === table.metadata.tableUuid ? metadata : undefined
  } catch (error) {
    if (isIcebergError(error)) return undefined
    throw error
  }
}

/** Those of the files that are still there: an earlier run may have deleted some. */
async function existing({ io }: Table, locations: readonly string[]): Promise<readonly string[]> {
  const found = await mapBounded(
    locations,
    CONCURRENT_LOOKS,
    async (location) => (await io.stat(location)) !== undefined,
  )
  return locations.filter((_, at) => found[at])
}

/** Files that may be deleted if nothing reaches them. */
async function findLeftovers(
  table: Table,
  { input: { cleanup }, location, pointer }: Attempt,
): Promise<readonly string[]> {
  const ownName = location !== undefined && !isVersionFile(location)
  const half = ownName ? [`${TEMPORARY}${fileName(location)}`] : []
  const leftovers = await listByPrefix(table, [...(cleanup?.prefixes ?? []), ...half])
  if (pointer === 'not-committed') {
    // another commit may have used a version's name since the table was loaded: only unique names are certainly ours
    return ownName ? [...leftovers, location] : leftovers
  }
  return leftovers
}

/** Those of the files of an expiry that surely are the table's. */
function ownFiles({ metadata }: Table, expired: readonly string[]): readonly string[] {
  if (expired.length === 0) return []
  requireGcEnabled(metadata, 'finish an expiry')
  const folders = ownedFolders(metadata)
  return expired.filter((file) => folders.some((folder) => isBelow(file, folder)))
}

/** Files of the table whose names start with one of the prefixes, in any folder of its layout. */
async function listByPrefix(table: Table, prefixes: readonly string[]): Promise<readonly string[]> {
  const usable = prefixes.filter((prefix) => prefix !== '').map((prefix) => `${prefix}-`)
  if (usable.length === 0) return []
  const found = new Set<string>()
  for (const folder of writtenFolders(table.metadata)) {
    for await (const { location } of table.io.list(folder)) {
      if (isHeld(location)) continue
      const name = fileName(location)
      const finished = name.startsWith(TEMPORARY) ? name.slice(TEMPORARY.length) : name
      if (usable.some((prefix) => name.startsWith(prefix) || finished.startsWith(prefix))) found.add(location)
    }
  }
  return [...found]
}

function fileName(location: string): string {
  return location.slice(location.lastIndexOf('/') + 1)
}

/** The folders that new files go to, without those inside another. */
function writtenFolders(metadata: TableMetadata): readonly string[] {
  const folders = ownedFolders(metadata)
  return folders.filter((folder) => !folders.some((other) => other !== folder && isBelow(folder, other)))
}
