// A bare Hono route that reads a version of a pipeline definition by id, as the service does: the same table, the same
// driver, no guard, no log, no checks. Arguments: port, database.
import { Hono } from 'hono'
import { Kysely } from 'kysely'
import { detectRuntime } from '../../src/server/detect-runtime.ts'
import type { StateTables } from '../../src/storage/schema.ts'

const [, , port, path] = process.argv
const runtime = await detectRuntime()
const db = new Kysely<StateTables>({ dialect: runtime.openStateFile(path ?? '') })
const app = new Hono()
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
await runtime.serve({ fetch: (request) => app.fetch(request), hostname: '127.0.0.1', port: Number(port) })
