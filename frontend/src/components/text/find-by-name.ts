/**
 * Items whose name contains every word of `text`, ignoring case; names that begin with it are first, then names
 * with a part that does (`sales.orders` for `ord`). All of them, in their order, when `text` is blank.
 */
export function findByName<T>(items: readonly T[], text: string, nameOf: (item: T) => string): readonly T[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return items
  const words = wanted.split(/\s+/)
  const ranks: T[][] = [[], [], []]
  for (const item of items) {
    const name = nameOf(item).toLowerCase()
    if (words.every((word) => name.includes(word))) ranks[rankOf(name, wanted)]?.push(item)
  }
  return ranks.flat()
}

function rankOf(name: string, wanted: string): number {
  if (name.startsWith(wanted)) return 0
  return name.split(/[\s._-]/).some((part) => part.startsWith(wanted)) ? 1 : 2
}
