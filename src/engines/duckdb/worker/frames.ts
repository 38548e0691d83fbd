const HEADER_BYTES = 4

/** A JSON value as one message: its length in four bytes, most significant first, then UTF-8 text. */
export function encodeFrame(value: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(value))
  const frame = Buffer.allocUnsafe(HEADER_BYTES + text.length)
  frame.writeUInt32BE(text.length, 0)
  text.copy(frame, HEADER_BYTES)
  return frame
}

/** Reassembles the messages of {@link encodeFrame}. */
export class FrameReader {
  /** Longer messages are errors. */
  maxBytes: number
  #chunks: Buffer[] = []
  #length = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** The messages that this chunk completes. Throws on a message that is too long or not JSON. */
  push(chunk: Uint8Array): readonly unknown[] {
    this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    this.#length += chunk.byteLength
    const messages: unknown[] = []
    for (
      let size = this.#nextSize();
      size !== undefined && this.#length >= HEADER_BYTES + size;
      size = this.#nextSize()
    ) {
      const all = this.#joined()
      messages.push(JSON.parse(all.toString('utf8', HEADER_BYTES, HEADER_BYTES + size)))
      this.#chunks = [all.subarray(HEADER_BYTES + size)]
      this.#length = all.length - HEADER_BYTES - size
    }
    return messages
  }

  #nextSize(): number | undefined {
    if (this.#length < HEADER_BYTES) return undefined
    const [first] = this.#chunks
    const size = (first !== undefined && first.length >= HEADER_BYTES ? first : this.#joined()).readUInt32BE(0)
    if (size > this.maxBytes) throw new RangeError(`a message of ${size} bytes is longer than ${this.maxBytes}`)
    return size
  }

  #joined(): Buffer {
    const all = Buffer.concat(this.#chunks)
    this.#chunks = [all]
    return all
  }
}
