import { DomainError } from '../../../domain/errors.ts'
import type { AccessedKind, AccessedObject, Role, SignedInUser } from '../../../domain/roles.ts'
import { hasRole } from '../../../domain/roles.ts'
import { fieldRefusal } from '../../../schemas/issues.ts'
import type { ObjectTables } from './object-tables.ts'
import { isLimited, requireTable, roleOnTable } from './require-access.ts'

/** A caller who uses an object. */
export interface ObjectUse {
  readonly caller: SignedInUser
  readonly object: AccessedObject
  readonly minimum: Role
}

/** See `TableAccess.requireObject`. */
export async function requireObject(objects: ObjectTables, use: ObjectUse): Promise<void> {
  const { caller, object, minimum } = use
  if (!isLimited(caller)) return
  if (object.kind === 'table') return requireTable(caller, object.id, minimum)
  const found = await objects.of(object)
  if (found === undefined) return
  for (const table of found.tables) {
    if (roleOnTable(caller, table) === undefined) throw NOT_FOUND[object.kind](object.id)
  }
  for (const table of found.tables) {
    const role = roleOnTable(caller, table, found.environment)
    if (role !== undefined && hasRole(role, minimum)) continue
    const where = found.environment === undefined ? '' : ` for ${found.environment}`
    throw new DomainError(
      'FORBIDDEN',
      `this needs the role ${minimum} on ${table}${where}; ${caller.user} is ${role ?? 'without a role'} there`,
    )
  }
}

/** The errors of the services for objects that do not exist. */
const NOT_FOUND: Readonly<Record<Exclude<AccessedKind, 'table'>, (id: string) => DomainError>> = {
  pipeline: (id) => new DomainError('NOT_FOUND', `no pipeline ${id}`),
  definition: (id) => new DomainError('NOT_FOUND', `no pipeline definition ${id}`),
  version: (id) => fieldRefusal('NOT_FOUND', [{ path: 'version_id', message: `names no version: ${id}` }]),
  move: (id) => new DomainError('NOT_FOUND', `no version ${id}`),
  operation: (id) => new DomainError('NOT_FOUND', `no operation ${id}`),
  quarantine: (id) => new DomainError('NOT_FOUND', `no entry ${id} in quarantine`),
  approval: (id) => new DomainError('NOT_FOUND', `no approval request ${id}`),
}
