// Lockhouse in a server of Deno: `deno add npm:lockhouse`, `deno run --allow-all server.mjs`.
import { createLockhouse } from 'lockhouse'

const port = Number(Deno.env.get('PORT') ?? 3000)
const lake = await createLockhouse({ home: './data', settings: { LOCKHOUSE_DEMO: '1' } })

const server = Deno.serve({ hostname: '127.0.0.1', port, onListen: () => undefined }, (request, info) =>
  lake.fetch(request, info),
)
console.log(`http://localhost:${port}/#token=${lake.firstToken ?? ''}`)

async function stop() {
  await lake.close()
  await server.shutdown()
  Deno.exit(0)
}
Deno.addSignalListener('SIGTERM', () => void stop())
