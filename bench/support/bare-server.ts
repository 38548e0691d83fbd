// Bare Hono routes that send what the service sends, with no guard, no log, no checks: a version of a pipeline definition by
// id, read from the same table with the same driver, and the health of the service as it was at the start. In front of the
// router, /headers-only sends that health with the service's headers and a request id: the least that the service can do.
// Arguments: port, database, health as JSON.
import { randomBytes } from 'node:crypto'
import { Hono } from 'hono'
import { Kysely } from 'kysely'
import { createIdSource } from '../../src/domain/ids.ts'
import type { Exchange } from '../../src/middleware/exchange.ts'
import { jsonResponse } from '../../src/middleware/security-headers.ts'
import { detectRuntime } from '../../src/server/detect-runtime.ts'
import type { StateTables } from '../../src/storage/schema.ts'

const [, , port, path, health = '{}'] = process.argv
const runtime = await detectRuntime()
const db = new Kysely<StateTables>({ dialect: runtime.openStateFile(path ?? '') })
const app = new Hono()
const healthy: Record<string, unknown> = JSON.parse(health)
app.get('/health', (c) => c.json(healthy))
app.get('/versions/:id', async (c) => {
  const row = await db
    .selectFrom('pipeline_versions')
    .selectAll()
    .where('id', '=', c.req.param('id'))
    .executeTakeFirst()
  if (!row) return c.notFound()
  const { graph_json: graph, ...version } = row
  return c.json({ ...version, ...JSON.parse(graph) })
})

const newId = createIdSource(Date.now, (length) => new Uint8Array(randomBytes(length)))
function headersOnly(): Response {
  // all that it reads of a request
  const exchange = { requestId: newId('req'), sharedWith: null } as unknown as Exchange
  return jsonResponse(exchange, health, { status: 200 })
}

Bun.serve({
  fetch: (request) => (request.url.endsWith('/headers-only') ? headersOnly() : app.fetch(request)),
  hostname: '127.0.0.1',
  port: Number(port),
})
