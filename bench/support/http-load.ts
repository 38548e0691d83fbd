import { connect, type Socket } from 'node:net'

export interface Load {
  readonly port: number
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly connections: number
  readonly ms: number
}

/**
 * GETs one path for a while over connections that are kept alive, and answers how many requests per second got a 200.
 * The client does as little as it can, so that the server is what is measured. Throws at any other answer.
 */
export async function requestsPerSecond({ port, path, headers = {}, connections, ms }: Load): Promise<number> {
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const request = Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  const until = performance.now() + ms
  const startedAt = performance.now()
  const counts = await Promise.all(
    Array.from({ length: connections }, () => ask(connect(port, '127.0.0.1'), request, until)),
  )
  const seconds = (performance.now() - startedAt) / 1000
  return counts.reduce((sum, count) => sum + count, 0) / seconds
}

/** Sends a request, waits for the whole answer, and so on until the time is over. */
function ask(socket: Socket, request: Buffer, until: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const next = createAnswerReader()
  let answers = 0
  socket.setNoDelay(true)
  socket.on('error', reject)
  socket.on('close', () => reject(new Error('the server closed the connection')))
  socket.on('connect', () => socket.write(request))
  socket.on('data', (chunk) => {
    const answer = next(chunk)
    if (answer === 'incomplete') return
    if (answer === 'refused') {
      reject(new Error(`not a 200: ${chunk.toString('latin1').slice(0, 500)}`))
      return void socket.destroy()
    }
    answers += 1
    if (performance.now() < until) return void socket.write(request)
    resolve(answers)
    socket.destroy()
  })
  return promise
}

const STATUS_AT = 9
const HEADER_END = '\r\n\r\n'

/** Reads answers from what arrives. One that is as long as the one before is not parsed again: its parts are in place. */
function createAnswerReader(): (chunk: Buffer) => 'complete' | 'incomplete' | 'refused' {
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
    return bytes.toString('latin1', STATUS_AT, STATUS_AT + 3) === '200' ? 'complete' : 'refused'
  }
}

/** Where the header of an answer ends, and its length with the body; undefined while the header is not complete. */
function findParts(bytes: Buffer): { readonly total: number; readonly headerEnd: number } | undefined {
  const headerEnd = bytes.indexOf(HEADER_END)
  if (headerEnd === -1) return undefined
  const length = /content-length: *(\d+)/i.exec(bytes.toString('latin1', 0, headerEnd))?.[1]
  if (length === undefined) throw new Error('the answer has no Content-Length')
  return { headerEnd, total: headerEnd + HEADER_END.length + Number(length) }
}
