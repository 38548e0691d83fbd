import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Below the ports that Linux gives to outgoing connections and to servers that listen on port 0. */
const PORTS = { first: 12_000, count: 20_000 } as const
const RESERVED = join(tmpdir(), 'lockhouse-test-ports')
const mine: string[] = []

process.once('exit', () => {
  for (const file of mine) rmSync(file, { force: true })
})

/**
 * A port of the loopback interface that nobody listens on, and that no other process of the tests gets while this one
 * lives: a service that starts must not be mistaken for another that took the port before it listened.
 */
export async function freePort(): Promise<number> {
  mkdirSync(RESERVED, { recursive: true })
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count)
    if (reserve(join(RESERVED, String(port))) && (await canListen(port))) return port
  }
}

/** Creates the file, which names this process; false while the process that it names lives. */
function reserve(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    mine.push(file)
    return true
  } catch {
    if (!isAbandoned(file)) return false
    rmSync(file, { force: true })
    return reserve(file)
  }
}

function isAbandoned(file: string): boolean {
  try {
    process.kill(Number(readFileSync(file, 'utf8')), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
