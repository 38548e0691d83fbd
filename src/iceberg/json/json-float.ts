/**
 * A JSON number that was written as a float although its value is whole, such as `5.0` or `-0.0`. It is printed as a float
 * again, because the reference implementation refuses a table whose default for a double column is `5`.
 */
export class JsonFloat {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }

  /** What `JSON.stringify` prints, for readers that do not distinguish the two. */
  toJSON(): number {
    return this.value
  }

  /** Digits with a fraction or an exponent. */
  toString(): string {
    if (Object.is(this.value, -0)) return '-0.0'
    const text = String(this.value)
    return text.includes('e') ? text : `${text}.0`
  }
}
