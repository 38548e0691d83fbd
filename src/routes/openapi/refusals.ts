import { STATUS } from '../../middleware/error-handler.ts'
import type { Route } from '../routing/route.ts'

/** Any request: malformed, a bad credential, too many, headers too long, an unexpected error, a dependency not available. */
const ANY_REQUEST = [400, 401, 429, 431, 500, 503]

/**
 * The statuses of the error answers that a route can give, ascending: those that follow from its shape and role, and
 * those it names itself in `refuses`.
 */
export function refusalStatuses(route: Route): readonly number[] {
  const statuses = new Set([...ANY_REQUEST, ...(route.refuses ?? [])])
  const add = (condition: boolean, ...more: readonly number[]): void => {
    if (condition) for (const status of more) statuses.add(status)
  }
  add(route.minRole !== 'none', 403)
  add(route.method !== 'get', 403, 408, 413) // a foreign origin; body limits apply before validation
  add(route.body !== undefined, 415)
  add(route.params !== undefined || route.unavailable !== undefined, 404)
  add(route.method === 'post' && route.minRole !== 'none', 409, 422) // an Idempotency-Key in use, or used for another request
  add(route.headers?.includes('If-Match') ?? false, 412)
  return [...statuses].sort((a, b) => a - b)
}

/** The error codes that are answered with a status, in the order of the closed list. */
export function codesOf(status: number): readonly string[] {
  return Object.entries(STATUS).flatMap(([code, its]) => (its === status ? [code] : []))
}
