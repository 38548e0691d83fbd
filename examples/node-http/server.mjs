// Lockhouse in a plain server of Node, below /lake: `npm install lockhouse @hono/node-server`, `node server.mjs`.
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { createLockhouse } from 'lockhouse'

const port = Number(process.env.PORT ?? 3000)
const lake = await createLockhouse({ home: './data', basePath: '/lake', settings: { LOCKHOUSE_DEMO: '1' } })
const answerLake = getRequestListener(lake.fetch)

const server = createServer((incoming, outgoing) => {
  if (incoming.url === '/lake' || incoming.url?.startsWith('/lake/')) void answerLake(incoming, outgoing)
  else outgoing.end('The lakehouse is at /lake/.')
})
server.on('upgrade', lake.upgrade) // WebSockets
server.listen(port, '127.0.0.1')
console.log(`http://localhost:${port}/lake/#token=${lake.firstToken ?? ''}`)

async function stop() {
  server.close()
  await lake.close()
  process.exit(0)
}
process.once('SIGTERM', () => void stop())
