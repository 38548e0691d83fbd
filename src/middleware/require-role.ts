import { DomainError } from '../domain/errors.ts'
import { type Caller, hasRole, type Role } from '../domain/roles.ts'

/** Throws unless the caller has at least the given role: `UNAUTHENTICATED` without a caller, else `FORBIDDEN`. */
export function requireRole(caller: Caller | undefined, minimum: Role | 'none'): void {
  if (minimum === 'none') return
  if (!caller) throw new DomainError('UNAUTHENTICATED', 'this needs a token: Authorization: Bearer <token>')
  if (hasRole(caller.role, minimum)) return
  throw new DomainError('FORBIDDEN', `this needs the role ${minimum}; ${caller.user} is ${caller.role}`)
}
