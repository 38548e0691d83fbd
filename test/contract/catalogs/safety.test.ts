import { linkSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CatalogSettings } from '../../../src/catalog/settings.ts'
import { createMemoryCatalog } from '../../../src/catalog/memory/catalog.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import type { SetCatalogConfigRequest } from '../../../src/schemas/catalog-config.ts'
import { createCatalogService } from '../../../src/services/catalogs/catalog-service.ts'
import { postgresPlace, postgresServer } from '../../storage/open.ts'
import { openLab } from '../../streaming/support.ts'
import { ADMIN_TOKEN, startTestService, type TestService } from '../../support/service.ts'

let service: TestService
let folder = ''
beforeAll(async () => {
  const env = { LAKE_TOKEN: 'lake-token-value', OTHER_TOKEN: 'other-token-value', CONFIG_ENV_ALLOW: 'OTHER_TOKEN' }
  service = await startTestService({ env })
  folder = service.folder
  mkdirSync(`${folder}/w`)
})
afterAll(() => service.close())

const put = (change: object) =>
  service.call('PUT', '/api/config', {
    body: { catalog_type: 'sql', catalog_name: 'other', warehouse: `${folder}/w`, ...change },
  })

describe('values of the environment in a configuration', () => {
  // the port is closed: what is refused is refused before anything is sent, and what is allowed fails to connect
  const rest = (token: string) =>
    put({ catalog_type: 'rest', uri: 'http://127.0.0.1:1', extra_props: { token, 'allowed-locations': `${folder}/w` } })

  it.each(['LOCKHOUSE_ADMIN_TOKEN', 'PATH', 'DATABASE_URL', 'XLAKE_TOKEN', 'lake_token', 'NOT_SET', ''])(
    'are refused for %j, set or not',
    async (name) => {
      const { status, body } = await rest(`env:${name}`)
      expect([status, body.code]).toEqual([400, 'INVALID_ARGUMENT'])
      expect(body.detail).toContain(`env:${name} cannot be read: only names that start with LAKE_`)
      expect(JSON.stringify(body)).not.toContain(ADMIN_TOKEN)
    },
  )

  it.each(['LAKE_TOKEN', 'OTHER_TOKEN'])('are read for %s', async (name) => {
    expect((await rest(`env:${name}`)).body.detail).not.toContain('cannot be read')
  })
})

