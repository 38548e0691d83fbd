import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'

import { Kysely, sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'

import { createMemoryCatalog } from '../../../src/catalog/memory/catalog.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import { postgresDialect } from '../../../src/storage/dialects/postgres.ts'
import { createCatalogService } from '../../../src/services/catalogs/catalog-service.ts'
import type { CatalogSettings } from '../../../src/catalog/settings.ts'
import type { SetCatalogConfigRequest } from '../../../src/schemas/catalog-config.ts'
import { postgresPlace, postgresServer } from '../../storage/open.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const stored: CatalogSettings = {
  catalogType: 'sql',
  warehouse: '/lake',
  catalogName: 'lake',
  uri: 'postgresql://me:s%40cret@db/lake',
  extraProps: {},
}

/** The catalog service over settings in memory; `opened` has the address of each catalog that it opened. */
async function configured(settings: CatalogSettings) {
  const opened: (string | null)[] = []
  let revision = 1
  const service = createCatalogService({
    onCloseError: (error) => expect.fail(String(error)),
    onUnreachable: (name) => expect.fail(`${name} does not respond`),
    otherStore: { load: async () => ({ catalogs: [], revision: 0 }), save: async (next) => next },
    initial: settings,
    store: { load: async () => ({ settings, revision }), save: async () => (revision += 1) },
    openCatalog: async ({ catalogName: name, warehouse, uri }) => {
      opened.push(uri)
      return createMemoryCatalog({ name, warehouse, io: new MemoryFileIO() })
    },
  })
  await service.openStored()
  const context = { caller: { user: 'me', role: 'LeadDataEngineer', via: 'token' }, requestId: 'r' } as const
  const set = (change: Partial<SetCatalogConfigRequest>) => {
    const { configured: _, ...shown } = service.describe()
    const request = { ...shown, ...change } as SetCatalogConfigRequest
    return service.configure(request, { context, precondition: undefined })
  }
  return { service, set, opened }
}

describe('a catalog configuration', () => {
  let service: TestService
  afterEach(() => service.close())

  it('that names a hadoop folder which does not exist keeps the working catalog', async () => {
    service = await startTestService({ events: { commits: 1, filesPerCommit: 1, rowsPerFile: 1 } })
    const warehouse = `${service.folder}/absent`
    const request = { catalog_type: 'hadoop', catalog_name: 'h', warehouse }
    const { status, body } = await service.call('PUT', '/api/config', { body: request })
    expect([status, body.code], JSON.stringify(body)).toEqual([422, 'UNPROCESSABLE'])
    expect((await service.get('/api/config')).body.catalog_type).toBe('sql')
    expect((await service.get('/api/tables')).body.tables).toHaveLength(1)
    expect((await service.call('PUT', '/api/config', { body: { ...request, create: true } })).status).toBe(200)
    expect((await service.get('/api/tables')).body.tables).toEqual([])
  })

  it('is refused with a variable that must not be read, also where the catalog does not use the property', async () => {
    service = await startTestService()
    const { configured: _, ...config } = (await service.get('/api/config')).body
    const body = { ...config, extra_props: { note: 'env:PATH' } }
    const answer = await service.call('PUT', '/api/config', { body })
    expect([answer.status, answer.body.code], JSON.stringify(answer.body)).toEqual([400, 'INVALID_ARGUMENT'])
    expect((await service.get('/api/config')).body.extra_props).toEqual({})
  })
})

