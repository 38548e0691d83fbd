import { mkdirSync } from 'node:fs'
import { Kysely, sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { postgresDialect } from '../../../../src/storage/dialects/postgres.ts'
import { postgresPlace, postgresServer } from '../../../storage/open.ts'
import { startTestService } from '../../../support/service.ts'
import { SCHEMA } from '../../../catalog/support-files.ts'
import { find, outcomes, testDraft } from './support.ts'

const closings: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})

/** A service, settings of a catalog in an empty schema, and the rows of its tables; undefined: there are none. */
async function start() {
  const { place, remove } = await postgresPlace()
  closings.push(remove)
  const service = await startTestService()
  closings.push(() => service.close())
  const warehouse = `${service.folder}/pg-warehouse`
  mkdirSync(warehouse)
  const url = new URL(place)
  url.password = 'hunter2-is-secret' // not needed by a server with trust authentication, but still a secret
  const db = new Kysely<object>({ dialect: postgresDialect(place) })
  closings.push(() => db.destroy())
  const rows = async (): Promise<unknown> => {
    const found = await sql<{ name: string | null }>`select to_regclass('iceberg_tables')::text as name`.execute(db)
    if (found.rows[0]?.name === null) return undefined
    return (await sql`select xmin::text as version, * from iceberg_tables`.execute(db)).rows
  }
  return { service, rows, url, settings: { catalog_type: 'sql', catalog_name: 'pg', warehouse, uri: url.href } }
}

describe.skipIf(postgresServer === undefined)('a test of a catalog in PostgreSQL', () => {
  it('creates no tables, and updates no row', async () => {
    const { service, rows, settings } = await start()
    const empty = await testDraft(service, { ...settings, create: true })
    expect(find(empty, 'reach')).toMatchObject({
      outcome: 'failed',
      detail: 'The database has no table iceberg_tables; setting the catalog with PUT /api/config creates it.',
    })
    expect(await rows()).toBeUndefined()
    expect((await service.call('PUT', '/api/config', { body: settings })).status).toBe(200)
    const catalog = service.context.app.catalog.current()
    await catalog.createNamespace(['s'])
    await catalog.createTable({ namespace: ['s'], name: 't' }, { schema: SCHEMA })
    const before = await rows()
    const result = await testDraft(service, settings, '?commit=true')
    expect(outcomes(result), JSON.stringify(result)).toEqual([
      'reach: ok',
      'list: ok',
      'load: ok',
      'read: skipped',
      'write: ok',
      'commit: ok',
      'credentials: ok',
    ])
    expect(await rows()).toEqual(before)
  })

  it('shows neither the password nor a failure of the update as success', async () => {
    const { service, settings, url } = await start()
    expect((await service.call('PUT', '/api/config', { body: settings })).status).toBe(200)
    const schema = url.searchParams.get('options') ?? ''
    url.searchParams.set('options', `${schema} -c default_transaction_read_only=on`.trim())
    const readOnly = await testDraft(service, { ...settings, uri: url.href })
    expect(find(readOnly, 'commit')).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/it is read-only/),
    })
    url.port = '1'
    const unreachable = await testDraft(service, { ...settings, uri: url.href })
    expect(find(unreachable, 'reach').outcome).toBe('failed')
    expect(JSON.stringify([readOnly, unreachable])).not.toContain('hunter2-is-secret')
  })
})