describe('stored secrets', () => {
  const stored: CatalogSettings = {
    catalogType: 'rest',
    warehouse: 's3://lake/w',
    catalogName: 'lake',
    uri: 'https://catalog.internal/api',
    extraProps: {
      token: 'stored-token',
      'header.X-Key': 'stored-header',
      's3.access-key-id': 'stored-id',
      's3.secret-access-key': 'stored-secret',
      's3.endpoint': 'https://store.internal:9000',
      's3.region': 'here',
      'oauth2-server-uri': 'https://login.internal/token',
    },
  }

  async function configured(settings: CatalogSettings) {
    const opened: CatalogSettings[] = []
    let revision = 1
    const catalogs = createCatalogService({
      onCloseError: (error) => expect.fail(String(error)),
      onUnreachable: (name) => expect.fail(`${name} does not respond`),
      otherStore: { load: async () => ({ catalogs: [], revision: 0 }), save: async (next) => next },
      initial: settings,
      store: { load: async () => ({ settings, revision }), save: async () => (revision += 1) },
      openCatalog: async (next) => {
        opened.push(next)
        return createMemoryCatalog({ name: next.catalogName, warehouse: next.warehouse, io: new MemoryFileIO() })
      },
    })
    await catalogs.openStored()
    const { configured: _, ...shown } = catalogs.describe()
    const context = { caller: { user: 'me', role: 'LeadDataEngineer', via: 'token' }, requestId: 'r' } as const
    const set = (change: Partial<SetCatalogConfigRequest>, properties: Record<string, string> = {}) => {
      const extra_props = { ...shown.extra_props, ...properties }
      const request = { ...shown, extra_props, ...change } as SetCatalogConfigRequest
      return catalogs.configure(request, { context, precondition: undefined })
    }
    return { set, opened }
  }

  it('stay while scheme, host and port of every address stay', async () => {
    const { set, opened } = await configured(stored)
    await set({ catalog_name: 'renamed', uri: 'https://CATALOG.internal:443/other/path' })
    await set({}, { 'oauth2-server-uri': 'https://login.internal/another' })
    expect(opened.map(({ extraProps }) => extraProps['token'])).toEqual([
      'stored-token',
      'stored-token',
      'stored-token',
    ])
  })

  it.each<[string, Partial<SetCatalogConfigRequest>, Record<string, string>]>([
    ['uri', { uri: 'https://elsewhere.test/api' }, {}],
    ['uri', { uri: 'http://catalog.internal/api' }, {}],
    ['uri', { uri: 'https://catalog.internal:8443/api' }, {}],
    ['uri', { uri: 'https://catalog.internal.elsewhere.test/api' }, {}],
    ['uri', { uri: 'https://catalog.internal@elsewhere.test/api' }, {}],
    ['extra_props.s3.endpoint', {}, { 's3.endpoint': 'https://elsewhere.test' }],
    ['extra_props.s3.region', {}, { 's3.region': 'elsewhere.test/' }],
    ['extra_props.client.region', {}, { 'client.region': 'x' }],
    ['extra_props.oauth2-server-uri', {}, { 'oauth2-server-uri': 'https://elsewhere.test/token' }],
    ['catalog_type, uri', { catalog_type: 'sql', uri: 'postgresql://me@elsewhere.test/lake' }, {}],
  ])('must be given again when %s changes', async (changed, request, properties) => {
    const { set, opened } = await configured(stored)
    const secrets = ['token', 'header.X-Key', 's3.access-key-id', 's3.secret-access-key']
    const refusal: unknown = await set(request, properties).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(refusal).toMatchObject({ code: 'INVALID_REQUEST' })
    const { fields } = refusal as { fields: { path: string; message: string }[] }
    expect(fields.map(({ path }) => path)).toEqual(secrets.map((key) => `extra_props.${key}`))
    expect(fields[0]?.message).toBe(
      `must be sent again: ${changed} changes, so the stored value would go to another address`,
    )
    expect(opened).toHaveLength(1)
    const given = Object.fromEntries(secrets.map((key) => [key, 'given-again']))
    await set(request, { ...properties, ...given })
    expect(opened).toHaveLength(2)
  })

  it.each([
    'postgresql://me@elsewhere/lake',
    'postgresql://me@db:5433/lake',
    'postgresql://me@db/lake?host=elsewhere',
    'postgresql://me@db/lake?sslmode=disable',
    'postgresql://me@db/lake',
  ])('of a database are not kept for %s', async (uri) => {
    const { set } = await configured({
      ...stored,
      catalogType: 'sql',
      uri: 'postgresql://me@db/lake?sslmode=verify-full',
      extraProps: { password: 'stored-password' },
    })
    await expect(set({ uri })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    await set({ uri: 'postgresql://you@db:5432/another?sslmode=verify-full' })
  })
})

describe('a switch of the catalog', () => {
  it('lists exactly the running pipelines whose tables are missing or different there', async () => {
    const lab = await openLab()
    try {
      const columns = [['id', 'long']] as const
      for (const name of ['a', 'b', 'c']) await lab.createTable(`s.${name}`, columns)
      const start = async (source: string, sink: string): Promise<string> => {
        const { status, body } = await lab.service.post('/api/pipeline/start', {
          source_table: source,
          sink_table: sink,
          create_sink_table: true,
          checkpoint_location: `cp/${source}`,
          trigger_interval: '1 hour',
        })
        expect(status, JSON.stringify(body)).toBe(200)
        return body.pipeline.id
      }
      const id = await start('s.a', 's.a_out')
      const stopped = await start('s.b', 's.b_out')
      await lab.service.post(`/api/pipeline/${stopped}/stop`, {})
      const { configured: _, ...config } = (await lab.service.get('/api/config')).body
      const set = (change: object) => lab.service.call('PUT', '/api/config', { body: { ...config, ...change } })
      expect((await set({})).body.affected_pipelines).toEqual([])
      const other = { uri: `sqlite:///${lab.service.folder}/other.db`, create: true }
      const answer = await set(other)
      expect([answer.status, answer.body.affected_pipelines]).toEqual([
        200,
        [
          {
            id,
            tables: ['s.a', 's.a_out'].map((table) => ({
              table,
              problem: 'is not in the new catalog, or cannot be read there',
            })),
          },
        ],
      ])
      await lab.catalog().createNamespace(['s'])
      await lab.createTable('s.a', columns)
      expect((await set({})).body.affected_pipelines[0].tables[0]).toEqual({
        table: 's.a',
        problem: 'is another table in the new catalog',
      })
    } finally {
      await lab.close()
    }
  })
})

describe('the file of an sql catalog', () => {
  const refused = async (uri: string, change: object = {}) => {
    const { status, body } = await put({ uri, ...change })
    expect([uri, status, body.code, body.errors?.[0]?.path]).toEqual([uri, 422, 'UNPROCESSABLE', 'uri'])
    expect(body.detail).not.toContain(folder)
    return String(body.detail)
  }

  it('is never the state database or the lock, under any name', async () => {
    const home = `${folder}/home`
    symlinkSync(`${home}/state.db`, `${folder}/link.db`)
    linkSync(`${home}/state.db`, `${folder}/hard.db`)
    symlinkSync(home, `${folder}/linked-home`)
    const before = (await service.get('/api/config')).body
    for (const uri of [
      `sqlite:///${home}/state.db`,
      `sqlite:////${home}/./x/../state.db`,
      `sqlite:///${folder}/link.db`,
      `sqlite:///${folder}/hard.db`,
      `sqlite:///${folder}/linked-home/state.db`,
      `jdbc:sqlite:${home}/state.db`,
      `jdbc:sqlite:file:${home}/state.db`,
      `sqlite:///${home}/state.db-wal`,
      `sqlite:///${home}/lock.db`,
    ]) {
      expect(await refused(uri, { create: true })).toContain('is a database of this service itself')
    }
    // a file: URI is a plain name here, of a file that is not there
    await refused(`sqlite:///file:${home}/state%2Edb`)
    expect((await service.get('/api/config')).body).toEqual(before)
    const state = new DatabaseSync(`${home}/state.db`, { readOnly: true })
    expect(state.prepare("select name from sqlite_master where name like 'iceberg%'").all()).toEqual([])
    state.close()
  })

  it('is created only on request', async () => {
    const uri = `sqlite:///${folder}/new.db`
    expect(await refused(uri)).toContain('create: true')
    expect(() => statSync(`${folder}/new.db`)).toThrow('ENOENT')
    expect((await put({ uri, create: true })).status).toBe(200)
    expect((await put({ uri })).status).toBe(200)
    expect((await service.get('/api/tables')).status).toBe(200)
  })

  it('gets tables only on request if it is an existing database', async () => {
    const other = new DatabaseSync(`${folder}/foreign.db`)
    other.exec('create table theirs (id integer)')
    other.close()
    const before = readFileSync(`${folder}/foreign.db`)
    const uri = `sqlite:///${folder}/foreign.db`
    expect(await refused(uri)).toContain('without catalog tables')
    expect(readFileSync(`${folder}/foreign.db`).equals(before)).toBe(true)
    expect((await put({ uri, create: true })).status).toBe(200)
  })

  it('is a database in an existing folder: anything else is a request error', async () => {
    writeFileSync(`${folder}/text.db`, 'no database at all, but longer than a header of one hundred bytes '.repeat(9))
    expect(await refused(`sqlite:///${folder}/text.db`, { create: true })).toContain('SQLite database')
    expect(await refused(`sqlite:///${folder}/none/new.db`, { create: true })).toContain('folder that does not exist')
    expect(await refused(`sqlite:///${folder}/text.db/new.db`, { create: true })).toContain('folder')
    expect(await refused(`sqlite:///${folder}/w`, { create: true })).toContain('names a folder')
  })

  it('that is missing is not created again at a start; that of the first start is', async () => {
    const own = await startTestService()
    try {
      mkdirSync(`${own.folder}/w`)
      const body = { catalog_type: 'sql', catalog_name: 'x', warehouse: `${own.folder}/w`, create: true }
      const uri = `sqlite:///${own.folder}/gone.db`
      expect((await own.call('PUT', '/api/config', { body: { ...body, uri } })).status).toBe(200)
      rmSync(`${own.folder}/gone.db`)
      await own.restart()
      expect((await own.get('/api/tables')).body.code).toBe('CATALOG_NOT_CONFIGURED')
      expect(() => statSync(`${own.folder}/gone.db`)).toThrow('ENOENT')
    } finally {
      await own.close()
    }
  })
})

describe.skipIf(postgresServer === undefined)('the database of a catalog in PostgreSQL', () => {
  it('is never that of the state, in another schema or under another name of the server', async () => {
    const { place, remove } = await postgresPlace()
    const other = await startTestService({ env: { DATABASE_URL: place } })
    try {
      mkdirSync(`${other.folder}/w`)
      const url = new URL(place)
      url.search = ''
      for (const [host, query] of [
        [url.hostname, ''],
        [url.hostname, '?currentSchema=elsewhere'],
        ['localhost', ''],
        ['127.0.0.1', '?options=-csearch_path%3Delsewhere'],
      ]) {
        url.hostname = host ?? ''
        const body = {
          catalog_type: 'sql',
          catalog_name: 'x',
          warehouse: `${other.folder}/w`,
          uri: `${url.href}${query}`,
        }
        const answer = await other.call('PUT', '/api/config', { body })
        expect([answer.status, answer.body.code], JSON.stringify(answer.body)).toEqual([422, 'UNPROCESSABLE'])
        expect(answer.body.detail).toContain('the database of this service itself')
      }
    } finally {
      await other.close()
      await remove()
    }
  })
})
