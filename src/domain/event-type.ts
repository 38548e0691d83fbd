/** A filter for event types: one type (`approval.requested`), the types of a group (`approval.*`), or all (`*`). */
export const EVENT_FILTER = /^([a-z_]+\.([a-z_]+|\*)|\*)$/

/** Whether an event type matches a filter such as `approval.requested`, `approval.*` or `*`. */
export function matchesFilter(type: string, filter: string): boolean {
  const prefix = filterPrefix(filter)
  return prefix === undefined ? type === filter : type.startsWith(prefix)
}

/** The prefix of the types that match a filter; undefined: the filter matches exactly one type. */
export function filterPrefix(filter: string): string | undefined {
  return filter.endsWith('*') ? filter.slice(0, -1) : undefined
}
