import { deflateBlock } from './block-codec.ts'
import { ByteSink } from './byte-sink.ts'

/** Raw bytes after which a block is closed, as in Java's Avro writer. */
const BLOCK_SIZE = 64 * 1024

/**
 * Builds an Avro object container file in memory, codec `deflate` (Avro 1.12, "Object Container Files").
 * Write each record with {@link AvroContainerWriter.append}, then take the file from `finish`.
 */
export class AvroContainerWriter {
  readonly #file = new ByteSink(2 * BLOCK_SIZE)
  readonly #block = new ByteSink(2 * BLOCK_SIZE)
  readonly #sync = crypto.getRandomValues(new Uint8Array(16))
  #records = 0

  /** `schema` is the Avro schema as JSON text; `metadata` are further header entries. */
  constructor(schema: string, metadata: Readonly<Record<string, string>>) {
    const entries = Object.entries({ 'avro.schema': schema, 'avro.codec': 'deflate', ...metadata })
    this.#file.writeFixed(new Uint8Array([0x4f, 0x62, 0x6a, 0x01]))
    this.#file.writeNumber(entries.length)
    for (const [key, value] of entries) {
      this.#file.writeString(key)
      this.#file.writeString(value)
    }
    this.#file.writeNumber(0)
    this.#file.writeFixed(this.#sync)
  }

  /** Appends one record, which `write` encodes. */
  append(write: (sink: ByteSink) => void): void {
    write(this.#block)
    this.#records++
    if (this.#block.length >= BLOCK_SIZE) this.#closeBlock()
  }

  /** Closes the last block and returns the file. */
  finish(): Uint8Array {
    this.#closeBlock()
    return this.#file.toBytes()
  }

  #closeBlock(): void {
    if (this.#records === 0) return
    this.#file.writeNumber(this.#records)
    this.#file.writeBytes(deflateBlock(this.#block.view()))
    this.#file.writeFixed(this.#sync)
    this.#block.clear()
    this.#records = 0
  }
}
