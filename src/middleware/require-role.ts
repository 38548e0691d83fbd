import { createMiddleware } from 'hono/factory'
import { DomainError } from '../domain/errors.ts'
import { hasRole, type Role } from '../domain/roles.ts'
import type { AppEnv } from './app-env.ts'

/** Lets only callers of at least the given role through: 401 without a credential, 403 below the role. */
export function requireRole(minimum: Role | 'none') {
  return createMiddleware<AppEnv>(async function checkRole(c, next) {
    if (minimum !== 'none') {
      const caller = c.get('caller')
      if (!caller) throw new DomainError('UNAUTHENTICATED', 'this needs a token: Authorization: Bearer <token>')
      if (!hasRole(caller.role, minimum)) {
        throw new DomainError('FORBIDDEN', `this needs the role ${minimum}; ${caller.user} is ${caller.role}`)
      }
    }
    await next()
  })
}
