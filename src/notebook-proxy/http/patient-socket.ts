import { Socket, type SocketConstructorOpts } from 'node:net'

type Written = (error?: Error | null) => void

/** How long a socket is read after a write to it has failed, in ms; the rest of a response has already arrived then. */
const PATIENCE_MS = 1000

/**
 * A socket that is still read after a write has failed. A server that refuses the body of a request answers and closes the
 * connection, and a write then fails before its answer was read: a usual socket would be closed, and the answer lost.
 */
export class PatientSocket extends Socket {
  constructor(options?: SocketConstructorOpts) {
    super(options)
    const { _writev: writeAll } = this
    if (writeAll) this._writev = (chunks, written) => writeAll.call(this, chunks, this.#patiently(written))
  }

  override _write(chunk: unknown, encoding: BufferEncoding, written: Written): void {
    super._write(chunk, encoding, this.#patiently(written))
  }

  /** Reports a failed write only after some time; never when the socket is closed meanwhile. */
  #patiently(written: Written): Written {
    return (error) => {
      if (!error || this.destroyed) return written(error)
      const report = (): void => written(error)
      const timer = setTimeout(report, PATIENCE_MS)
      this.once('close', () => clearTimeout(timer))
    }
  }
}
