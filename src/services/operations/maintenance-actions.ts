import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { OperationKind } from '../../domain/tables/operations.ts'
import { type ColumnChange, type EvolveHooks, previewEvolve, runEvolve } from '../../maintenance/evolve.ts'
import { type ExpiryHooks, previewExpiry, runExpiry } from '../../maintenance/expiry/expire.ts'
import { readSnapshotId, readTimestamp } from '../../maintenance/expiry/options.ts'
import { previewRestore, runRestore } from '../../maintenance/quarantine/restore.ts'
import { previewRollback, type RollbackHooks, type RollbackTarget, runRollback } from '../../maintenance/rollback.ts'
import type { AddColumnRequest, DropColumnRequest, RenameColumnRequest } from '../../schemas/tables/maintenance.ts'
import type { RestorableEntry } from './quarantine/quarantine-service.ts'
import { type Action, type ActionInput, ledgerHooks, quarantineIn } from './action.ts'
import { columnInUse } from './column-refusal.ts'
import { convertDeletesAction } from './convert-deletes-action.ts'
import { compactAction, removeOrphansAction, rewriteManifestsAction } from './engine-actions.ts'
import { rewriteDeletesAction } from './rewrite-deletes-action.ts'
import { requireAccepted } from './rollback-refusal.ts'

/** Every maintenance action by its name in the ledger. */
export const MAINTENANCE_ACTIONS: Readonly<Record<OperationKind, Action>> = {
  compact: compactAction,
  expire: {
    preview: (input) => previewExpiry({ ...input, hooks: pinHooks(input) }),
    run: (input, handle) =>
      runExpiry({
        ...input,
        signal: handle.signal,
        hooks: { ...ledgerHooks(handle), ...pinHooks(input), quarantine: quarantineIn(input, handle.id) },
      }),
  },
  add_column: evolution((request: Omit<AddColumnRequest, 'table'>) => ({
    kind: 'add_column',
    name: request.name,
    type: request.type,
    ...(request.after === undefined ? {} : { after: request.after }),
    ...(request.first === undefined ? {} : { first: request.first }),
    ...(typeof request.comment === 'string' ? { comment: request.comment } : {}),
  })),
  rename_column: evolution((request: Omit<RenameColumnRequest, 'table'>) => ({
    kind: 'rename_column',
    name: request.name,
    newName: request.new_name,
  })),
  drop_column: evolution((request: Omit<DropColumnRequest, 'table'>) => ({ kind: 'drop_column', name: request.name })),
  convert_deletes: convertDeletesAction,
  rewrite_position_deletes: rewriteDeletesAction,
  rewrite_manifests: rewriteManifestsAction,
  remove_orphans: removeOrphansAction,
  rollback: {
    preview: (input) =>
      previewRollback({ ...input, ...rollbackTarget(input), hooks: { checkPipelines: affectedIn(input) } }),
    run: (input, handle) =>
      runRollback({
        ...input,
        ...rollbackTarget(input),
        signal: handle.signal,
        hooks: { ...ledgerHooks(handle), checkPipelines: acceptedIn(input) },
      }),
  },
  restore: {
    preview: async (input) => previewRestore({ ...input, ...(await entryIn(input)) }),
    async run(input, handle) {
      const id = quarantineIdIn(input)
      const outcome = await runRestore({
        ...input,
        ...(await entryIn(input)),
        signal: handle.signal,
        hooks: ledgerHooks(handle),
        onBegin: () => input.quarantine.beginRestore(id),
      })
      await input.quarantine.endRestore(id)
      return outcome
    },
  },
}

function quarantineIdIn({ request }: ActionInput): string {
  const id = request['quarantine_id']
  return typeof id === 'string' ? id : ''
}

/** The entry that a restore is about. */
async function entryIn(input: ActionInput): Promise<RestorableEntry> {
  return input.quarantine.open(quarantineIdIn(input))
}

function rollbackTarget({ request, nowMs }: ActionInput): RollbackTarget {
  const timestampMs = readTimestamp(request, 'to_timestamp')
  if (timestampMs !== undefined) return { timestampMs, nowMs }
  return { snapshotId: readSnapshotId(request['snapshot_id'], 'snapshot_id') }
}

type CheckPipelines = NonNullable<RollbackHooks['checkPipelines']>

function affectedIn({ guard, catalog }: ActionInput): CheckPipelines {
  return async (table, undone) => (await guard?.affectedBy({ catalog, table, undone })) ?? []
}

/** Refuses a rollback that would break pipelines, unless they are stopped and the request names them. */
function acceptedIn(input: ActionInput): CheckPipelines {
  const { accept_pipelines: accepted, to_timestamp: time } = input.request
  const target = time === undefined ? 'snapshot_id' : 'to_timestamp'
  return async (table, undone) => {
    const affected = await affectedIn(input)(table, undone)
    requireAccepted(affected, new Set(Array.isArray(accepted) ? accepted : []), target)
    return affected
  }
}

function evolution(toChange: (request: never) => ColumnChange): Action {
  const change = (input: ActionInput): ColumnChange => toChange(input.request as never) // validated by the route's schema
  return {
    preview: (input) => previewEvolve({ ...input, change: change(input), hooks: userHooks(input) }),
    run: (input, handle) => {
      const hooks = { ...ledgerHooks(handle), ...userHooks(input) }
      return runEvolve({ ...input, change: change(input), signal: handle.signal, hooks })
    },
  }
}

function pinHooks({ guard }: ActionInput): Pick<ExpiryHooks, 'pinsOf'> {
  return guard === undefined ? {} : { pinsOf: (table) => guard.pinsOf(table) }
}

/** Refuses to rename or drop a column in use; `force` allows breaking versions, never running pipelines. */
function userHooks({ guard, identifier, request }: ActionInput): EvolveHooks {
  if (guard === undefined) return {}
  return {
    async checkUsers(column) {
      const users = (await guard.usersOf(formatIdentifier(identifier), [column])).map(({ user }) => user)
      const kept = request['force'] === true ? users.filter(({ kind }) => kind === 'pipeline') : users
      if (kept.length > 0) throw columnInUse(column.name, kept)
    },
  }
}
