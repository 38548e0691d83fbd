import type { SignedInUser } from '../../domain/roles.ts'
import { sha256Hex } from '../../lib/sha256.ts'

const SCRAPER: SignedInUser = { user: 'metrics', role: 'Auditor', via: 'token' }

/** Who sends `METRICS_TOKEN`: a caller for the metrics only. Without a token in the configuration, nobody does. */
export function createMetricsAccess(token: string | undefined): (given: string) => SignedInUser | undefined {
  if (token === undefined) return () => undefined
  const expected = sha256Hex(token)
  return (given) => (isSame(sha256Hex(given), expected) ? SCRAPER : undefined)
}

/** Compares two hashes; takes the same time wherever they differ. */
function isSame(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let at = 0; at < a.length; at += 1) difference |= a.charCodeAt(at) ^ b.charCodeAt(at)
  return difference === 0
}
