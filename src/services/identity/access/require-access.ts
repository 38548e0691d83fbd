import { noSuchTable, parseIdentifier } from '../../../catalog/table-identifier.ts'
import { DomainError } from '../../../domain/errors.ts'
import { type Caller, hasRole, type Role } from '../../../domain/roles.ts'

/** Whether grants leave the caller some tables only (docs/api.md#grants). */
export function isLimited({ access }: Caller): boolean {
  return access?.isLimited === true
}

/** The caller's role on a table; undefined: the table does not exist for the caller. The one reader of `Caller.access`. */
export function roleOnTable({ access, role }: Caller, table: string, environment?: string): Role | undefined {
  return access === undefined || !access.isLimited ? role : access.roleOn(table, environment)
}

/** Whether a table exists for the caller. */
export function seesTable(caller: Caller, table: string): boolean {
  return roleOnTable(caller, table) !== undefined
}

/** Whether all tables exist for the caller. What names no table is visible to everybody. */
export function seesTables(caller: Caller, tables: Iterable<string>): boolean {
  if (!isLimited(caller)) return true
  for (const table of tables) if (!seesTable(caller, table)) return false
  return true
}

/**
 * Requires a role on a table. Throws `NO_SUCH_TABLE`, with the words of the catalogs, when the table does not exist for the
 * caller, and `FORBIDDEN` when the caller's role on it is lower.
 */
export function requireTable(caller: Caller, table: string, minimum: Role): void {
  if (!isLimited(caller)) return
  const role = roleOnTable(caller, table)
  if (role === undefined) throw noSuchTable(parseIdentifier(table))
  if (!hasRole(role, minimum)) throw roleTooLow(caller, { table, minimum, role })
}

/** Requires a role on each of the tables; errors as {@link requireTable}. */
export function requireTables(caller: Caller, tables: Iterable<string>, minimum: Role): void {
  if (!isLimited(caller)) return
  for (const table of tables) requireTable(caller, table, minimum)
}

interface TooLow {
  readonly table: string
  readonly minimum: Role
  readonly role: Role
}

function roleTooLow({ user }: Caller, { table, minimum, role }: TooLow): DomainError {
  return new DomainError('FORBIDDEN', `this needs the role ${minimum} on ${table}; ${user} is ${role} there`)
}

/** Requires a caller whom grants do not limit, for what may name any table. Throws `FORBIDDEN`. */
export function requireUnlimited(caller: Caller): void {
  if (!isLimited(caller)) return
  const rule = 'this needs the role LeadDataEngineer while grants limit tables, because it may name any table'
  throw new DomainError('FORBIDDEN', `${rule}; ${caller.user} is ${caller.role}`)
}
