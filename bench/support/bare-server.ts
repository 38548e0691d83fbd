// Bare Hono routes that send what the service sends, with no guard, no log, no checks: a version of a pipeline definition by
// id, read from the same table with the same driver, and the health of the service as it was at the start. Arguments: port,
// database, health as JSON.
import { Hono } from 'hono'
import { Kysely } from 'kysely'
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
Bun.serve({ fetch: (request) => app.fetch(request), hostname: '127.0.0.1', port: Number(port) })
