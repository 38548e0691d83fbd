import type { AuditEntry } from './audit-service.ts'

/** A refusal of a request without a valid credential. */
export interface AnonymousRefusal {
  /** The key that the client is counted by; undefined when the host does not know its address. */
  readonly client: string | undefined
  readonly status: number
  readonly code: string | undefined
  readonly path: string
  readonly entry: AuditEntry
}

/** Aggregates anonymous refusals, so that they cannot fill the audit log; see {@link createAnonymousRefusals}. */
export interface AnonymousRefusals {
  /** The entries to write now: the refusal's own when it is the first of its kind, and the summaries of a past hour. */
  add(refusal: AnonymousRefusal): readonly AuditEntry[]
  /** The summaries of the previous hour, returned once; with `all` also those of the current hour. */
  take(options?: { readonly all: boolean }): readonly AuditEntry[]
}

/** Kinds (client, status, code) with their own entries in an hour; all others share one entry per status and code. */
const MAX_KINDS = 100
const HOUR_MS = 3_600_000

interface Kind {
  readonly first: AnonymousRefusal
  /** How many more arrived that have no entry. */
  more: number
  firstAt: string
  lastAt: string
  lastPath: string
}

/**
 * Writes at most two entries per hour for each client, status and code: the first refusal as it is, and the number of
 * further ones. Memory is bounded, whatever the number of clients.
 */
export function createAnonymousRefusals(now: () => Date): AnonymousRefusals {
  let kinds = new Map<string, Kind>()
  let hour = hourOf(now())

  function take({ all } = { all: false }): readonly AuditEntry[] {
    if (!all && hourOf(now()) === hour) return []
    const over = [...kinds.values()]
    kinds = new Map()
    hour = hourOf(now())
    return over.filter(({ more }) => more > 0).map(summary)
  }

  return {
    take,
    add(refusal) {
      const due = take()
      const at = now().toISOString()
      const own = `${refusal.client ?? ''} ${reasonOf(refusal)}`
      const key = kinds.has(own) || kinds.size < MAX_KINDS ? own : `others ${reasonOf(refusal)}`
      const known = kinds.get(key)
      if (known === undefined) {
        const first = key === own ? refusal : { ...refusal, client: 'others' }
        kinds.set(key, { first, more: key === own ? 0 : 1, firstAt: at, lastAt: at, lastPath: refusal.path })
        return key === own ? [...due, withClient(refusal)] : due
      }
      if (known.more === 0) known.firstAt = at
      known.more += 1
      known.lastAt = at
      known.lastPath = refusal.path
      return due
    },
  }
}

function hourOf(time: Date): number {
  return Math.floor(time.getTime() / HOUR_MS)
}

function reasonOf({ status, code }: AnonymousRefusal): string {
  return `${status} ${code ?? ''}`
}

function withClient({ entry, client }: AnonymousRefusal): AuditEntry {
  return { ...entry, details: { ...entry.details, client: client ?? null } }
}

/** How often a refusal was repeated after its first occurrence; the path is that of the last one. */
function summary({ first, more, firstAt, lastAt, lastPath }: Kind): AuditEntry {
  const { entry, status, code, client } = first
  const { action, objectType, outcome } = entry
  const details = { status, code: code ?? null, client: client ?? null, more, first_at: firstAt, last_at: lastAt }
  return { caller: undefined, action, objectType, objectId: lastPath, ...(outcome ? { outcome } : {}), details }
}
