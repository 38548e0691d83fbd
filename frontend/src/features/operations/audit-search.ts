/** The filters of the audit log, as they stand in the address of the page. */
export interface AuditSearch {
  readonly actor?: string
  readonly object?: string
  readonly object_type?: string
  readonly action?: string
  /** RFC 3339, UTC. */
  readonly from?: string
  readonly to?: string
}

export const AUDIT_FILTERS = ['actor', 'object', 'object_type', 'action', 'from', 'to'] as const

/** Reads the filters from an address; what is empty, unknown or no time is left out. */
export function readAuditSearch(search: Readonly<Record<string, unknown>>): AuditSearch {
  const entries = AUDIT_FILTERS.flatMap((name): [string, string][] => {
    const value = search[name]
    const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
    if (text === '') return []
    if (name !== 'from' && name !== 'to') return [[name, text]]
    const time = Date.parse(text)
    return Number.isNaN(time) ? [] : [[name, new Date(time).toISOString()]]
  })
  return Object.fromEntries(entries)
}

/** A time of the address as the value of a `datetime-local` field, in UTC as the log has it; `''` for none. */
export function toTimeInput(iso: string | undefined): string {
  return iso === undefined || iso === '' ? '' : new Date(iso).toISOString().slice(0, 16)
}

/** What a `datetime-local` field says in UTC, as a time of the address; undefined when it is empty or not a time. */
export function fromTimeInput(value: string): string | undefined {
  const time = value === '' ? Number.NaN : Date.parse(`${value}Z`)
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}
