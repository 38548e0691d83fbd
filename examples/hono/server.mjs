// Lockhouse inside another Hono app, below /lake, on Node: `npm install lockhouse hono @hono/node-server`, `node server.mjs`.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createLockhouse } from 'lockhouse'

const port = Number(process.env.PORT ?? 3000)
const lake = await createLockhouse({ home: './data', basePath: '/lake', settings: { LOCKHOUSE_DEMO: '1' } })

const app = new Hono()
app.get('/', (c) => c.text('The lakehouse is at /lake/.'))
app.all('/lake', (c) => lake.fetch(c.req.raw, c.env))
app.all('/lake/*', (c) => lake.fetch(c.req.raw, c.env))

const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port })
server.on('upgrade', lake.upgrade) // WebSockets
console.log(`http://localhost:${port}/lake/#token=${lake.firstToken ?? ''}`)

async function stop() {
  server.close()
  await lake.close()
  process.exit(0)
}
process.once('SIGTERM', () => void stop())
