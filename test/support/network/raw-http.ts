import { connect, type Socket } from 'node:net'
import { sleep, until } from '../waiting.ts'

/** A connection that sends what it is told, well-formed or not. */
export interface RawConnection {
  /** What the server has sent so far. */
  readonly received: string
  readonly isOpen: boolean
  /** Resolves when the server or {@link end} has closed the connection. */
  readonly closed: Promise<void>
  end(): void
}

/** Connects to `127.0.0.1:<port>` and sends the text. */
export async function openRaw(port: number, text: string): Promise<RawConnection> {
  const socket: Socket = connect(port, '127.0.0.1')
  const state = { received: '', isOpen: true }
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      state.isOpen = false
      resolve()
    })
  })
  socket.on('error', () => undefined)
  socket.on('data', (bytes) => (state.received += bytes.toString('latin1')))
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  socket.write(text)
  return {
    get received() {
      return state.received
    },
    get isOpen() {
      return state.isOpen
    },
    closed,
    end: () => socket.destroy(),
  }
}

/** Sends the text and resolves with the first part of the answer; the connection is ended then. */
export async function exchangeRaw(port: number, text: string): Promise<string> {
  const connection = await openRaw(port, text)
  await until(() => connection.received.includes('\r\n\r\n') || !connection.isOpen, 'the head of an answer')
  await Promise.race([connection.closed, sleep(50)])
  connection.end()
  return connection.received
}
