/** Keeps the values used last, up to a total weight (bytes). A value heavier than that is not kept at all. */
export class LruCache<V> {
  readonly #maxWeight: number
  readonly #entries = new Map<string, { readonly value: V; readonly weight: number }>()
  #weight = 0

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight
  }

  get weight(): number {
    return this.#weight
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  set(key: string, value: V, weight: number): void {
    this.delete(key)
    if (weight > this.#maxWeight) return
    this.#entries.set(key, { value, weight })
    this.#weight += weight
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#maxWeight) return
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#weight -= entry.weight
  }
}
