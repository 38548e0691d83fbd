/** Some 64-bit integers or nulls, which are filled in once. */
export class Longs {
  /** 0 where the value is null. */
  readonly values: BigInt64Array
  /** 1 where the value is null. */
  readonly nulls: Uint8Array
  nullCount = 0

  constructor(length: number) {
    this.values = new BigInt64Array(length)
    this.nulls = new Uint8Array(length)
  }

  get length(): number {
    return this.values.length
  }

  set(at: number, value: bigint | null): void {
    if (value === null) {
      this.nulls[at] = 1
      this.nullCount += 1
    } else this.values[at] = value
  }

  /** The values that are not null. */
  present(): BigInt64Array {
    if (this.nullCount === 0) return this.values
    const present = new BigInt64Array(this.length - this.nullCount)
    let to = 0
    for (let at = 0; at < this.length; at += 1) if (this.nulls[at] === 0) present[to++] = this.values[at] ?? 0n
    return present
  }
}
