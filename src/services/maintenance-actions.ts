import type { Catalog } from '../catalog/catalog.ts'
import { formatIdentifier } from '../catalog/table-identifier.ts'
import { DomainError } from '../domain/errors.ts'
import type { Engine } from '../engines/engine.ts'
import type { TableIdentifier } from '../iceberg/table.ts'
import { planTableCompaction, runCompaction } from '../maintenance/compaction.ts'
import { describeCompactionPlan } from '../maintenance/compaction-result.ts'
import { type ColumnChange, type EvolveHooks, previewEvolve, runEvolve } from '../maintenance/evolve.ts'
import { type ExpiryHooks, previewExpiry, runExpiry } from '../maintenance/expiry.ts'
import { readSnapshotId } from '../maintenance/expiry-options.ts'
import { type OperationHooks, requireUnchanged } from '../maintenance/operation-hooks.ts'
import { previewRemoveOrphans, runRemoveOrphans } from '../maintenance/orphan-files.ts'
import type { ColumnUser, TableGuard } from '../maintenance/table-guard.ts'
import { previewRewriteManifests, runRewriteManifests } from '../maintenance/rewrite-manifests.ts'
import { previewRollback, runRollback } from '../maintenance/rollback.ts'
import type { AddColumnRequest, DropColumnRequest, RenameColumnRequest } from '../schemas/maintenance.ts'
import type { StoredJson } from '../storage/json-column.ts'
import type { OperationHandle } from './operation-service.ts'

/** What changes a table. */
export type MaintenanceKind =
  | 'compact'
  | 'expire'
  | 'add_column'
  | 'rename_column'
  | 'drop_column'
  | 'rewrite_manifests'
  | 'remove_orphans'
  | 'rollback'

/** Options of an action under their wire names, without `table`, `dry_run` and `plan_id`. */
export type MaintenanceOptions = Readonly<Record<string, StoredJson | undefined>>

export interface ActionInput {
  readonly catalog: Catalog
  readonly engine: Engine
  readonly identifier: TableIdentifier
  readonly request: MaintenanceOptions
  /** The time that ages are measured from; when a plan is applied, the time of the plan. */
  readonly nowMs: number
  /** Set when a plan is applied: the table must still be this one. */
  readonly expectedMetadataLocation?: string
  /** Who depends on tables. */
  readonly guard?: TableGuard
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
  run(input: ActionInput, handle: OperationHandle): Promise<ActionOutcome>
}

/** Every maintenance action by its name in the ledger. */
export const MAINTENANCE_ACTIONS: Readonly<Record<MaintenanceKind, Action>> = {
  compact: {
    async preview({ catalog, identifier, request, expectedMetadataLocation }) {
      const table = await catalog.loadTable(identifier)
      requireUnchanged(table, expectedMetadataLocation)
      return describeCompactionPlan(await planTableCompaction(table, request))
    },
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
      runExpiry({ ...input, signal: handle.signal, hooks: { ...ledgerHooks(handle), ...pinHooks(input) } }),
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
    preview: (input) => previewRemoveOrphans(input),
    run: (input, handle) => runRemoveOrphans({ ...input, signal: handle.signal }),
  },
  rollback: {
    preview: (input) => previewRollback({ ...input, snapshotId: targetSnapshot(input) }),
    run: (input, handle) =>
      runRollback({
        ...input,
        snapshotId: targetSnapshot(input),
        signal: handle.signal,
        hooks: ledgerHooks(handle),
      }),
  },
}

function targetSnapshot({ request }: ActionInput): bigint {
  return readSnapshotId(request['snapshot_id'], 'snapshot_id')
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

/** A column that somebody uses is neither renamed nor dropped; `force` breaks versions, never pipelines that run. */
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

const MAX_LISTED_USERS = 20

function columnInUse(name: string, users: readonly ColumnUser[]): DomainError {
  const listed = users.slice(0, MAX_LISTED_USERS).map(describeUser)
  const more = users.length > listed.length ? ` and ${users.length - listed.length} more` : ''
  const advice = users.some(({ kind }) => kind === 'pipeline')
    ? 'stop the pipelines first'
    : 'retire the versions first, or let a LeadDataEngineer send force: true'
  const fields = listed.map((user) => ({ path: 'name', message: `used by ${user}` }))
  const message = `name: column ${name} is used by ${listed.join(', ')}${more}; ${advice}`
  return new DomainError('CONFLICT', message, { fields })
}

function describeUser(user: ColumnUser): string {
  if (user.kind === 'pipeline') return `pipeline ${user.id}`
  const { definition, environment, id, nodeIds, version } = user
  return `version ${version} of ${definition} (${environment}, ${id}, node ${nodeIds.join(', ')})`
}

/** Records in the ledger what a restart after a crash must know. */
function ledgerHooks(handle: OperationHandle): OperationHooks {
  return {
    onCleanup: (cleanup) => handle.record({ cleanup }),
    onStaged: (stagedMetadataLocation) => handle.record({ stagedMetadataLocation }),
  }
}
