import { hasRole } from '../../../../../src/domain/roles.ts'
import { OPERATIONS, REQUESTED_KINDS } from '../../../../../src/domain/tables/operations.ts'
import type { Role } from '../../../api/types.ts'
import type { ActionKind } from './action-specs.ts'

/** The actions on a table that a role allows, in the order of menus. */
export function offeredActions(role: Role | undefined): readonly ActionKind[] {
  return REQUESTED_KINDS.filter((kind) => role !== undefined && hasRole(role, OPERATIONS[kind].request.minRole))
}
