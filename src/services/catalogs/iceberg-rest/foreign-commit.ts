import type { Catalog } from '../../../catalog/catalog.ts'
import { hasOtherFolders, requireAllowedLocations } from '../../../catalog/ownership/allowed-locations.ts'
import { namespaceFolders, requireOwnNamespace } from '../../../catalog/ownership/namespace-folders.ts'
import { requireUnowned } from '../../../catalog/ownership/registration-guard.ts'
import { formatIdentifier } from '../../../catalog/table-identifier.ts'
import { DomainError } from '../../../domain/errors.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import { currentSchema } from '../../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../../iceberg/metadata/snapshot-ancestry.ts'
import type { Table } from '../../../iceberg/metadata/table.ts'
import type { TableGuard } from '../../../maintenance/table-guard.ts'
import { columnInUse } from '../../operations/column-refusal.ts'
import { requireAccepted } from '../../operations/rollback-refusal.ts'
import { changedColumns } from './changed-columns.ts'
import { checkPropertyLimits } from './property-limits.ts'

export interface ForeignCommit {
  readonly catalog: Catalog
  /** Undefined: the commit creates the table. */
  readonly base: Table | undefined
  readonly next: Table
}

const MAX_LISTED = 5
/** Each of them is looked for in every pipeline and version that uses the table. */
const MAX_CHANGED_COLUMNS = 1000

/**
 * Refuses what a commit of another system may not do: the same as for our own operations. Throws `FORBIDDEN` for
 * snapshots that pipelines have not read yet, for a history that they depend on, and for columns in use;
 * `INVALID_ARGUMENT` for a location that the catalog does not allow and for a size above the limits, `TABLES_OVERLAP` for
 * folders of another table.
 */
export async function checkForeignCommit(guard: TableGuard, { catalog, base, next }: ForeignCommit): Promise<void> {
  checkPropertyLimits(base?.metadata.properties ?? {}, next.metadata.properties)
  await requireAllowedLocations(catalog, base, next)
  const folders = namespaceFolders(catalog)
  const isElsewhere = base === undefined || hasOtherFolders(base, next)
  if (isElsewhere && folders !== undefined) await requireOwnNamespace(folders, base, next)
  if (base === undefined) return
  if (isElsewhere) await requireUnowned(catalog, next)
  await checkRemovedSnapshots(guard, base, next)
  await checkHistory(guard, { catalog, base, next })
  await checkColumns(guard, base, next)
}

async function checkRemovedSnapshots(guard: TableGuard, base: Table, next: Table): Promise<void> {
  const kept = new Set(next.metadata.snapshots.map(({ snapshotId }) => snapshotId))
  const removed = base.metadata.snapshots.filter(({ snapshotId }) => !kept.has(snapshotId))
  if (removed.length === 0) return
  const { pins } = await guard.pinsOf(base)
  const needed = removed.flatMap(({ snapshotId }) => {
    const pin = pins.find(({ snapshotIds }) => snapshotIds.has(snapshotId))
    return pin === undefined ? [] : [`${snapshotId} (pipeline ${pin.pipelineId})`]
  })
  if (needed.length === 0) return
  const more = needed.length > MAX_LISTED ? ` and ${needed.length - MAX_LISTED} more` : ''
  throw new DomainError(
    'FORBIDDEN',
    `snapshots that pipelines have not read yet cannot be removed from ${formatIdentifier(base.identifier)}: ` +
      `${needed.slice(0, MAX_LISTED).join(', ')}${more}. Expire later, or delete the pipelines first.`,
  )
}

/** A branch `main` that no longer contains snapshots which pipelines have read or written is a rollback. */
async function checkHistory(guard: TableGuard, { catalog, base, next }: ForeignCommit & { readonly base: Table }) {
  const before = base.metadata.currentSnapshotId
  const after = next.metadata.currentSnapshotId
  if (before === undefined || before === after) return
  const line = after === undefined ? [] : [...ancestorsOf(next.metadata, after)]
  const kept = new Set(line.map(({ snapshotId }) => snapshotId))
  // snapshots that are gone are checked as a removal
  const present = new Set(next.metadata.snapshots.map(({ snapshotId }) => snapshotId))
  const undone = [...ancestorsOf(base.metadata, before)].filter(
    ({ snapshotId }) => !kept.has(snapshotId) && present.has(snapshotId),
  )
  if (undone.length === 0) return
  await forbid(async () => requireAccepted(await guard.affectedBy({ catalog, table: base, undone }), new Set()))
}

async function checkColumns(guard: TableGuard, base: Table, next: Table): Promise<void> {
  if (base.metadata.currentSchemaId === next.metadata.currentSchemaId) return
  const columns = await changedColumns(currentSchema(base.metadata), currentSchema(next.metadata))
  if (columns.length > MAX_CHANGED_COLUMNS) throw tooManyColumns(columns.length)
  if (columns.length === 0) return
  const uses = await guard.usersOf(formatIdentifier(base.identifier), columns)
  const [first] = uses
  if (first === undefined) return
  const users = uses.filter(({ column }) => column === first.column).map(({ user }) => user)
  await forbid(() => Promise.reject(columnInUse(first.column.name, users)))
}

function tooManyColumns(count: number): IcebergError {
  const message =
    `this change drops or renames ${count} columns, and one change may have at most ${MAX_CHANGED_COLUMNS} of them: ` +
    'send several changes'
  return new IcebergError('INVALID_ARGUMENT', message)
}

/** A client that gets a conflict would try again; this is to stay refused. */
async function forbid(check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'CONFLICT') throw error
    throw new DomainError('FORBIDDEN', error.message, { cause: error, fields: error.fields })
  }
}

/**
 * Refuses to drop or rename a table while pipelines that should run read or write it. Throws `FORBIDDEN`, naming them.
 */
export async function requireUnused(guard: TableGuard, table: string, action: string): Promise<void> {
  const live = (await guard.pipelinesOf(table)).filter(({ isLive }) => isLive)
  if (live.length === 0) return
  const named = live.slice(0, MAX_LISTED).map(({ id, role, state }) => `${id} (${role}, ${state})`)
  const more = live.length > MAX_LISTED ? ` and ${live.length - MAX_LISTED} more` : ''
  const message = `cannot ${action} ${table}: pipelines use it: ${named.join(', ')}${more}. Stop them first.`
  throw new DomainError('FORBIDDEN', message)
}
