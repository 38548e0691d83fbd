import { randomUUID } from 'node:crypto'
import { WebSocket } from 'ws'

export const KERNEL_PROTOCOL = 'v1.kernel.websocket.jupyter.org'

/** A message of a kernel (Jupyter messaging, "Kernel WebSocket protocol v1"). */
export interface KernelMessage {
  readonly channel: string
  readonly header: { readonly msg_id: string; readonly msg_type: string }
  readonly parent: { readonly msg_id?: string }
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into messages freely
  readonly content: any
}

export interface KernelClientOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Talks with a kernel over a WebSocket, as JupyterLab does. */
export class KernelClient {
  readonly socket: WebSocket
  readonly closed: Promise<readonly [code: number, reason: string]>
  readonly #waiting = new Map<string, (message: KernelMessage) => void>()

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.binaryType = 'nodebuffer'
    socket.on('error', () => undefined)
    socket.on('message', (data: Buffer) => this.#heard(decode(data)))
    this.closed = new Promise((resolve) =>
      socket.once('close', (code, reason) => resolve([code, reason.toString()] as const)),
    )
  }

  static async open({ url, headers }: KernelClientOptions): Promise<KernelClient> {
    const socket = new WebSocket(url, [KERNEL_PROTOCOL], { headers: { ...headers } })
    const client = new KernelClient(socket)
    await new Promise((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('error', reject)
      void client.closed.then(([code]) => reject(new Error(`closed with ${code}`)))
    })
    if (socket.protocol !== KERNEL_PROTOCOL) throw new Error(`the subprotocol is ${socket.protocol}`)
    return client
  }

  /** Runs code; resolves with what it prints when the kernel is idle again. */
  async run(code: string): Promise<string> {
    const printed: string[] = []
    const content = { code, silent: false, store_history: false, allow_stdin: false, stop_on_error: true }
    await this.#request('execute_request', content, (message) => {
      if (message.header.msg_type === 'stream') printed.push(message.content.text)
      if (message.header.msg_type === 'error') throw new Error(`${message.content.ename}: ${message.content.evalue}`)
      return message.header.msg_type === 'status' && message.content.execution_state === 'idle'
    })
    return printed.join('')
  }

  /** Asks the kernel what it is; resolves with its reply. */
  async info(): Promise<KernelMessage> {
    let reply: KernelMessage | undefined
    await this.#request('kernel_info_request', {}, (message) => {
      if (message.header.msg_type === 'kernel_info_reply') reply = message
      return reply !== undefined
    })
    return reply!
  }

  async #request(type: string, content: object, onMessage: (message: KernelMessage) => boolean): Promise<void> {
    const id = randomUUID() // a kernel answers a message that it has had before with silence
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.set(id, (message) => {
      try {
        if (onMessage(message)) resolve()
      } catch (error) {
        reject(error)
      }
    })
    const over = this.closed.then(([code, reason]) => {
      throw new Error(`the socket closed with ${code} ${reason}`)
    })
    this.socket.send(encode(id, type, content))
    try {
      await Promise.race([promise, over])
    } finally {
      this.#waiting.delete(id)
      over.catch(() => undefined)
    }
  }

  #heard(message: KernelMessage): void {
    const parent = message.parent.msg_id
    if (parent !== undefined) this.#waiting.get(parent)?.(message)
  }
}

function encode(id: string, type: string, content: object): Buffer {
  const header = { msg_id: id, msg_type: type, session: 'test', username: '', date: '', version: '5.3' }
  const parts = ['shell', ...[header, {}, {}, content].map((part) => JSON.stringify(part))].map((text) =>
    Buffer.from(text),
  )
  const offsets = Buffer.alloc(8 * (parts.length + 2))
  offsets.writeBigUInt64LE(BigInt(parts.length + 1), 0)
  let at = offsets.length
  parts.forEach((part, index) => {
    offsets.writeBigUInt64LE(BigInt(at), 8 * (index + 1))
    at += part.length
  })
  offsets.writeBigUInt64LE(BigInt(at), 8 * (parts.length + 1))
  return Buffer.concat([offsets, ...parts])
}

function decode(data: Buffer): KernelMessage {
  const count = Number(data.readBigUInt64LE(0))
  const offsets = Array.from({ length: count }, (_, index) => Number(data.readBigUInt64LE(8 * (index + 1))))
  const part = (index: number): string => data.toString('utf8', offsets[index], offsets[index + 1])
  const [header, parent, , content] = [1, 2, 3, 4].map((index) => JSON.parse(part(index)))
  return { channel: part(0), header, parent, content }
}
