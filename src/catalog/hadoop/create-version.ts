import { isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import { mayTakeEffect } from '../../iceberg/io/io-error.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { sleep } from '../../lib/sleep.ts'
import { type CommitOutcome, committed, conflict, refused, type Unknown, unknown } from '../commit-outcome.ts'
import { deleteQuietly, loadTableAt, metadataFileBytes } from '../metadata-file.ts'
import { advanceHint } from './advance-hint.ts'
import { versionOf } from '../ownership/version-name.ts'
import { listVersions, type NamedVersion } from './version.ts'

/** The name that a commit has to create: `<folder>/v<version><suffix>`. */
export interface VersionFile {
  readonly folder: string
  readonly version: number
  readonly suffix: string
}

/** A commit whose metadata file is not created yet. */
export interface NewVersion {
  /** The table that the commit is based on; undefined for a new table. */
  readonly base: Table | undefined
  readonly next: Table
  readonly file: VersionFile
}

const LOOKS = 3
const LOOK_WAIT_MS = 100

/** Location of a version's metadata file. */
export function versionLocation({ folder, version, suffix }: VersionFile): string {
  return `${folder}/v${version}${suffix}`
}

/**
 * Creates the metadata file of `next`, which is the commit. The versions of the folder are looked at before the creation and
 * after it: trimming deletes old versions, so a commit that took long may create a name that others used and freed. Such a
 * commit is a conflict, and its file is deleted again. The outcome is `unknown`, and every file stays, where the folder
 * does not show whose commit the table has.
 */
export async function createVersion(io: FileIO, created: NewVersion): Promise<CommitOutcome> {
  const { next, file } = created
  const { identifier, metadataLocation } = next
  let bytes: Uint8Array
  try {
    if ((await listVersions(io, file.folder)).some(({ version }) => version >= file.version))
      return conflict(identifier)
    bytes = metadataFileBytes(next.metadata, file.suffix)
  } catch (error) {
    return refused(identifier, error) // nothing was created
  }
  try {
    await io.create(metadataLocation, bytes)
  } catch (error) {
    const failure = await judgeFailure(io, { next, bytes, error })
    if (failure !== undefined) return failure
  }
  const outcome = await confirm(io, created, bytes)
  if (outcome.kind === 'committed') await advanceHint(io, file.folder, file.version)
  return outcome
}

interface FailedCreation {
  readonly next: Table
  readonly bytes: Uint8Array
  readonly error: unknown
}

/** After a failed creation: the refusal or unknown outcome; undefined when the file exists and is this commit's. */
async function judgeFailure(
  io: FileIO,
  { next: { identifier, metadataLocation }, bytes, error }: FailedCreation,
): Promise<CommitOutcome | undefined> {
  const existed = isIcebergError(error, 'FILE_EXISTS')
  try {
    const current = await io.read(metadataLocation)
    return sameBytes(current, bytes) ? undefined : conflict(identifier, error)
  } catch (cause) {
    const isCertain = isIcebergError(cause, 'FILE_NOT_FOUND') && !existed && !mayTakeEffect(error)
    return isCertain ? refused(identifier, error) : unknown(identifier, error)
  }
}

type Verdict = 'committed' | 'lost' | 'unknown'

/** After the file was created: whether it is the table's, or was created too late. */
async function confirm(io: FileIO, created: NewVersion, bytes: Uint8Array): Promise<CommitOutcome> {
  const { next } = created
  const verdict = await judgeRepeatedly(io, created)
  if (verdict === 'committed') return committed(next)
  if (verdict !== 'lost') return verdict
  // the chain of versions went on without this file, so that nothing can be based on the file
  const current = await io.read(next.metadataLocation).catch(() => undefined)
  if (current !== undefined && sameBytes(current, bytes)) await deleteQuietly(io, [next.metadataLocation])
  return conflict(next.identifier)
}

async function judgeRepeatedly(io: FileIO, created: NewVersion): Promise<'committed' | 'lost' | Unknown> {
  let cause: unknown
  for (let look = 0; look < LOOKS; look++) {
    if (look > 0) await sleep(LOOK_WAIT_MS * look)
    try {
      const verdict = await judge(io, created)
      if (verdict !== 'unknown') return verdict
    } catch (error) {
      cause = error
    }
  }
  return unknown(created.next.identifier, cause)
}

async function judge(io: FileIO, created: NewVersion): Promise<Verdict> {
  const { next, file } = created
  const name = next.metadataLocation.slice(file.folder.length + 1)
  const versions = await listVersions(io, file.folder)
  const newer = versions.filter(({ version }) => version > file.version).sort((a, b) => a.version - b.version)
  const [first, last = first] = [newer[0], newer.at(-1)]
  if (first !== undefined && last !== undefined) return judgeByNewer(io, created, { first, last })
  const rivals = versions.filter((one) => one.version === file.version && one.name !== name)
  // another system may create the version under the name of another codec, which readers then prefer or not
  if (rivals.length > 0) return 'unknown'
  return versions.some((one) => one.name === name) ? 'committed' : 'unknown'
}

/** Newer versions contain this commit, or follow another file that had the same name. */
async function judgeByNewer(
  io: FileIO,
  created: NewVersion,
  { first, last }: { readonly first: NamedVersion; readonly last: NamedVersion },
): Promise<Verdict> {
  const { next, file } = created
  for (const { name, version } of new Set([first, last])) {
    const { metadata } = await loadTableAt(io, next.identifier, `${file.folder}/${name}`)
    const entry = metadata.metadataLog.findLast(({ metadataFile }) => versionOf(metadataFile) === file.version)
    const containsChange = hasAddedSnapshot(created, metadata)
    if (entry !== undefined) {
      if (!isOurs(entry, next)) return 'lost'
      return containsChange === false ? 'unknown' : 'committed' // another commit of the same millisecond
    }
    if (version === file.version + 1) return 'lost'
    if (containsChange === true) return 'committed'
  }
  // the versions between were trimmed, oldest first: this file would have been trimmed before them
  return 'lost'
}

/** Whether later metadata has a snapshot that this commit added; undefined when the commit added none. */
function hasAddedSnapshot({ base, next }: NewVersion, later: TableMetadata): boolean | undefined {
  const known = new Set(base?.metadata.snapshots.map(({ snapshotId }) => snapshotId))
  const added = next.metadata.snapshots.filter(({ snapshotId }) => !known.has(snapshotId))
  if (added.length === 0) return undefined
  const found = new Set(later.snapshots.map(({ snapshotId }) => snapshotId))
  return added.some(({ snapshotId }) => found.has(snapshotId))
}

/** Systems spell locations differently, so the names of the files are compared, and the times of their metadata. */
function isOurs(entry: { readonly metadataFile: string; readonly timestampMs: number }, next: Table): boolean {
  const nameOf = (location: string) => location.slice(location.lastIndexOf('/') + 1)
  return (
    nameOf(entry.metadataFile) === nameOf(next.metadataLocation) && entry.timestampMs === next.metadata.lastUpdatedMs
  )
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}
