/** A look into JSON of unknown shape: what is not there is empty, never an error. */
export class JsonView {
  readonly #value: unknown

  constructor(value: unknown) {
    this.#value = value
  }

  /** A view of JSON text; an empty one when it is none. */
  static parse(text: string): JsonView {
    try {
      return new JsonView(JSON.parse(text))
    } catch {
      return new JsonView(undefined)
    }
  }

  get exists(): boolean {
    return this.#value !== undefined && this.#value !== null
  }

  get isTrue(): boolean {
    return this.#value === true
  }

  /** A member of an object. */
  at(name: string): JsonView {
    const value = this.#value
    const members = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
    return new JsonView(members.find(([member]) => member === name)?.[1])
  }

  /** Text; numbers and booleans as they are written, everything else empty. */
  text(): string {
    const value = this.#value
    if (typeof value === 'string') return value
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
  }

  /** A number; 0 when there is none. */
  number(): number {
    return typeof this.#value === 'number' ? this.#value : 0
  }

  /** Items of a list. */
  list(): readonly JsonView[] {
    return Array.isArray(this.#value) ? this.#value.map((item) => new JsonView(item)) : []
  }

  /** Texts of a list. */
  texts(): readonly string[] {
    return this.list().map((item) => item.text())
  }
}
