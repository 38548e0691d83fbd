/** A list of at most `capacity` items that drops the oldest ones. */
export class RingBuffer<T> {
  readonly #items: T[] = []
  readonly #capacity: number
  #start = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get length(): number {
    return this.#items.length
  }

  /** The newest item. */
  get last(): T | undefined {
    return this.at(this.#items.length - 1)
  }

  /** The item at a place counted from the oldest one. */
  at(index: number): T | undefined {
    if (index < 0 || index >= this.#items.length) return undefined
    return this.#items[(this.#start + index) % this.#capacity]
  }

  push(item: T): void {
    if (this.#items.length < this.#capacity) {
      this.#items.push(item)
      return
    }
    this.#items[this.#start] = item
    this.#start = (this.#start + 1) % this.#capacity
  }

  /** Puts an item in the place of the newest one. */
  replaceLast(item: T): void {
    if (this.#items.length > 0) this.#items[(this.#start + this.#items.length - 1) % this.#capacity] = item
  }

  /** Oldest first. */
  toArray(): T[] {
    return [...this.#items.slice(this.#start), ...this.#items.slice(0, this.#start)]
  }
}
