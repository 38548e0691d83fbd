import type { UpstreamSocket } from './upstream.ts'

/** The client's side of a relay. */
export interface ClientSide {
  readonly bufferedBytes: number
  send(data: string | Uint8Array): void
  ping(): void
  pause(): void
  resume(): void
  close(code: number, reason: string): void
  terminate(): void
}

/** The code and reason of a goodbye (RFC 6455, section 7.4). */
export type Farewell = readonly [code: number, reason: string]

/** Times in ms. */
export interface RelaySettings {
  /** Between signs of life that are asked for on both sides, and between checks of the caller. */
  readonly pingMs: number
  /** A side that gives no sign for so long is gone. */
  readonly silentMs: number
  /** A client that was promised a socket takes it within this time. */
  readonly openMs: number
}

export const RELAY_SETTINGS: RelaySettings = { pingMs: 30_000, silentMs: 90_000, openMs: 15_000 }

export interface RelayOptions {
  readonly upstream: UpstreamSocket
  /** The client sent something. */
  readonly onWork: () => void
  /** Says goodbye to a client that may not go on; undefined while it may. */
  readonly farewell: () => Promise<Farewell | undefined>
  readonly onClosed: () => void
  readonly settings: RelaySettings
}

/** When so much waits for one side, the other one is not read any more. */
const MAX_WAITING_BYTES = 2 ** 20
const NO_GOODBYE = 1006

/**
 * Carries messages and goodbyes between a client and a notebook. Of what one side sends, never more than 1 MiB and one
 * message wait in this process for the other. A side that vanishes is found out, and takes the other with it.
 */
export class SocketRelay {
  readonly #options: RelayOptions
  readonly #opening: ReturnType<typeof setTimeout>
  #client: ClientSide | undefined
  #ticking: ReturnType<typeof setInterval> | undefined
  #over = false
  readonly #clientPulse = new Pulse()
  readonly #upstreamPulse = new Pulse()
  #clientPaused = false
  #upstreamPaused = false

  constructor(options: RelayOptions) {
    this.#options = options
    this.#opening = setTimeout(() => this.#vanished(), options.settings.openMs)
  }

  opened(client: ClientSide): void {
    clearTimeout(this.#opening)
    if (this.#over) return client.terminate()
    const { upstream, settings } = this.#options
    this.#client = client
    this.#clientPulse.beat()
    this.#upstreamPulse.beat()
    this.#ticking = setInterval(() => this.#tick(), settings.pingMs)
    upstream.start({
      onMessage: (data) => this.#fromUpstream(data),
      onPong: () => this.#upstreamPulse.beat(),
      onDrain: () => this.#letClientGoOn(),
      onClose: (code, reason) => this.#upstreamLeft(code, reason),
    })
  }

  heard(data: string | Uint8Array): void {
    this.#clientPulse.beat()
    this.#options.onWork()
    const { upstream } = this.#options
    upstream.send(data)
    if (upstream.bufferedBytes <= MAX_WAITING_BYTES) return
    this.#clientPaused = true
    this.#client?.pause()
  }

  ponged(): void {
    this.#clientPulse.beat()
  }

  drained(): void {
    this.#letUpstreamGoOn()
  }

  left(code: number, reason: string): void {
    const { upstream } = this.#options
    if (code === NO_GOODBYE) upstream.terminate()
    else upstream.close(code, reason)
    this.#end()
  }

  #fromUpstream(data: string | Uint8Array): void {
    const client = this.#client
    if (client === undefined) return
    this.#upstreamPulse.beat()
    client.send(data)
    if (client.bufferedBytes <= MAX_WAITING_BYTES) return
    this.#upstreamPaused = true
    this.#options.upstream.pause()
  }

  #upstreamLeft(code: number, reason: string): void {
    if (code === NO_GOODBYE) this.#client?.close(1011, 'the notebook broke the connection off')
    else this.#client?.close(code, reason)
    this.#end()
  }

  #letClientGoOn(): void {
    if (!this.#clientPaused || this.#options.upstream.bufferedBytes > MAX_WAITING_BYTES / 2) return
    this.#clientPaused = false
    this.#clientPulse.beat()
    this.#client?.resume()
  }

  #letUpstreamGoOn(): void {
    if (!this.#upstreamPaused || (this.#client?.bufferedBytes ?? 0) > MAX_WAITING_BYTES / 2) return
    this.#upstreamPaused = false
    this.#upstreamPulse.beat()
    this.#options.upstream.resume()
  }

  #tick(): void {
    const { upstream, settings } = this.#options
    const client = this.#client
    if (client === undefined) return
    // Of a side that is not read, no sign can be heard: the other one is the one that has to move.
    const clientGone = !this.#clientPaused && this.#clientPulse.silentFor(client.bufferedBytes) > settings.silentMs
    const upstreamGone =
      !this.#upstreamPaused && this.#upstreamPulse.silentFor(upstream.bufferedBytes) > settings.silentMs
    if (clientGone) return this.#vanished()
    if (upstreamGone) {
      upstream.terminate()
      client.close(1011, 'the notebook gives no sign of life')
      return this.#end()
    }
    client.ping()
    upstream.ping()
    this.#letClientGoOn()
    this.#letUpstreamGoOn()
    void this.#dismiss(client)
  }

  async #dismiss(client: ClientSide): Promise<void> {
    const farewell = await this.#options.farewell()
    if (farewell === undefined || this.#over) return
    client.close(...farewell)
    this.#options.upstream.close(...farewell)
    this.#end()
  }

  #vanished(): void {
    this.#client?.terminate()
    this.#options.upstream.terminate()
    this.#end()
  }

  #end(): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#opening)
    clearInterval(this.#ticking)
    this.#options.onClosed()
  }
}

/** Signs of life of one side: what it says, and that it takes what waits for it. */
class Pulse {
  #lastMs = 0
  #waiting = 0

  beat(): void {
    this.#lastMs = performance.now()
  }

  silentFor(waitingBytes: number): number {
    if (waitingBytes < this.#waiting) this.beat()
    this.#waiting = waitingBytes
    return performance.now() - this.#lastMs
  }
}
