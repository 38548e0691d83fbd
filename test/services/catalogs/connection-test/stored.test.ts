import { mkdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ADMIN_TOKEN, startTestService, type TestService } from '../../../support/service.ts'
import { contentOf, find, outcomes, resultOf, testDraft } from './support.ts'

const LATER = ['list', 'load', 'read', 'write', 'commit', 'credentials']
const EVENTS = { commits: 1, filesPerCommit: 1, rowsPerFile: 10 }

describe('a test of the configured catalog', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({ events: EVENTS })
  })
  afterAll(() => service.close())

  const home = () => `${service.folder}/home`
  const warehouse = () => `${home()}/warehouse`

  it('finds that everything works, and leaves every file and the configuration as they were', async () => {
    const before = await contentOf(warehouse())
    const tables = (await service.get('/api/tables')).body
    const { headers, body: config } = await service.get('/api/config')
    const result = resultOf(await service.post('/api/catalogs/lockhouse/test', undefined))
    expect(result).toMatchObject({ catalog: 'lockhouse', outcome: 'ok' })
    expect(outcomes(result), JSON.stringify(result)).toEqual([
      'reach: ok',
      'list: ok',
      'load: ok',
      'read: ok',
      'write: ok',
      'commit: ok',
      'credentials: ok',
    ])
    expect(find(result, 'list').detail).toBe('The catalog lists 1 namespace and 1 table.')
    expect(find(result, 'read').detail).toMatch(/^The footer of .*\.parquet was read/)
    expect(await contentOf(warehouse())).toEqual(before)
    expect((await service.get('/api/tables')).body).toEqual(tables)
    const after = await service.get('/api/config')
    expect([after.headers.get('etag'), after.body]).toEqual([headers.get('etag'), config])
  })

  it('is in the list of catalogs, with the settings of GET /api/config', async () => {
    const { body } = await service.get('/api/catalogs')
    const settings = (await service.get('/api/config')).body
    const entry = { name: 'lockhouse', is_default: true, is_open: true, problem: null, settings }
    expect(body).toEqual({ success: true, catalogs: [entry], next_page_token: null })
  })

  it('is refused for an unknown name, and is an entry of the audit log', async () => {
    const unknown = await service.post('/api/catalogs/lock%2Fhouse/test', undefined)
    expect([unknown.status, unknown.body.code]).toEqual([404, 'NOT_FOUND'])
    resultOf(await service.post('/api/catalogs/lockhouse/test?commit=true', undefined))
    const [entry] = (await service.get('/api/audit?action=catalog.test')).body
    expect(entry).toMatchObject({ object_type: 'catalog', object_id: 'lockhouse', outcome: 'done' })
    expect(JSON.stringify(entry)).toMatch(/stored.{1,6}true/)
  })

  it('runs once at a time', async () => {
    const both = await Promise.all([1, 2].map(() => service.post('/api/catalogs/lockhouse/test', undefined)))
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(both.find(({ status }) => status === 409)?.body.detail).toMatch(/is running: wait for its result/)
    expect((await service.post('/api/catalogs/lockhouse/test', undefined)).status).toBe(200)
  })

  it('needs a Lead', async () => {
    const token = (await service.post('/api/auth/tokens', { user: 'ana', role: 'DataEngineer', name: 't' })).body.token
    for (const path of ['/api/catalogs/lockhouse/test', '/api/config/test']) {
      expect((await service.post(path, {}, { token })).status).toBe(403)
    }
  })

  it('ends when the caller goes away, and the next test runs', async () => {
    const before = await contentOf(warehouse())
    const gone = AbortSignal.abort()
    const init = { method: 'POST', signal: gone, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } }
    await service.app.request('/api/catalogs/lockhouse/test', init).catch(() => undefined)
    const result = resultOf(await service.post('/api/catalogs/lockhouse/test', undefined))
    expect(result.outcome).toBe('ok')
    expect(await contentOf(warehouse())).toEqual(before)
  })
})

