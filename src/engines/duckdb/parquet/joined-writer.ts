import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

import type { ByteRange } from './stored-footer.ts'

/** Bytes of a new file that were copied from another one, and their CRC-32. */
export interface CopiedRange extends ByteRange {
  readonly checksum: number
}

/** Writes a file of this machine from start to end, and remembers the checksums of what is copied into it. */
export class JoinedWriter {
  readonly #file: FileHandle
  readonly #copied: CopiedRange[] = []
  #position = 0

  private constructor(file: FileHandle) {
    this.#file = file
  }

  /** Creates the file; it must not exist. */
  static async create(path: string): Promise<JoinedWriter> {
    return new JoinedWriter(await open(path, 'wx'))
  }

  /** Offset of the next byte. */
  get position(): number {
    return this.#position
  }

  /** What was copied so far, in the order of the file. */
  get copied(): readonly CopiedRange[] {
    return this.#copied
  }

  /** Appends bytes. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, this.#position + done)
      done += bytesWritten
    }
    this.#position += bytes.length
  }

  /** Appends parts of another file; returns where they are now. */
  async copy(parts: AsyncIterable<Uint8Array>): Promise<ByteRange> {
    const start = this.#position
    let checksum = 0
    for await (const part of parts) {
      checksum = crc32(part, checksum)
      await this.write(part)
    }
    const range = { start, end: this.#position, checksum }
    this.#copied.push(range)
    return range
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
