/** The filters of the audit log in the URL. */
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

/** Reads the filters from a URL, without empty and invalid ones. */
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
