import type { ChangeRequest, Versioned } from '../../../domain/change-request.ts'
import { compileGrants, type CompiledGrants, type Grant } from '../../../domain/tables/grants.ts'
import { requireVersion } from '../../../domain/precondition.ts'
import { hasRole, type Role, type SignedInUser, type TableAccess } from '../../../domain/roles.ts'
import type { accessAnswer, AccessQuery } from '../../../schemas/tables/access.ts'
import type { Wire } from '../../../schemas/wire.ts'
import type { StoredJson } from '../../../storage/json-column.ts'
import { createSettingsStore, type SettingsStore } from '../../../storage/stores/settings-store.ts'
import type { InTransaction } from '../../../storage/transactions.ts'
import type { AuditRecorder } from '../../audit/audit-service.ts'
import type { EventWriter } from '../../events/event-log.ts'
import type { ObjectTables } from './object-tables.ts'
import { requireTables } from './require-access.ts'
import { requireObject } from './require-object.ts'

export interface AccessServiceDeps {
  readonly settings: SettingsStore
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  readonly now: () => Date
  /** Finds the tables of objects. */
  readonly objects: ObjectTables
}

/** Grants on tables (docs/api.md#grants). */
export interface AccessService {
  list(): Promise<Versioned<readonly Grant[]>>
  /** Replaces all grants, at once in this process and within a second in others. Throws `PRECONDITION_FAILED`. */
  replace(grants: readonly Grant[], change: ChangeRequest): Promise<Versioned<readonly Grant[]>>
  /** Which grants give a user or group which role on a table. */
  explain(query: AccessQuery): Wire<typeof accessAnswer>
  /** The user with an access that follows the grants. */
  withAccess(user: SignedInUser): SignedInUser
  /** Reads grants that another process has changed. */
  refresh(): Promise<void>
}

const KEY = 'grants'

interface Current {
  readonly revision: number
  readonly compiled: CompiledGrants
}

/** Grants in the state database; the current ones are compiled in memory. */
export async function createAccessService(deps: AccessServiceDeps): Promise<AccessService> {
  const { settings } = deps
  let current: Current = { revision: 0, compiled: compileGrants([]) }
  const adopt = (revision: number, grants: readonly Grant[]): void => {
    // of two that were read at the same time, the newer one counts
    if (revision > current.revision) current = { revision, compiled: compileGrants(grants) }
  }
  const read = async () => stored(settings)
  const refresh = async (): Promise<void> => {
    const { revision, grants } = await read()
    adopt(revision, grants)
  }
  await refresh()
  return {
    refresh,
    async list() {
      const { revision, grants } = await read()
      return { value: grants, tag: revision }
    },
    async replace(grants, change) {
      const revision = await store(deps, grants, change)
      adopt(revision, grants)
      return { value: grants, tag: revision }
    },
    explain: (query) => explain(current.compiled, query),
    withAccess: (user) => ({ ...user, access: accessOf(user, deps.objects, () => current.compiled) }),
  }
}

/** The access of a user, by the grants as they are when it is asked. */
function accessOf(user: SignedInUser, objects: ObjectTables, current: () => CompiledGrants): TableAccess {
  const access: TableAccess = {
    get isLimited() {
      return user.role !== 'LeadDataEngineer' && !current().isEmpty
    },
    roleOn: (table, environment) => current().roleOn(user, table, environment),
    requireObject: (object, minimum) => requireObject(objects, { caller: { ...user, access }, object, minimum }),
    async requireGraph(graph, minimum) {
      if (access.isLimited) requireTables({ ...user, access }, await objects.ofGraph(graph), minimum)
    },
    async isVisible(object) {
      const found = await objects.of(object)
      return found?.tables.every((table) => access.roleOn(table) !== undefined) ?? false
    },
    async visibleDefinitions(ids) {
      if (!access.isLimited) return new Set(ids)
      const tables = await objects.ofDefinitions(ids)
      const sees = (id: string): boolean =>
        tables.get(id)?.every((table) => access.roleOn(table) !== undefined) ?? false
      return new Set(ids.filter(sees))
    },
  }
  return access
}

async function stored(settings: SettingsStore): Promise<{ readonly revision: number; readonly grants: Grant[] }> {
  const found = await settings.get(KEY)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only checked grants are stored
  return { revision: found?.revision ?? 0, grants: (found?.value ?? []) as unknown as Grant[] }
}

async function store(deps: AccessServiceDeps, grants: readonly Grant[], change: ChangeRequest): Promise<number> {
  return deps.inTransaction(async (tx) => {
    const settings = createSettingsStore(tx)
    const { revision: expectedRevision, grants: before } = await stored(settings)
    requireVersion(change.precondition, expectedRevision)
    const after = grants.map(toStored)
    const revision = await settings.set(KEY, after, { expectedRevision, now: deps.now() })
    if (revision === undefined) throw new Error('grants changed inside of a transaction')
    const object = { objectType: 'grants', objectId: KEY } as const
    const details = { before: before.map(toStored), after }
    await deps.audit.record(tx, { ...change.context, action: 'grants.update', ...object, details })
    const data = { count: grants.length, revision } // readable by everybody: no names
    await deps.events.append(tx, { type: 'grants.updated', ...object, data })
    return revision
  })
}

function toStored({ principal, role, tables, except, environments }: Grant): { readonly [key: string]: StoredJson } {
  return {
    principal,
    role,
    tables: [...tables],
    ...(except === undefined ? {} : { except: [...except] }),
    ...(environments === undefined ? {} : { environments: [...environments] }),
  }
}

function explain(
  compiled: CompiledGrants,
  { user, group, table, environment }: AccessQuery,
): Wire<typeof accessAnswer> {
  const groups = group === undefined ? [] : [group]
  const principal = { user: user ?? '', role: 'DataEngineer', groups } as const
  const grants = compiled.matching(principal, table, environment)
  return {
    success: true,
    table,
    limited: !compiled.isEmpty,
    role: grants.reduce<Role | null>((best, { role }) => (best === null || hasRole(role, best) ? role : best), null),
    grants,
  }
}
