/** Letters inserted, deleted, replaced, or swapped with their neighbour between two texts; `max + 1` when there are more. */
function editDistance(from: string, to: string, max: number): number {
  if (Math.abs(from.length - to.length) > max) return max + 1
  let before: readonly number[] = []
  let row: readonly number[] = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const next = row.map(() => max + 1)
    next[0] = i
    let least = i
    // Cells further from the diagonal need more than `max` insertions or deletions.
    for (let j = Math.max(1, i - max); j <= Math.min(to.length, i + max); j++) {
      const replaced = cell(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1)
      const isSwap = i > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      const swapped = isSwap ? cell(before, j - 2) + 1 : Infinity
      const best = Math.min(cell(row, j) + 1, cell(next, j - 1) + 1, replaced, swapped)
      next[j] = best
      least = Math.min(least, best)
    }
    if (least > max) return max + 1
    before = row
    row = next
  }
  return cell(row, to.length)
}

function cell(row: readonly number[], at: number): number {
  return row[at] ?? Infinity
}

/** Whether a word is another one with a typing error after its first letter: one edit in 5 to 7 letters, two in longer words. */
export function isMisspelt(word: string, intended: string): boolean {
  const max = word.length < 5 ? 0 : word.length < 8 ? 1 : 2
  return max > 0 && word[0] === intended[0] && editDistance(word, intended, max) <= max
}

/** A search compares this number of words with every name. */
const MAX_WORDS = 10

/**
 * Dotted names that resemble a word of a text: those whose last part or whole name is a word, else those that a word misspells.
 * Upper and lower case are the same. Only the first 10 distinct words count.
 */
export function nearestNames(text: string, names: readonly string[]): readonly string[] {
  const found = text.toLowerCase().match(/[\p{L}\p{N}_.-]+/gu) ?? []
  const words = [...new Set(found)].slice(0, MAX_WORDS).map((word) => ({ word, end: lastPart(word) }))
  const parts = names.map((name) => {
    const lower = name.toLowerCase()
    return { name, lower, last: lastPart(lower) }
  })
  const exact = parts.filter(({ lower, last }) => words.some(({ word }) => word === last || word === lower))
  const near = ({ lower, last }: { readonly lower: string; readonly last: string }): boolean =>
    words.some(({ word, end }) => end === last || isMisspelt(word, end === word ? last : lower))
  return (exact.length > 0 ? exact : parts.filter(near)).map(({ name }) => name)
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}
