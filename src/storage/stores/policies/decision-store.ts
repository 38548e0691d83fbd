import type { Kysely } from 'kysely'

import { afterCursor } from '../../page-query.ts'
import { type Page, pageOf, type PageRequest } from '../../page.ts'
import type { PolicyDecisionsTable, PolicyTableStatesTable } from '../../automation-schema.ts'
import { flagColumns, type WithFlags } from '../../flag-columns.ts'
import type { StateTables } from '../../schema.ts'

const flags = flagColumns('is_suspended')

/** What a policy knows of an operation on a table. */
export type PolicyTableState = WithFlags<PolicyTableStatesTable, 'is_suspended'>

/** Which decisions of a policy to list. */
export interface DecisionFilter {
  readonly table?: string | undefined
  readonly outcome?: string | undefined
}

/** Measured gains of the runs of a policy. */
export interface PolicyGains {
  readonly runs: number
  readonly filesRemoved: number
  readonly deleteFilesRemoved: number
  readonly bytesFreed: number
  readonly bytesRewritten: number
  readonly storageFreedBytes: number
  readonly planningSavedUs: number
  readonly scanRequestsSaved: number
  /** What the plans of the same runs expected. */
  readonly projected: {
    readonly filesRemoved: number
    readonly deleteFilesRemoved: number
    readonly bytesFreed: number
  }
}

/** Which operation of which policy on which table. */
export type StateKey = Pick<PolicyTableState, 'policy_id' | 'table_name' | 'operation'>

/** What policies decided, and what they know of each table. */
export interface DecisionStore {
  find(id: string): Promise<PolicyDecisionsTable | undefined>
  /** Newest first. */
  list(policyId: string, filter: DecisionFilter, page: PageRequest): Promise<Page<PolicyDecisionRow>>
  /** Those that run. */
  running(): Promise<readonly PolicyDecisionsTable[]>
  /** Planned bytes of the runs of a policy that began at `since` or later. */
  bytesSince(policyId: string, since: string): Promise<number>
  insert(row: PolicyDecisionsTable): Promise<void>
  update(id: string, columns: Partial<PolicyDecisionsTable>): Promise<void>
  /** Ends a running decision; false, with nothing changed, when it had ended. */
  end(id: string, columns: Partial<PolicyDecisionsTable>): Promise<boolean>
  gains(): Promise<ReadonlyMap<string, PolicyGains>>
  states(): Promise<readonly PolicyTableState[]>
  /** Those of some policies and tables. */
  statesOf(policyIds: readonly string[], tables: readonly string[]): Promise<readonly PolicyTableState[]>
  state(key: StateKey): Promise<PolicyTableState | undefined>
  saveState(state: PolicyTableState): Promise<void>
  /** Ends suspensions and waits, of one table or of all; returns the tables that were suspended. */
  resume(policyId: string, table?: string): Promise<readonly string[]>
  /** Removes decisions that ended before `at`. */
  prune(at: string): Promise<void>
}

/** Decisions in the order of lists. */
export type PolicyDecisionRow = PolicyDecisionsTable & { readonly createdAt: string }

/** Names in one query: databases limit the parameters of a statement. */
const NAMES_AT_ONCE = 500

/** Decisions in the state database. */
export function createDecisionStore(db: Kysely<StateTables>): DecisionStore {
  return { ...decisions(db), ...states(db) }
}

/** The part of the store about what policies know of each table. */
type StateStore = Pick<DecisionStore, 'states' | 'statesOf' | 'state' | 'saveState' | 'resume'>

function decisions(db: Kysely<StateTables>): Omit<DecisionStore, keyof StateStore> {
  return {
    find: (id) => db.selectFrom('policy_decisions').selectAll().where('id', '=', id).executeTakeFirst(),
    list: (policyId, filter, page) => list(db, policyId, { filter, page }),
    running: () => db.selectFrom('policy_decisions').selectAll().where('outcome', '=', 'running').execute(),
    async bytesSince(policyId, since) {
      const rows = await db
        .selectFrom('policy_decisions')
        .select('planned_bytes')
        .where('policy_id', '=', policyId)
        .where('created_at', '>=', since)
        .where((where) => where.or([where('operation_id', 'is not', null), where('outcome', '=', 'running')]))
        .execute()
      return rows.reduce((total, row) => total + (row.planned_bytes ?? 0), 0)
    },
    async insert(row) {
      await db.insertInto('policy_decisions').values(row).execute()
    },
    async update(id, columns) {
      await db.updateTable('policy_decisions').set(columns).where('id', '=', id).execute()
    },
    async end(id, columns) {
      const query = db.updateTable('policy_decisions').set(columns).where('id', '=', id)
      return (await query.where('outcome', '=', 'running').executeTakeFirst()).numUpdatedRows === 1n
    },
    gains: () => gains(db),
    async prune(at) {
      const old = db.deleteFrom('policy_decisions').where('updated_at', '<', at)
      await old.where('outcome', '!=', 'running').execute()
    },
  }
}

