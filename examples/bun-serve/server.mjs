// Lockhouse in a server of Bun: `bun add lockhouse`, `bun server.mjs`.
import { createLockhouse } from 'lockhouse'

const port = Number(process.env.PORT ?? 3000)
const lake = await createLockhouse({ home: './data', settings: { LOCKHOUSE_DEMO: '1' } })

const server = Bun.serve({
  hostname: '127.0.0.1',
  port,
  fetch: (request, self) => lake.fetch(request, self),
  websocket: lake.websocket,
})
console.log(`http://localhost:${port}/#token=${lake.firstToken ?? ''}`)

async function stop() {
  server.stop()
  await lake.close()
  process.exit(0)
}
process.once('SIGTERM', () => void stop())