describe('a test of settings that are not stored', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({ events: EVENTS, env: { LAKE_KEY: 'a-secret-of-the-environment' } })
  })
  afterAll(() => service.close())

  const home = () => `${service.folder}/home`
  const current = async () => (await service.get('/api/config')).body

  it('says that a SQLite file is missing, and creates neither the file nor its tables', async () => {
    const folder = `${service.folder}/missing`
    await mkdir(folder)
    const settings = { catalog_type: 'sql', catalog_name: 'm', warehouse: folder, uri: `sqlite:///${folder}/m.db` }
    for (const create of [false, true]) {
      const result = await testDraft(service, { ...settings, create })
      expect(outcomes(result)).toEqual(['reach: failed', ...LATER.map((name) => `${name}: skipped`)])
      expect(find(result, 'reach')).toMatchObject({
        detail: expect.stringMatching(/file not found/),
        hint: expect.stringMatching(/^A test creates nothing/),
      })
    }
    await writeFile(`${folder}/empty.db`, '')
    const empty = await testDraft(service, { ...settings, uri: `sqlite:///${folder}/empty.db`, create: true })
    expect(find(empty, 'reach')).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/without catalog tables/),
    })
    expect([...(await contentOf(folder)).keys()]).toEqual([`${folder}/empty.db`])
    expect((await stat(`${folder}/empty.db`)).size).toBe(0)
  })

  it('refuses the databases of the service, and variables that must not be read', async () => {
    const config = await current()
    const own = await testDraft(service, { ...config, uri: `sqlite:///${service.folder}/home/state.db` })
    expect(find(own, 'reach').detail).toMatch(/database of this service|file not found/)
    const variable = await testDraft(service, { ...config, extra_props: { note: 'env:PATH' } })
    expect(find(variable, 'reach').detail).toMatch(/env:PATH cannot be read/)
  })

  it('writes no probe where the warehouse is missing, is read-only, or is the folder of a table', async () => {
    const config = await current()
    const cases: readonly (readonly [warehouse: string, outcome: string, detail: RegExp])[] = [
      [`${service.folder}/absent`, 'skipped', /does not exist yet/],
      ['/sys/kernel', 'failed', /Could not write|There is no file/],
      [`${config.warehouse}/demo/events`, 'skipped', /in the folder of demo\.events, where no probe is written/],
      [`${service.folder}/link`, 'skipped', /in the folder of demo\.events/],
      [`${config.warehouse}/demo/events/data`, 'skipped', /in the folder of demo\.events/],
    ]
    await symlink(`${home()}/warehouse/demo/events`, `${service.folder}/link`)
    const before = await contentOf(service.folder)
    for (const [warehouse, outcome, detail] of cases) {
      const settings = { ...config, warehouse, extra_props: { 'allowed-locations': config.warehouse } }
      const check = find(await testDraft(service, settings), 'write')
      expect([check.outcome, check.detail], warehouse).toEqual([outcome, expect.stringMatching(detail)])
    }
    const changed = [...(await contentOf(service.folder))].filter(
      ([path, bytes]) => before.get(path) !== bytes && !/state\.db|-(shm|wal)$/.test(path),
    )
    expect(changed).toEqual([])
  })

  it('writes no probe next to the metadata of a table that the catalog does not have', async () => {
    const folder = `${service.folder}/foreign`
    await mkdir(`${folder}/metadata`, { recursive: true })
    await writeFile(`${folder}/metadata/v1.metadata.json`, '{}')
    const check = find(await testDraft(service, { ...(await current()), warehouse: folder }), 'write')
    expect([check.outcome, check.detail]).toEqual(['skipped', expect.stringMatching(/a table whose metadata is in/)])
  })

  it('finds tables and files of a hadoop catalog, and that its folder is missing', async () => {
    const folder = `${service.folder}/hadoop`
    await mkdir(`${folder}/ns`, { recursive: true })
    const settings = { catalog_type: 'hadoop', catalog_name: 'h', warehouse: folder }
    const result = await testDraft(service, settings)
    expect(result.outcome).toBe('ok')
    expect(outcomes(result).slice(0, 5)).toEqual([
      'reach: ok',
      'list: ok',
      'load: skipped',
      'read: skipped',
      'write: ok',
    ])
    expect(find(result, 'read').detail).toBe('The catalog has no tables.')
    expect([...(await contentOf(folder)).keys()]).toEqual([`${folder}/ns`])
    await rm(folder, { recursive: true })
    expect(find(await testDraft(service, { ...settings, create: true }), 'reach').outcome).toBe('failed')
    expect((await contentOf(service.folder)).has(folder)).toBe(false)
  })

  it('says which table cannot be loaded, and that data files are missing', async () => {
    const config = await current()
    const files = [...(await contentOf(`${service.folder}/home/warehouse`)).keys()]
    const data = files.filter((path) => path.endsWith('.parquet'))
    for (const path of data) await rm(path)
    const read = find(resultOf(await service.post('/api/catalogs/lockhouse/test', undefined)), 'read')
    expect(read).toMatchObject({ outcome: 'failed', detail: expect.stringMatching(/^There is no file .*\.parquet\.$/) })
    for (const path of files.filter((name) => name.endsWith('.metadata.json'))) await rm(path)
    const result = await testDraft(service, config)
    expect(find(result, 'load')).toMatchObject({ outcome: 'failed', hint: expect.stringMatching(/may read the table/) })
    expect(find(result, 'read').detail).toBe('The check “load” failed.')
    expect(find(result, 'write').outcome).toBe('ok')
  })
})
