import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ env: { LOCKHOUSE_DEMO: '1' } })
}, 300_000)
afterAll(() => service.close())

describe('reading tables', () => {
  it('lists all tables, or those of a namespace, in pages', async () => {
    const all = await service.get('/api/tables')
    expect(all.body.tables.map((row: { table: string }) => row.table)).toEqual([
      'demo.events',
      'demo.orders',
      'demo.trips',
    ])
    const first = await service.get('/api/tables?page_size=2')
    expect(first.body.tables).toHaveLength(2)
    const second = await service.get(`/api/tables?page_size=2&page_token=${first.body.next_page_token}`)
    expect(second.body).toMatchObject({
      tables: [{ table: 'demo.trips', namespace: 'demo', name: 'trips' }],
      next_page_token: null,
    })
    expect((await service.get('/api/tables?namespace=demo')).body.tables).toHaveLength(3)
    expect((await service.get('/api/tables?namespace=other')).status).toBe(404)
    expect((await service.get('/api/tables?page_token=nonsense')).status).toBe(400)
    expect((await service.get('/api/tables?page_size=0')).status).toBe(400)
  })

  it('shows an overview with the snapshot id as text', async () => {
    const { status, body } = await service.get('/api/table/demo.trips')
    expect(status).toBe(200)
    expect(body.current_snapshot_id).toMatch(/^\d{10,}$/)
    expect(body).toMatchObject({
      format_version: 2,
      partition_spec: { fields: [{ name: 'started_at_day', transform: 'day' }] },
    })
  })

  it('shows the schema after evolution: columns with id, path, type, nullability and comment', async () => {
    const { body } = await service.get('/api/table/demo.trips/schema')
    expect(body.columns.map((column: { name: string }) => column.name)).toEqual([
      'trip_id',
      'started_at',
      'city',
      'distance_km',
      'tip',
    ])
    expect(body.columns[3]).toEqual({
      name: 'distance_km',
      type: 'double',
      nullable: true,
      comment: null,
      id: 4,
      path: 'distance_km',
    })
  })

  it('reports health with figures that match the files, and actions that can be sent unchanged', async () => {
    const { body } = await service.get('/api/table/demo.events/health')
    expect(body).toMatchObject({
      data_file_count: 240,
      small_file_count: 240,
      snapshot_count: 36,
      record_count: 120_000,
      delete_file_count: 12,
    })
    const { body: overview } = await service.get('/api/table/demo.events')
    expect(body.last_updated_at).toBe(overview.last_updated_at)
    const { body: files } = await service.get('/api/table/demo.events/files')
    const data = files.files.filter((file: { content: string }) => file.content === 'data')
    const sum = data.reduce((total: number, file: { file_size_in_bytes: number }) => total + file.file_size_in_bytes, 0)
    expect(body.total_size_bytes).toBe(sum)
    const compact = body.actions.find((action: { operation: string }) => action.operation === 'compact')
    const sent = await service.post(compact.request.path, { ...compact.request.body, dry_run: true })
    expect(sent.status).toBe(200)
    expect(JSON.parse(sent.body.details_json).rewritten_data_files_count).toBe(
      compact.projected.rewritten_data_files_count,
    )
  })

  it.each(['snapshots', 'files', 'partitions', 'history', 'refs'])('lists %s in pages that add up', async (view) => {
    const all = (await service.get(`/api/table/demo.trips/${view}`)).body[view]
    const paged: unknown[] = []
    let token: string | null = null
    do {
      const query: string = token === null ? '' : `&page_token=${token}`
      const { body }: { body: Record<string, unknown[]> & { next_page_token: string | null } } = await service.get(
        `/api/table/demo.trips/${view}?page_size=3${query}`,
      )
      paged.push(...(body[view] ?? []))
      token = body.next_page_token
    } while (token !== null)
    expect(paged).toEqual(all)
    expect(all.length).toBeGreaterThan(0)
  })

  it('an unknown table is 404 with its own code, on every view', async () => {
    for (const view of ['', '/schema', '/health', '/snapshots', '/files', '/partitions', '/history', '/refs']) {
      const { status, body } = await service.get(`/api/table/demo.nothing${view}`)
      expect(status, view).toBe(404)
      expect(body.code, view).toBe('NO_SUCH_TABLE')
    }
  })

  it('a name without a namespace is 400', async () => {
    expect((await service.get('/api/table/events/schema')).status).toBe(400)
  })
})

