import type { ClientHttp2Stream, Http2Session } from 'node:http2'
import { Code, ConnectError } from '@connectrpc/connect'
import { Http2SessionManager } from '@connectrpc/connect-node'

/**
 * The HTTP/2 connection of a client. On Bun a stream whose connection closes before the headers of its answer ends without an
 * error, and whoever waits for the headers would wait for ever: here it fails.
 */
export class LineManager extends Http2SessionManager {
  readonly #guarded = new WeakSet<Http2Session>()

  override async request(...request: Parameters<Http2SessionManager['request']>): Promise<ClientHttp2Stream> {
    const stream = await super.request(...request)
    // Node.js reports the end of a line that speaks another protocol twice; who waits for an answer gets the first report.
    const line = stream.session
    if (line !== undefined && !this.#guarded.has(line)) {
      this.#guarded.add(line)
      line.on('error', () => undefined)
    }
    let isAnswered = false
    stream.once('response', () => (isAnswered = true))
    stream.once('close', () => {
      if (!isAnswered)
        stream.emit('error', new ConnectError('the connection closed before an answer', Code.Unavailable))
    })
    return stream
  }
}
