import type { UpstreamSocket } from '../upstream.ts'

/** The client side of a relay. */
export interface ClientSide {
  readonly bufferedBytes: number
  send(data: string | Uint8Array): void
  ping(): void
  pause(): void
  resume(): void
  close(code: number, reason: string): void
  terminate(): void
}

/** The code and reason of a close frame (RFC 6455, section 7.4). */
export type CloseFrame = readonly [code: number, reason: string]

/** Times in ms. */
export interface RelaySettings {
  /** Interval of pings to both sides, and of checks of the caller. */
  readonly pingMs: number
  /** A side that is silent for this long is considered gone. */
  readonly silentMs: number
  /** How long the client may take to complete its upgrade. */
  readonly openMs: number
}

export const RELAY_SETTINGS: RelaySettings = { pingMs: 30_000, silentMs: 90_000, openMs: 15_000 }

export interface RelayOptions {
  readonly upstream: UpstreamSocket
  /** The client sent a message. */
  readonly onActivity: () => void
  /** The close frame for a client whose access ended; undefined while access is valid. */
  readonly closeIfRevoked: () => Promise<CloseFrame | undefined>
  readonly onClosed: () => void
  readonly settings: RelaySettings
}

/** When this much is queued for one side, the other side is paused. */
const MAX_QUEUED_BYTES = 2 ** 20
const ABNORMAL_CLOSURE = 1006

/**
 * Relays messages and close frames between a client and a notebook. At most 1 MiB plus one message is queued per
 * direction. When one side disappears, the other is closed.
 */
export class SocketRelay {
  readonly #options: RelayOptions
  readonly #openTimer: ReturnType<typeof setTimeout>
  #client: ClientSide | undefined
  #pingTimer: ReturnType<typeof setInterval> | undefined
  #ended = false
  readonly #clientLiveness = new Liveness()
  readonly #upstreamLiveness = new Liveness()
  #clientPaused = false
  #upstreamPaused = false

  constructor(options: RelayOptions) {
    this.#options = options
    this.#openTimer = setTimeout(() => this.#terminate(), options.settings.openMs)
  }

  onOpen(client: ClientSide): void {
    clearTimeout(this.#openTimer)
    if (this.#ended) return client.terminate()
    const { upstream, settings } = this.#options
    this.#client = client
    this.#clientLiveness.touch()
    this.#upstreamLiveness.touch()
    this.#pingTimer = setInterval(() => this.#tick(), settings.pingMs)
    upstream.start({
      onMessage: (data) => this.#fromUpstream(data),
      onPong: () => this.#upstreamLiveness.touch(),
      onDrain: () => this.#resumeClient(),
      onClose: (code, reason) => this.#onUpstreamClose(code, reason),
    })
  }

  onMessage(data: string | Uint8Array): void {
    this.#clientLiveness.touch()
    this.#options.onActivity()
    const { upstream } = this.#options
    upstream.send(data)
    if (upstream.bufferedBytes <= MAX_QUEUED_BYTES) return
    this.#clientPaused = true
    this.#client?.pause()
  }

  onPong(): void {
    this.#clientLiveness.touch()
  }

  onDrain(): void {
    this.#resumeUpstream()
  }

  onClose(code: number, reason: string): void {
    const { upstream } = this.#options
    if (code === ABNORMAL_CLOSURE) upstream.terminate()
    else upstream.close(code, reason)
    this.#end()
  }

  #fromUpstream(data: string | Uint8Array): void {
    const client = this.#client
    if (client === undefined) return
    this.#upstreamLiveness.touch()
    client.send(data)
    if (client.bufferedBytes <= MAX_QUEUED_BYTES) return
    this.#upstreamPaused = true
    this.#options.upstream.pause()
  }

  #onUpstreamClose(code: number, reason: string): void {
    if (code === ABNORMAL_CLOSURE) this.#client?.close(1011, 'the notebook closed the connection unexpectedly')
    else this.#client?.close(code, reason)
    this.#end()
  }

  #resumeClient(): void {
    if (!this.#clientPaused || this.#options.upstream.bufferedBytes > MAX_QUEUED_BYTES / 2) return
    this.#clientPaused = false
    this.#clientLiveness.touch()
    this.#client?.resume()
  }

  #resumeUpstream(): void {
    if (!this.#upstreamPaused || (this.#client?.bufferedBytes ?? 0) > MAX_QUEUED_BYTES / 2) return
    this.#upstreamPaused = false
    this.#upstreamLiveness.touch()
    this.#options.upstream.resume()
  }

  #tick(): void {
    const { upstream, settings } = this.#options
    const client = this.#client
    if (client === undefined) return
    // A paused side cannot be seen to be alive; only the other side can make progress.
    const clientGone = !this.#clientPaused && this.#clientLiveness.silentFor(client.bufferedBytes) > settings.silentMs
    const upstreamGone =
      !this.#upstreamPaused && this.#upstreamLiveness.silentFor(upstream.bufferedBytes) > settings.silentMs
    if (clientGone) return this.#terminate()
    if (upstreamGone) {
      upstream.terminate()
      client.close(1011, 'the notebook is not responding')
      return this.#end()
    }
    client.ping()
    upstream.ping()
    this.#resumeClient()
    this.#resumeUpstream()
    void this.#closeIfRevoked(client)
  }

  async #closeIfRevoked(client: ClientSide): Promise<void> {
    const closeFrame = await this.#options.closeIfRevoked()
    if (closeFrame === undefined || this.#ended) return
    client.close(...closeFrame)
    this.#options.upstream.close(...closeFrame)
    this.#end()
  }

  #terminate(): void {
    this.#client?.terminate()
    this.#options.upstream.terminate()
    this.#end()
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#openTimer)
    clearInterval(this.#pingTimer)
    this.#options.onClosed()
  }
}

/** When one side was last seen alive: it sent something, or read queued bytes. */
class Liveness {
  #lastMs = 0
  #queued = 0

  touch(): void {
    this.#lastMs = performance.now()
  }

  silentFor(queuedBytes: number): number {
    if (queuedBytes < this.#queued) this.touch()
    this.#queued = queuedBytes
    return performance.now() - this.#lastMs
  }
}