describe('the password in the address of a catalog', () => {
  it('is never shown, and kept when the address comes back as it was shown', async () => {
    const { service, set, opened } = await configured(stored)
    expect(service.describe().uri).toBe('postgresql://me:***@db/lake')
    expect(service.secrets()).toEqual(expect.arrayContaining(['s%40cret', 's@cret']))
    expect((await set({ catalog_name: 'other' })).uri).toBe('postgresql://me:***@db/lake')
    expect(opened).toEqual([stored.uri, stored.uri])
  })

  it.each([
    'postgresql://me:***@elsewhere/lake',
    'postgresql://me:***@db:5433/lake',
    'postgresql://you:***@db/lake',
    'postgresql://me:***@db/lake?sslmode=disable',
  ])('is kept for no other address, such as %s', async (uri) => {
    const { service, set, opened } = await configured(stored)
    const refusal = {
      code: 'INVALID_REQUEST',
      fields: [{ path: 'uri', message: 'is ***, but there is no stored value to keep: send the value' }],
    }
    await expect(set({ uri })).rejects.toMatchObject(refusal)
    expect(opened).toEqual([stored.uri])
    expect(service.describe().uri).toBe('postgresql://me:***@db/lake')
  })

  it('cannot be kept when none is stored', async () => {
    const { set } = await configured({ ...stored, uri: 'postgresql://me@db/lake' })
    await expect(set({ uri: 'postgresql://me:***@db/lake' })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    expect((await set({ uri: 'postgresql://me:new@db/lake' })).uri).toBe('postgresql://me:***@db/lake')
  })

  it('that is malformed prevents nothing', async () => {
    const { service } = await configured({ ...stored, uri: 'https://me:100%@db/lake' })
    expect(service.secrets()).toContain('100%')
  })
})

describe.skipIf(postgresServer === undefined)('a catalog in PostgreSQL over the API', () => {
  const closings: (() => Promise<unknown>)[] = []

  afterEach(async () => {
    for (const close of closings.splice(0).reverse()) await close()
  })

  async function start(): Promise<{ service: TestService; uri: string; put: (change: object) => Promise<unknown> }> {
    const { place, remove } = await postgresPlace()
    closings.push(remove)
    const service = await startTestService({ env: { LAKE_PASSWORD: 'hunter2' } })
    closings.push(() => service.close())
    const warehouse = `${service.folder}/pg-warehouse`
    mkdirSync(warehouse)
    const url = new URL(place)
    url.password = 'hunter2' // not needed by a server with trust authentication, but still a secret
    const config = { catalog_type: 'sql', catalog_name: 'pg', warehouse, uri: url.href }
    const put = async (change: object) => service.call('PUT', '/api/config', { body: { ...config, ...change } })
    return { service, uri: url.href, put }
  }

  it('is opened, shown without its password, changed as it was shown, and opened again after a restart', async () => {
    const { service, uri, put } = await start()
    expect(await put({})).toMatchObject({ status: 200 })
    const shown = (await service.get('/api/config')).body
    expect(shown).toMatchObject({ configured: true, uri: uri.replace('hunter2', '***'), catalog_name: 'pg' })
    expect(await service.call('PUT', '/api/config', { body: { ...shown, catalog_name: 'pg2' } })).toMatchObject({
      status: 200,
      body: { config: { catalog_name: 'pg2', uri: shown.uri } },
    })
    await service.restart()
    expect((await service.get('/api/tables')).status).toBe(200)
    const bare = uri.replace(':hunter2@', '@')
    expect(await put({ uri: bare, extra_props: { password: 'hunter2', clients: '2' } })).toMatchObject({
      status: 200,
      body: { config: { uri: bare, extra_props: { password: '***', clients: '2' } } },
    })
    expect(await put({ uri: bare, extra_props: { password: '***' } })).toMatchObject({ status: 200 })
    expect(await put({ uri: bare, extra_props: { password: 'env:LAKE_PASSWORD' } })).toMatchObject({
      status: 200,
      body: { config: { extra_props: { password: 'env:LAKE_PASSWORD' } } },
    })
  })

  it('that cannot be opened leaves the old one in use, and no answer shows the password', async () => {
    const { service, uri, put } = await start()
    expect(await put({})).toMatchObject({ status: 200 })
    const before = (await service.get('/api/config')).body
    const elsewhere = uri.replace('hunter2', '***').replace(/:\d+\//, ':1/')
    const refusals = [
      [{ uri: elsewhere }, 400, 'INVALID_REQUEST'],
      [{ uri: uri.replace(/:\d+\//, ':1/') }, 503, 'IO_FAILED'],
      [{ uri: uri.replace(/\/[^/]*$/, `/none_${randomUUID().slice(0, 8)}`) }, 503, 'IO_FAILED'],
      [{ uri: `${uri}?sslmode=verify-full` }, 503, 'IO_FAILED'],
      [{ uri: `${uri}?sslmod=require` }, 400, 'INVALID_ARGUMENT'],
      [{ extra_props: { password: 'hunter2' } }, 400, 'INVALID_ARGUMENT'],
      [{ extra_props: { clients: 'many' } }, 400, 'INVALID_ARGUMENT'],
    ] as const
    for (const [change, status, code] of refusals) {
      const answer = await put(change)
      expect(answer).toMatchObject({ status, body: { code } })
      expect(JSON.stringify(answer)).not.toContain('hunter2')
      expect((await service.get('/api/config')).body).toEqual(before)
    }
    expect((await service.get('/api/tables')).status).toBe(200)
  })

  it('that is replaced closes its connections', LONG, async () => {
    const { service, uri, put } = await start()
    const named = `${uri}?application_name=replaced`
    expect(await put({ uri: named })).toMatchObject({ status: 200 })
    const server = new Kysely({ dialect: postgresDialect(uri) })
    closings.push(() => server.destroy())
    const connections = async (): Promise<number> =>
      (await sql`select 1 from pg_stat_activity where application_name = 'replaced'`.execute(server)).rows.length
    expect(await connections()).toBe(1)
    expect(await put({ catalog_name: 'pg2' })).toMatchObject({ status: 200 })
    await until(async () => (await connections()) === 0)
    expect((await service.get('/api/tables')).status).toBe(200)
  })
})
