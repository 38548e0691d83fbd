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
  let answers = 0
  let pending = Buffer.alloc(0)
  socket.setNoDelay(true)
  socket.on('error', reject)
  socket.on('connect', () => socket.write(request))
  socket.on('data', (chunk) => {
    pending = pending.length === 0 ? Buffer.from(chunk) : Buffer.concat([pending, chunk])
    const length = answerLength(pending)
    if (length === undefined || pending.length < length) return
    if (pending.subarray(9, 12).toString('latin1') !== '200') {
      socket.destroy()
      return reject(new Error(`not a 200: ${pending.toString('latin1').slice(0, 500)}`))
    }
    pending = pending.subarray(length)
    answers += 1
    if (performance.now() < until) return void socket.write(request)
    socket.destroy()
    resolve(answers)
  })
  return promise
}

/** Bytes of the first answer, header and body; undefined while the header is not complete. */
function answerLength(bytes: Buffer): number | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const length = /content-length: *(\d+)/i.exec(bytes.toString('latin1', 0, end))?.[1]
  if (length === undefined) throw new Error('the answer has no Content-Length')
  return end + 4 + Number(length)
}