function states(db: Kysely<StateTables>): StateStore {
  return {
    async states() {
      const rows = await db.selectFrom('policy_table_states').selectAll().execute()
      return rows.map((row) => flags.read(row))
    },
    async statesOf(policyIds, tables) {
      const found: PolicyTableState[] = []
      for (let at = 0; at < tables.length; at += NAMES_AT_ONCE) {
        const some = tables.slice(at, at + NAMES_AT_ONCE)
        const rows = db.selectFrom('policy_table_states').selectAll().where('policy_id', 'in', policyIds)
        for (const row of await rows.where('table_name', 'in', some).execute()) found.push(flags.read(row))
      }
      return found
    },
    async state(key) {
      const row = await db
        .selectFrom('policy_table_states')
        .selectAll()
        .where('policy_id', '=', key.policy_id)
        .where('table_name', '=', key.table_name)
        .where('operation', '=', key.operation)
        .executeTakeFirst()
      return row && flags.read(row)
    },
    async saveState(state) {
      const row = flags.write(state)
      await db
        .insertInto('policy_table_states')
        .values(row)
        .onConflict((conflict) => conflict.columns(['policy_id', 'table_name', 'operation']).doUpdateSet(row))
        .execute()
    },
    resume: (policyId, table) => resume(db, policyId, table),
  }
}

async function list(
  db: Kysely<StateTables>,
  policyId: string,
  { filter, page }: { readonly filter: DecisionFilter; readonly page: PageRequest },
): Promise<Page<PolicyDecisionRow>> {
  let query = db.selectFrom('policy_decisions').selectAll().where('policy_id', '=', policyId)
  if (filter.table !== undefined) query = query.where('table_name', '=', filter.table)
  if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome)
  const rows = await afterCursor(query.orderBy('created_at', 'desc').orderBy('id', 'desc'), page).execute()
  return pageOf(
    rows.map((row) => ({ ...row, createdAt: row.created_at })),
    page.limit,
  )
}

async function resume(
  db: Kysely<StateTables>,
  policyId: string,
  table: string | undefined,
): Promise<readonly string[]> {
  const suspended = await db
    .selectFrom('policy_table_states')
    .select('table_name')
    .distinct()
    .where('policy_id', '=', policyId)
    .where('is_suspended', '=', 1)
    .$if(table !== undefined, (query) => query.where('table_name', '=', table ?? ''))
    .orderBy('table_name')
    .execute()
  await db
    .updateTable('policy_table_states')
    .set({ is_suspended: 0, failures: 0, not_before_ms: null })
    .where('policy_id', '=', policyId)
    .$if(table !== undefined, (query) => query.where('table_name', '=', table ?? ''))
    .execute()
  return suspended.map(({ table_name: name }) => name)
}

const FIGURES = [
  'files_removed',
  'delete_files_removed',
  'bytes_freed',
  'bytes_rewritten',
  'storage_freed_bytes',
  'planning_saved_us',
  'scan_requests_saved',
  'projected_files_removed',
  'projected_delete_files_removed',
  'projected_bytes_freed',
] as const satisfies readonly (keyof PolicyDecisionsTable)[]

type FigureRow = Pick<PolicyDecisionsTable, (typeof FIGURES)[number]>

async function gains(db: Kysely<StateTables>): Promise<ReadonlyMap<string, PolicyGains>> {
  const rows = await db
    .selectFrom('policy_decisions')
    .select(['policy_id', ...FIGURES])
    .where('outcome', '=', 'ran')
    .execute()
  const sums = new Map<string, PolicyGains>()
  for (const row of rows) sums.set(row.policy_id, plus(sums.get(row.policy_id) ?? NO_GAINS, row))
  return sums
}

function plus(sum: PolicyGains, row: FigureRow): PolicyGains {
  const { projected } = sum
  return {
    runs: sum.runs + 1,
    filesRemoved: sum.filesRemoved + (row.files_removed ?? 0),
    deleteFilesRemoved: sum.deleteFilesRemoved + (row.delete_files_removed ?? 0),
    bytesFreed: sum.bytesFreed + (row.bytes_freed ?? 0),
    bytesRewritten: sum.bytesRewritten + (row.bytes_rewritten ?? 0),
    storageFreedBytes: sum.storageFreedBytes + (row.storage_freed_bytes ?? 0),
    planningSavedUs: sum.planningSavedUs + (row.planning_saved_us ?? 0),
    scanRequestsSaved: sum.scanRequestsSaved + (row.scan_requests_saved ?? 0),
    projected: {
      filesRemoved: projected.filesRemoved + (row.projected_files_removed ?? 0),
      deleteFilesRemoved: projected.deleteFilesRemoved + (row.projected_delete_files_removed ?? 0),
      bytesFreed: projected.bytesFreed + (row.projected_bytes_freed ?? 0),
    },
  }
}

/** The gains of a policy that has not run. */
export const NO_GAINS: PolicyGains = {
  runs: 0,
  filesRemoved: 0,
  deleteFilesRemoved: 0,
  bytesFreed: 0,
  bytesRewritten: 0,
  storageFreedBytes: 0,
  planningSavedUs: 0,
  scanRequestsSaved: 0,
  projected: { filesRemoved: 0, deleteFilesRemoved: 0, bytesFreed: 0 },
}
