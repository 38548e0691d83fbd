import { matchesGlob } from './table-globs.ts'

/** Finds the patterns that match a name, without comparing the name with every pattern. */
export interface GlobIndex<T> {
  add(pattern: string, value: T): void
  /** Values whose pattern matches; a value with two matching patterns comes twice. */
  matching(name: string): Iterable<T>
}

interface Entry<T> {
  readonly pattern: string
  readonly value: T
}

/**
 * An index of globs (`matchesGlob`): those without `*` by their text, the others by the text before the first `*`, or by the
 * text behind the last `*` when they begin with one. Only patterns such as `*x*` are compared with every name.
 */
export function createGlobIndex<T>(): GlobIndex<T> {
  const exact = new Map<string, T[]>()
  const prefixes = new AffixMap<T>((name, length) => name.slice(0, length))
  const suffixes = new AffixMap<T>((name, length) => name.slice(name.length - length))
  const others: Entry<T>[] = []
  return {
    add(pattern, value) {
      const star = pattern.indexOf('*')
      const behind = pattern.slice(pattern.lastIndexOf('*') + 1)
      if (star < 0) push(exact, pattern, value)
      else if (star > 0) prefixes.add(pattern.slice(0, star), { pattern, value })
      else if (behind !== '') suffixes.add(behind, { pattern, value })
      else others.push({ pattern, value })
    },
    *matching(name) {
      yield* exact.get(name) ?? []
      for (const { pattern, value } of prefixes.candidates(name)) if (matchesGlob(pattern, name)) yield value
      for (const { pattern, value } of suffixes.candidates(name)) if (matchesGlob(pattern, name)) yield value
      for (const { pattern, value } of others) if (matchesGlob(pattern, name)) yield value
    },
  }
}

/** Entries by a text with which a name begins or ends. */
class AffixMap<T> {
  readonly #byText = new Map<string, Entry<T>[]>()
  readonly #lengths = new Set<number>()
  readonly #cut: (name: string, length: number) => string

  constructor(cut: (name: string, length: number) => string) {
    this.#cut = cut
  }

  add(text: string, entry: Entry<T>): void {
    push(this.#byText, text, entry)
    this.#lengths.add(text.length)
  }

  *candidates(name: string): Iterable<Entry<T>> {
    for (const length of this.#lengths) {
      if (length <= name.length) yield* this.#byText.get(this.#cut(name, length)) ?? []
    }
  }
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, [value])
  else known.push(value)
}
