import { memberOf } from '../../catalog/catalog.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { hasOtherFolders, requireAllowedLocations } from '../../catalog/ownership/allowed-locations.ts'
import { namespaceFolders, requireOwnNamespace } from '../../catalog/ownership/namespace-folders.ts'
import { requireUnowned } from '../../catalog/ownership/registration-guard.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import { type Caller, hasRole } from '../../domain/roles.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { TouchedColumn } from '../../maintenance/evolve.ts'
import type { TableGuard } from '../../maintenance/table-guard.ts'
import { batchOf } from '../../streaming/sink/progress.ts'
import type { EnvironmentService } from '../environments/environment-service.ts'
import { columnInUse } from '../operations/column-refusal.ts'
import { requireAccepted } from '../operations/rollback-refusal.ts'
import { addedRequiredColumns, changedColumns } from './changed-columns.ts'
import { changesRows, requireMayWrite } from './listed-table.ts'
import { checkPropertyLimits } from './property-limits.ts'
import { addedSnapshots, requireUnreserved } from '../tables/reserved-names.ts'
import { mainMove } from './undone-snapshots.ts'

export interface ForeignCommit {
  readonly catalog: Catalog
  /** Undefined: the commit creates the table. */
  readonly base: Table | undefined
  readonly next: Table
  readonly caller: Caller
}

export interface ForeignCommitDeps {
  readonly guard: TableGuard
  readonly environments: Pick<EnvironmentService, 'list'>
}

const MAX_LISTED = 5
/** Each of them is looked for in every pipeline and version that uses the table. */
const MAX_CHANGED_COLUMNS = 1000

/**
 * Refuses what a commit of another system may not do: the same as for our own operations. Throws `FORBIDDEN` for
 * snapshots that pipelines have not read yet, for a history that they depend on, for columns in use, for what only this
 * service records in a table, and for rows of tables that uat or production lists; `INVALID_ARGUMENT` for a location
 * that the catalog does not allow and for a size above the limits, `TABLES_OVERLAP` for folders of another table.
 */
export async function checkForeignCommit(deps: ForeignCommitDeps, commit: ForeignCommit): Promise<void> {
  const { guard } = deps
  const { catalog, base, next, caller } = commit
  checkPropertyLimits(base?.metadata.properties ?? {}, next.metadata.properties)
  requireUnreserved(base?.metadata, next.metadata)
  await requireAllowedLocations(catalog, base, next)
  await checkBatches(guard, commit)
  if (changesRows(base, next)) await requireMayWrite({ ...deps, catalog, identifier: next.identifier, caller })
  const folders = namespaceFolders(memberOf(catalog, next.identifier))
  const isElsewhere = base === undefined || hasOtherFolders(base, next)
  if (isElsewhere && folders !== undefined) await requireOwnNamespace(folders, base, next)
  if (base === undefined) return
  if (isElsewhere) await requireUnowned(catalog, next)
  await checkRemovedSnapshots(guard, base, next)
  await checkHistory(guard, { catalog, base, next, caller })
  await checkColumns(guard, base, next)
}

/** Batches of streams that a commit adds: those of pipelines only where they cannot make a pipeline skip rows. */
async function checkBatches(guard: TableGuard, { base, next, caller }: ForeignCommit): Promise<void> {
  for (const snapshot of addedSnapshots(base?.metadata, next.metadata)) {
    const batch = batchOf(snapshot)
    const problem = batch && (await guard.batchProblem({ queryId: batch.queryId, batchId: batch.batchId, caller }))
    if (problem !== undefined) throw new DomainError('FORBIDDEN', problem)
  }
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

interface ChangedTable {
  readonly catalog: Catalog
  readonly base: Table
  readonly next: Table
  readonly caller: Caller
}

/** Undone snapshots are checked as our own rollback does; going back to an earlier state needs the same role. */
async function checkHistory(guard: TableGuard, { catalog, base, next, caller }: ChangedTable): Promise<void> {
  const { undone, isRollback } = mainMove(base.metadata, next.metadata)
  if (isRollback && !hasRole(caller.role, 'LeadDataEngineer')) {
    const name = formatIdentifier(base.identifier)
    const who = `a rollback needs the role LeadDataEngineer; ${caller.user} is ${caller.role}`
    throw new DomainError('FORBIDDEN', `the commit takes ${name} back to an earlier state: ${who}`)
  }
  if (undone.length === 0) return
  await forbid(async () => requireAccepted(await guard.affectedBy({ catalog, table: base, undone }), new Set()))
}

async function checkColumns(guard: TableGuard, base: Table, next: Table): Promise<void> {
  if (base.metadata.currentSchemaId === next.metadata.currentSchemaId) return
  const { formatVersion } = next.metadata
  const step = { before: currentSchema(base.metadata), after: currentSchema(next.metadata), formatVersion }
  const table = formatIdentifier(base.identifier)
  const columns = await changedColumns(step)
  if (columns.length > MAX_CHANGED_COLUMNS) throw tooManyColumns(columns.length)
  if (columns.length > 0) await requireUnusedColumns(guard, table, columns)
  const [added] = addedRequiredColumns(step)
  if (added !== undefined) await requireNoWriter(guard, table, added)
}

async function requireUnusedColumns(
  guard: TableGuard,
  table: string,
  columns: readonly TouchedColumn[],
): Promise<void> {
  const uses = await guard.usersOf(table, columns)
  const [first] = uses
  if (first === undefined) return
  const users = uses.filter(({ column }) => column === first.column).map(({ user }) => user)
  await forbid(() => Promise.reject(columnInUse(first.column.name, users)))
}

function tooManyColumns(count: number): IcebergError {
  const message =
    `this change drops, renames or narrows ${count} columns, and one change may have at most ${MAX_CHANGED_COLUMNS} of ` +
    'them: send several changes'
  return new IcebergError('INVALID_ARGUMENT', message)
}

/** Rows of a pipeline have no value for a column that is added later. */
async function requireNoWriter(guard: TableGuard, table: string, column: string): Promise<void> {
  const writers = (await guard.pipelinesOf(table)).filter(({ isLive, role }) => isLive && role === 'sink')
  if (writers.length === 0) return
  const named = writers.map(({ id }) => id).join(', ')
  const advice = 'Make the column optional, give it a write-default, or stop the pipeline first.'
  throw new DomainError('FORBIDDEN', `pipeline ${named} has no values for the new required column ${column}. ${advice}`)
}

const REFUSALS: ReadonlySet<string> = new Set<DomainError['code']>(['CONFLICT', 'PIPELINE_BEHIND'])

/** A client that gets a conflict would try again; this is to stay refused. */
async function forbid(check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (error) {
    if (!(error instanceof DomainError) || !REFUSALS.has(error.code)) throw error
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
