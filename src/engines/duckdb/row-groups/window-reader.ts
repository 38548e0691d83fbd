import type { FileIO } from '../../../iceberg/io/file-io.ts'

import type { ByteRange } from '../parquet/stored-footer.ts'

/** Large enough for object stores, small enough for many readers. */
const WINDOW_BYTES = 8 * 1_048_576

/** Reads ranges of one file that mostly follow each other, in few requests and bounded memory. */
export class WindowReader {
  readonly #io: FileIO
  readonly #location: string
  readonly #fileSize: number
  readonly #isSparse: boolean
  #window: Uint8Array = new Uint8Array()
  #start = 0

  /** `isSparse`: only some ranges are wanted, so that no bytes between them are read. */
  constructor(
    io: FileIO,
    { location, fileSize }: { readonly location: string; readonly fileSize: number },
    isSparse = false,
  ) {
    this.#io = io
    this.#isSparse = isSparse
    this.#location = location
    this.#fileSize = fileSize
  }

  /** The bytes of a range in parts, which are valid until the next read. Errors of the FileIO. */
  async *read({ start, end }: ByteRange): AsyncGenerator<Uint8Array> {
    let at = start
    while (at < end) {
      const part = await this.#partAt(at, end)
      yield part
      at += part.length
    }
  }

  /** All bytes of a range, for small ones. */
  async bytes(range: ByteRange): Promise<Uint8Array> {
    const whole = new Uint8Array(range.end - range.start)
    let at = 0
    for await (const part of this.read(range)) {
      whole.set(part, at)
      at += part.length
    }
    return whole
  }

  async #partAt(at: number, end: number): Promise<Uint8Array> {
    if (at < this.#start || at >= this.#start + this.#window.length) {
      const length = Math.max(1, Math.min(WINDOW_BYTES, (this.#isSparse ? end : this.#fileSize) - at))
      this.#window = await this.#io.readRange(this.#location, at, length)
      this.#start = at
    }
    return this.#window.subarray(at - this.#start, end - this.#start)
  }
}
