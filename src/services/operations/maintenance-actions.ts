import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { Engine } from '../../engines/engine.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { planTableCompaction, runCompaction } from '../../maintenance/compaction/compact.ts'
import { describeCompactionPlan } from '../../maintenance/compaction/result.ts'
import { type ColumnChange, type EvolveHooks, previewEvolve, runEvolve } from '../../maintenance/evolve.ts'
import { type ExpiryHooks, previewExpiry, runExpiry } from '../../maintenance/expiry/expire.ts'
import { readSnapshotId } from '../../maintenance/expiry/options.ts'
import { loadTarget, type OperationTarget } from '../../maintenance/operation-commit.ts'
import type { OperationHooks } from '../../maintenance/operation-hooks.ts'
import { previewRemoveOrphans, runRemoveOrphans } from '../../maintenance/orphans/orphan-files.ts'
import type { TableGuard } from '../../maintenance/table-guard.ts'
import type { Quarantine } from '../../maintenance/quarantine/quarantine.ts'
import { previewRestore, runRestore } from '../../maintenance/quarantine/restore.ts'
import { previewRewriteManifests, runRewriteManifests } from '../../maintenance/manifests/rewrite-manifests.ts'
import { previewRollback, type RollbackHooks, runRollback } from '../../maintenance/rollback.ts'
import type { AddColumnRequest, DropColumnRequest, RenameColumnRequest } from '../../schemas/tables/maintenance.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type { QuarantineService, RestorableEntry } from '../quarantine/quarantine-service.ts'
import type { OperationHandle } from './operation-service.ts'
import { columnInUse } from './column-refusal.ts'
import { requireAccepted } from './rollback-refusal.ts'

/** The kinds of operations that change a table. */
export type MaintenanceKind =
  | 'compact'
  | 'expire'
  | 'add_column'
  | 'rename_column'
  | 'drop_column'
  | 'rewrite_manifests'
  | 'remove_orphans'
  | 'rollback'
  | 'restore'

/** Options of an action under their wire names, without `table`, `dry_run` and `plan_id`. */
export type MaintenanceOptions = Readonly<Record<string, StoredJson | undefined>>

export interface ActionInput extends OperationTarget {
  readonly engine: Engine
  readonly request: MaintenanceOptions
  /** The time from which ages are measured; when a plan is applied, the time of the plan. */
  readonly nowMs: number
  /** Finds who depends on a table. */
  readonly guard?: TableGuard
  readonly quarantine: QuarantineService
  /** Who requested it. */
  readonly user: string
}

/** Outcome of an action, in the column names of Iceberg's procedures. */
export interface ActionOutcome {
  readonly base_snapshot_id: string | null
  readonly snapshot_id: string | null
  readonly rewritten_bytes_count?: number
  readonly added_bytes_count?: number
}

interface Action {
  /** What the action would do; changes nothing. */
  preview(input: ActionInput): Promise<ActionOutcome>
  run(input: ActionInput, handle: ActionHandle): Promise<ActionOutcome>
}

/** The handle of a running action. */
export interface ActionHandle extends OperationHandle {
  /** Called after each commit with the updated table. */
  readonly onCommitted: (table: Table) => void
}

/** Every maintenance action by its name in the ledger. */
export const MAINTENANCE_ACTIONS: Readonly<Record<MaintenanceKind, Action>> = {
  compact: {
    preview: async (input) => describeCompactionPlan(await planTableCompaction(await loadTarget(input), input.request)),
    run: (input, handle) =>
      runCompaction({
        ...input,
        operationId: handle.id,
        signal: handle.signal,
        hooks: {
          ...ledgerHooks(handle),
          onProgress: ({ filesDone, filesTotal, bytesDone, bytesTotal }) =>
            handle.progress({
              files_done: filesDone,
              files_total: filesTotal,
              bytes_done: bytesDone,
              bytes_total: bytesTotal,
            }),
        },
      }),
  },
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
  rewrite_manifests: {
    preview: (input) => previewRewriteManifests(input),
    run: (input, handle) =>
      runRewriteManifests({ ...input, operationId: handle.id, signal: handle.signal, hooks: ledgerHooks(handle) }),
  },
  remove_orphans: {
    preview: (input) => previewRemoveOrphans({ ...input, quarantine: quarantineIn(input, 'preview') }),
    run: (input, handle) =>
      runRemoveOrphans({ ...input, signal: handle.signal, quarantine: quarantineIn(input, handle.id) }),
  },
  rollback: {
    preview: (input) =>
      previewRollback({ ...input, snapshotId: targetSnapshot(input), hooks: { checkPipelines: affectedIn(input) } }),
    run: (input, handle) =>
      runRollback({
        ...input,
        snapshotId: targetSnapshot(input),
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

function quarantineIn({ quarantine, user }: ActionInput, id: string): Quarantine {
  return quarantine.of({ id, user })
}

function quarantineIdIn({ request }: ActionInput): string {
  const id = request['quarantine_id']
  return typeof id === 'string' ? id : ''
}

/** The entry that a restore is about. */
async function entryIn(input: ActionInput): Promise<RestorableEntry> {
  return input.quarantine.open(quarantineIdIn(input))
}

function targetSnapshot({ request }: ActionInput): bigint {
  return readSnapshotId(request['snapshot_id'], 'snapshot_id')
}

type CheckPipelines = NonNullable<RollbackHooks['checkPipelines']>

function affectedIn({ guard, catalog }: ActionInput): CheckPipelines {
  return async (table, undone) => (await guard?.affectedBy({ catalog, table, undone })) ?? []
}

/** Refuses a rollback that would break pipelines, unless they are stopped and the request names them. */
function acceptedIn(input: ActionInput): CheckPipelines {
  const accepted = input.request['accept_pipelines']
  return async (table, undone) => {
    const affected = await affectedIn(input)(table, undone)
    requireAccepted(affected, new Set(Array.isArray(accepted) ? accepted : []))
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
      const users = await guard.usersOf(formatIdentifier(identifier), column)
      const kept = request['force'] === true ? users.filter(({ kind }) => kind === 'pipeline') : users
      if (kept.length > 0) throw columnInUse(column.name, kept)
    },
  }
}

/** Records in the ledger what recovery after a crash needs. */
function ledgerHooks(handle: ActionHandle): OperationHooks {
  return {
    onCleanup: (cleanup) => handle.record({ cleanup }),
    onStaged: async (staged) => {
      await handle.record({ staged })
      await handle.confirm()
    },
    onCommitted: handle.onCommitted,
  }
}
