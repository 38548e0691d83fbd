import { connect, type Socket } from 'node:net'

export interface Load {
  readonly port: number
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly connections: number
  readonly ms: number
  /** The status of a good answer; default: 200. */
  readonly status?: number
  /** A body makes a POST of each request: the one of a connection, which counts its requests from 0. */
  readonly bodyOf?: (connection: number, at: number) => string
}

/**
 * GETs one path for a while over connections that are kept alive, and answers how many requests per second got a good
 * answer. A `*` in the path is the number of the connection. The client does as little as it can, so that the server is
 * what is measured. Throws at any other answer.
 */
export async function requestsPerSecond(load: Load): Promise<number> {
  const { port, connections, ms } = load
  const until = performance.now() + ms
  const startedAt = performance.now()
  const counts = await Promise.all(
    Array.from({ length: connections }, (_, connection) => {
      const status = String(load.status ?? 200)
      return ask(connect(port, '127.0.0.1'), { requestAt: requestsOf(load, connection), until, status })
    }),
  )
  const seconds = (performance.now() - startedAt) / 1000
  return counts.reduce((sum, count) => sum + count, 0) / seconds
}

/** The requests of a connection; those without a body are all the same. */
function requestsOf({ port, path, headers = {}, bodyOf }: Load, connection: number): (at: number) => Buffer {
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const target = `${path.replace('*', String(connection))} HTTP/1.1\r\n${lines.join('')}`
  if (bodyOf === undefined) {
    const request = Buffer.from(`GET ${target}\r\n`)
    return () => request
  }
  return (at) => {
    const body = bodyOf(connection, at)
    const length = Buffer.byteLength(body)
    return Buffer.from(`POST ${target}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`)
  }
}

interface Conversation {
  readonly requestAt: (at: number) => Buffer
  /** As `performance.now()`. */
  readonly until: number
  readonly status: string
}

/** Sends a request, waits for the whole answer, and so on until the time is over. */
function ask(socket: Socket, { requestAt, until, status }: Conversation): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  let answers = 0
  let pending = Buffer.alloc(0)
  socket.setNoDelay(true)
  socket.on('error', reject)
  socket.on('connect', () => socket.write(requestAt(0)))
  socket.on('data', (chunk) => {
    pending = pending.length === 0 ? Buffer.from(chunk) : Buffer.concat([pending, chunk])
    const length = answerLength(pending)
    if (length === undefined || pending.length < length) return
    if (pending.subarray(9, 12).toString('latin1') !== status) {
      socket.destroy()
      return reject(new Error(`not a ${status}: ${pending.toString('latin1').slice(0, 500)}`))
    }
    pending = pending.subarray(length)
    answers += 1
    if (performance.now() < until) return void socket.write(requestAt(answers))
    socket.destroy()
    resolve(answers)
  })
  return promise
}

/** Bytes of the first answer, header and body; undefined while the header is not complete. */
function answerLength(bytes: Buffer): number | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const header = bytes.toString('latin1', 0, end)
  if (/^HTTP\/1.1 (204|304)/.test(header)) return end + 4
  if (/transfer-encoding: *chunked/i.test(header)) return chunkedLength(bytes, end)
  const length = /content-length: *(\d+)/i.exec(header)?.[1]
  if (length === undefined) throw new Error('the answer has no Content-Length')
  return end + 4 + Number(length)
}

/** The last chunk is empty (RFC 9112, section 7.1); JSON in one line cannot look like it. */
function chunkedLength(bytes: Buffer, headerEnd: number): number | undefined {
  const last = bytes.indexOf('\r\n0\r\n\r\n', headerEnd + 2)
  return last === -1 ? undefined : last + 7
}
