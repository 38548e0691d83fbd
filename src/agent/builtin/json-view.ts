/** Reads JSON of unknown shape: missing values are empty, never an error. */
export class JsonView {
  readonly #value: unknown

  constructor(value: unknown) {
    this.#value = value
  }

  /** A view of JSON text; empty when the text is not JSON. */
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

  /** Names of the members of an object. */
  names(): readonly string[] {
    const value = this.#value
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
  }

  /** Text. Numbers and booleans as JSON writes them, everything else empty. */
  text(): string {
    const value = this.#value
    if (typeof value === 'string') return value
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
  }

  /** A number; 0 when the value is not a number. */
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
