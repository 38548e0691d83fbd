import { delay } from './delay.ts'
import { serviceAddress } from '../base-path.ts'

export interface LiveSocketOptions {
  readonly signal: AbortSignal
  /** Called with each text frame, as it came. */
  readonly onMessage: (text: string) => void
  /** `open` once frames can come; `waiting` between a break and the next try. */
  readonly onState?: (state: 'open' | 'waiting') => void
}

const RETRY_MS = { first: 500, longest: 15_000 } as const

/** Keeps a WebSocket to the service open until it is aborted; waits longer after each failed try, with some jitter. */
export async function runLiveSocket(path: string, { signal, onMessage, onState }: LiveSocketOptions): Promise<void> {
  let wait: number = RETRY_MS.first
  while (!signal.aborted) {
    await oneConnection(path, {
      signal,
      onMessage,
      onState: (state) => {
        if (state === 'open') wait = RETRY_MS.first
        onState?.(state)
      },
    })
    if (signal.aborted) return
    onState?.('waiting')
    await delay(wait * (0.75 + Math.random() / 2), signal)
    wait = Math.min(wait * 2, RETRY_MS.longest)
  }
}

function oneConnection(path: string, { signal, onMessage, onState }: LiveSocketOptions): Promise<void> {
  return new Promise((resolve) => {
    const url = new URL(serviceAddress(path), location.href)
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    const socket = new WebSocket(url, 'lockhouse.v1')
    const close = (): void => socket.close(1000)
    signal.addEventListener('abort', close)
    socket.addEventListener('open', () => onState?.('open'))
    socket.addEventListener('message', ({ data }) => {
      if (typeof data === 'string' && !signal.aborted) onMessage(data)
    })
    socket.addEventListener('close', () => {
      signal.removeEventListener('abort', close)
      resolve()
    })
  })
}
