import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

import { toIoError } from '../../../iceberg/io/io-error.ts'

import type { ByteRange } from './stored-footer.ts'

/** Bytes of a new file that were copied from another one, and their CRC-32. */
export interface CopiedRange extends ByteRange {
  readonly checksum: number
}

/** Writes a file of this machine from start to end, and remembers the checksums of what is copied into it. */
export class JoinedWriter {
  readonly #file: FileHandle
  readonly #path: string
  readonly #copied: CopiedRange[] = []
  #position = 0

  private constructor(file: FileHandle, path: string) {
    this.#file = file
    this.#path = path
  }

  /** Creates the file; it must not exist. Errors of this class: `NO_SPACE`, `FILE_EXISTS`, `IO_FAILED`. */
  static async create(path: string): Promise<JoinedWriter> {
    return new JoinedWriter(await writing(path, () => open(path, 'wx')), path)
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
      const { bytesWritten } = await writing(this.#path, () =>
        this.#file.write(bytes, done, bytes.length - done, this.#position + done),
      )
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
    return writing(this.#path, () => this.#file.close())
  }
}

async function writing<T>(location: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toIoError(error, { action: 'write', location })
  }
}
