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
  const next = createAnswerReader(status)
  let answers = 0
  socket.setNoDelay(true)
  socket.on('error', reject)
  socket.on('close', () => reject(new Error('the server closed the connection')))
  socket.on('connect', () => socket.write(requestAt(0)))
  socket.on('data', (chunk) => {
    const answer = next(chunk)
    if (answer === 'incomplete') return
    if (answer === 'refused') {
      reject(new Error(`not a ${status}: ${chunk.toString('latin1').slice(0, 500)}`))
      return void socket.destroy()
    }
    answers += 1
    if (performance.now() < until) return void socket.write(requestAt(answers))
    resolve(answers)
    socket.destroy()
  })
  return promise
}

const STATUS_AT = 9
const HEADER_END = '\r\n\r\n'

/** Reads answers from what arrives. One that is as long as the one before is not parsed again: its parts are in place. */
function createAnswerReader(status: string): (chunk: Buffer) => 'complete' | 'incomplete' | 'refused' {
  let last = { total: -1, headerEnd: -1 }
  let pending: Buffer | undefined
  return (chunk) => {
    const bytes = pending === undefined ? chunk : Buffer.concat([pending, chunk])
    if (bytes.length !== last.total || bytes.toString('latin1', last.headerEnd, last.headerEnd + 4) !== HEADER_END) {
      const found = findParts(bytes)
      if (found === undefined || bytes.length < found.total) {
        pending = bytes
        return 'incomplete'
      }
      last = found
    }
    pending = undefined
    return bytes.toString('latin1', STATUS_AT, STATUS_AT + 3) === status ? 'complete' : 'refused'
  }
}

/** Where the header of an answer ends, and its length with the body; undefined while that is not known. */
function findParts(bytes: Buffer): { readonly total: number; readonly headerEnd: number } | undefined {
  const headerEnd = bytes.indexOf(HEADER_END)
  if (headerEnd === -1) return undefined
  const header = bytes.toString('latin1', 0, headerEnd)
  const bodyAt = headerEnd + HEADER_END.length
  if (/^HTTP\/1.1 (204|304)/.test(header)) return { headerEnd, total: bodyAt }
  if (/transfer-encoding: *chunked/i.test(header)) {
    const total = chunkedLength(bytes, headerEnd)
    return total === undefined ? undefined : { headerEnd, total }
  }
  const length = /content-length: *(\d+)/i.exec(header)?.[1]
  if (length === undefined) throw new Error('the answer has no Content-Length')
  return { headerEnd, total: bodyAt + Number(length) }
}

/** The last chunk is empty (RFC 9112, section 7.1); JSON in one line cannot look like it. */
function chunkedLength(bytes: Buffer, headerEnd: number): number | undefined {
  const last = bytes.indexOf('\r\n0\r\n\r\n', headerEnd + 2)
  return last === -1 ? undefined : last + 7
}
