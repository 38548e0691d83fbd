/** What an event type of the log, or a wish for several of them, looks like: `approval.requested`, `approval.*`, `*`. */
export const EVENT_TYPE_WISH = /^([a-z_]+\.([a-z_]+|\*)|\*)$/

/** Whether an event of this type is wished for by `approval.requested`, `approval.*` or `*`. */
export function isWishedFor(type: string, wish: string): boolean {
  const prefix = wishedPrefix(wish)
  return prefix === undefined ? type === wish : type.startsWith(prefix)
}

/** What the types that are wished for begin with; undefined: one type is, as it stands. */
export function wishedPrefix(wish: string): string | undefined {
  return wish.endsWith('*') ? wish.slice(0, -1) : undefined
}
