import { DomainError } from '../domain/errors.ts'
import { hasRole, type Role, type SignedInUser } from '../domain/roles.ts'

/** The caller, who has at least the given role; throws `UNAUTHENTICATED` without a caller, else `FORBIDDEN`. */
export function requireRole(caller: SignedInUser | undefined, minimum: Role): SignedInUser {
  if (!caller) throw new DomainError('UNAUTHENTICATED', 'this needs a token: Authorization: Bearer <token>')
  if (hasRole(caller.role, minimum)) return caller
  throw new DomainError('FORBIDDEN', `this needs the role ${minimum}; ${caller.user} is ${caller.role}`)
}