describe('registering a table', () => {
  it('adds a table under a second name only where the catalog allows it, and refuses files outside the warehouse', async () => {
    const outside = await service.post('/api/tables/register', {
      table: 'demo.alien',
      metadata_location: 'file:///etc/passwd',
    })
    expect(outside.status).toBe(400)
    const { body } = await service.get('/api/table/demo.orders')
    const again = await service.post('/api/tables/register', {
      table: 'demo.again',
      metadata_location: body.metadata_location,
    })
    expect(again.status).toBeGreaterThanOrEqual(400)
    const taken = await service.post('/api/tables/register', {
      table: 'demo.orders',
      metadata_location: body.metadata_location,
    })
    expect(taken.status).toBe(409)
    expect(taken.body.code).toBe('TABLE_EXISTS')
  })

  it('refuses a folder, a file that is not metadata, and a missing file as request errors', async () => {
    const { body } = await service.get('/api/table/demo.orders')
    const folder = body.metadata_location.slice(0, body.metadata_location.lastIndexOf('/'))
    const text = `${folder}/text.metadata.json`
    writeFileSync(fileURLToPath(text), '{ not json')
    for (const [location, code] of [
      [folder, 'INVALID_ARGUMENT'],
      [text, 'CORRUPT_FILE'],
      [`${folder}/none.metadata.json`, 'FILE_NOT_FOUND'],
      ['metadata/v1.metadata.json', 'INVALID_ARGUMENT'],
    ]) {
      const answer = await service.post('/api/tables/register', { table: 'demo.new', metadata_location: location })
      expect([location, answer.status >= 400 && answer.status < 500, answer.body.code]).toEqual([location, true, code])
    }
    const relative = await service.post('/api/tables/register', {
      table: 'demo.new',
      metadata_location: 'some/v1.json',
    })
    expect(relative.body.detail).toContain('use an absolute path or a file: URI.')
  })

  it('refuses a table that names its files by relative paths, and leaves nothing behind', async () => {
    const { body } = await service.get('/api/table/demo.orders')
    const path = fileURLToPath(body.metadata_location)
    const json = readFileSync(path, 'utf8')
    const root = body.location
    const moved = `${fileURLToPath(root)}/../moved/metadata`
    mkdirSync(moved, { recursive: true })
    const lists = json.replaceAll(/"manifest-list"(\s*):(\s*)"[^"]*\/metadata\//g, '"manifest-list"$1:$2"metadata/')
    expect(lists).not.toBe(json)
    for (const [at, text] of [json.replaceAll(root, 'moved'), lists].entries()) {
      writeFileSync(`${moved}/${at}.metadata.json`, text)
      const metadata_location = `${moved}/${at}.metadata.json`
      const answer = await service.post('/api/tables/register', { table: 'demo.moved', metadata_location })
      expect([answer.status, answer.body.code]).toEqual([422, 'INVALID_METADATA'])
      expect(answer.body.detail).toContain('relative paths')
      expect((await service.get('/api/table/demo.moved')).status).toBe(404)
    }
  })

  it('an unreadable manifest list is named', async () => {
    const table = await service.context.app.catalog.current().loadTable({ namespace: ['demo'], name: 'orders' })
    const list = table.metadata.snapshots.at(-1)?.manifestList ?? ''
    writeFileSync(fileURLToPath(list), 'no Avro')
    const { body } = await service.get('/api/table/demo.orders/files')
    expect([body.code, body.detail]).toEqual(['CORRUPT_FILE', expect.stringContaining(list.split('/').at(-1) ?? '')])
  })
})

describe('evolution', () => {
  it('refuses what the table format forbids', async () => {
    const post = (path: string, body: object) => service.post(`/api/evolve/${path}`, { table: 'demo.trips', ...body })
    expect((await post('drop-column', { name: 'started_at' })).body.code).toBe('SCHEMA_CHANGE_REFUSED')
    expect((await post('drop-column', { name: 'nothing' })).status).toBe(404)
    expect((await post('add-column', { name: 'city', type: 'int' })).status).toBe(422)
    expect((await post('add-column', { name: 'x', type: 'no_such_type' })).status).toBe(400)
    expect((await post('add-column', { name: 'x', type: 'int', after: 'nothing' })).status).toBe(404)
    expect((await post('rename-column', { name: 'city', new_name: 'tip' })).status).toBe(422)
  })
})
