import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/**
 * What becomes of a piece of traffic: it passes; the connection is cut before it, or after it has been delivered; the
 * connection is cut and the piece delivered only at `deliver()`; or it is swallowed with all that follows.
 */
export type Verdict = 'pass' | 'cut' | 'cut after' | 'late' | 'stall'

/** Judges each piece of traffic as it comes. */
export type Judge = (piece: Buffer, from: 'client' | 'server') => Verdict

/** A relay in front of a TCP server, over real sockets, that misbehaves on command. */
export class Relay {
  /** Default: all passes. */
  judge: Judge = () => 'pass'
  /** Swallows all traffic and tells neither side of the end of the other, like a network without power. */
  isSilent = false
  /** Connections that were taken so far. */
  accepted = 0
  readonly #target: { readonly host: string; readonly port: number }
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  readonly #late: (() => void)[] = []
  #server: Server | undefined
  #port = 0

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#target = target
  }

  static async start(target: { readonly host: string; readonly port: number }): Promise<Relay> {
    const relay = new Relay(target)
    await relay.listen()
    return relay
  }

  get port(): number {
    return this.#port
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#pairs.size
  }

  /** Listens, again on the same port. */
  async listen(): Promise<void> {
    this.#server = createServer((client) => this.#join(client)).listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** Refuses new connections. */
  async refuse(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    server?.close()
  }

  /** Cuts what is connected. */
  cut(): void {
    for (const sockets of this.#pairs) for (const socket of sockets) socket.destroy()
  }

  /** Delivers what was held back as `late`. */
  deliver(): void {
    for (const send of this.#late.splice(0)) send()
  }

  async close(): Promise<void> {
    await this.refuse()
    this.cut()
  }

  #join(client: Socket): void {
    this.accepted += 1
    const server = connect(this.#target)
    const pair = [client, server] as const
    this.#pairs.add(pair)
    const state = { isStalled: false, isHeld: false }
    const forward = (from: 'client' | 'server') => {
      const [source, sink] = from === 'client' ? [client, server] : [server, client]
      source.on('error', () => undefined)
      source.on('close', () => {
        if (state.isStalled || this.isSilent) return
        if (!state.isHeld) sink.destroy()
        this.#pairs.delete(pair)
      })
      source.on('data', (piece: Buffer) => {
        if (state.isStalled || this.isSilent) return
        const verdict = this.judge(piece, from)
        if (verdict === 'stall') state.isStalled = true
        else if (verdict === 'cut') for (const socket of pair) socket.destroy()
        else if (verdict === 'pass') sink.write(piece)
        else {
          state.isHeld = true
          const send = (): void => void server.end(piece)
          if (from === 'server') client.end(piece, () => server.destroy())
          else if (verdict === 'late') this.#late.push(send)
          else send()
          if (from === 'client') client.destroy()
        }
      })
    }
    forward('client')
    forward('server')
  }
}
