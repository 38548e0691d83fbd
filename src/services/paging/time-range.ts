import type { DomainError } from '../../domain/errors.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

/** Throws `INVALID_REQUEST` for a range of time that ends before it begins. Both times are RFC 3339 in UTC. */
export function requireRange({
  from,
  to,
}: {
  readonly from?: string | undefined
  readonly to?: string | undefined
}): void {
  if (from !== undefined && to !== undefined && from > to) throw wrongRange(to)
}

function wrongRange(to: string): DomainError {
  return fieldRefusal('INVALID_REQUEST', [{ path: 'from', message: `must not be after to (${to})` }])
}
