import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../src/catalog/commit-table.ts'
import type { DataFile } from '../../src/iceberg/manifest/manifest.ts'
import { planFiles } from '../../src/iceberg/scan/scan.ts'
import { stageAppend } from '../../src/iceberg/update/stage/stage-append.ts'
import { hashTree } from '../interop/harness/file-tree.ts'
import { openLakehouse, type Lakehouse } from '../interop/harness/lakehouse.ts'
import { Service, type Answer } from '../interop/harness/service.ts'
import { DAMAGE, editMetadata, METADATA_EDITS, type TableFiles } from './harness/corruptions.ts'
import { IndependentReader, localPath, metadataLocationOf, tableFiles } from './harness/independent-reader.ts'
import { createOrders, KEPT_COLUMNS } from './harness/orders-table.ts'

type Request = (service: Service, table: string) => Promise<Answer>

const READS: Readonly<Record<string, Request>> = {
  overview: (service, table) => service.get(`/api/table/${table}`),
  schema: (service, table) => service.get(`/api/table/${table}/schema`),
  health: (service, table) => service.get(`/api/table/${table}/health`),
  snapshots: (service, table) => service.get(`/api/table/${table}/snapshots`),
  files: (service, table) => service.get(`/api/table/${table}/files`),
  partitions: (service, table) => service.get(`/api/table/${table}/partitions`),
  history: (service, table) => service.get(`/api/table/${table}/history`),
  refs: (service, table) => service.get(`/api/table/${table}/refs`),
}

const WRITES: Readonly<Record<string, Request>> = {
  'compact (dry run)': (service, table) => service.post('/api/compact', { table, rewrite_all: true, dry_run: true }),
  compact: (service, table) => service.post('/api/compact', { table, rewrite_all: true }),
  'expire (dry run)': (service, table) => service.post('/api/expire', { table, ...everything(), dry_run: true }),
  expire: (service, table) => service.post('/api/expire', { table, ...everything() }),
  'add column': (service, table) => service.post('/api/evolve/add-column', { table, name: 'note', type: 'STRING' }),
  'rename column': (service, table) =>
    service.post('/api/evolve/rename-column', { table, name: 'customer', new_name: 'client' }),
  'drop column': (service, table) => service.post('/api/evolve/drop-column', { table, name: 'comment' }),
}

const ALL = { ...READS, ...WRITES }
const NEED_METADATA = Object.keys(ALL)
const NEED_MANIFEST_LIST = ['health', 'files', 'partitions', 'compact (dry run)', 'compact']
const NEED_DATA = ['compact']

function everything() {
  return { older_than: new Date().toISOString(), retain_last: 1 }
}

describe('malformed files', { timeout: 300_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'bad-input-'))
  let house: Lakehouse
  let service: Service
  let reader: IndependentReader
  let made = 0

  beforeAll(async () => {
    house = await openLakehouse(folder)
    reader = await IndependentReader.open()
    service = await Service.start({ home: `${folder}/home` })
    await service.configure(house.settings)
  }, 300_000)

  afterAll(async () => {
    await service?.stop()
    await house?.close()
    reader?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** A new table each time, because the service may cache immutable files. */
  async function newTable(): Promise<{ name: string; root: string; files: TableFiles }> {
    made += 1
    const name = `t${made}`
    await createOrders(house, { name, appends: 4, rowsPerAppend: 3000, filesWithDeletes: 2 })
    return { name: `faults.${name}`, root: `${folder}/warehouse/faults/${name}`, files: await filesOf(folder, name) }
  }

  /** Every request either succeeds or is refused in the right format, and a refused request changes no byte. */
  async function exercise(table: { name: string; root: string }, mustFail: readonly string[]): Promise<void> {
    for (const [title, request] of Object.entries(ALL)) {
      const before = await hashTree(table.root)
      const answer = await request(service, table.name)
      if (mustFail.includes(title)) expect(answer.status, `${title} must fail`).toBeGreaterThanOrEqual(400)
      if (answer.status < 400) continue
      expectRefusal(title, answer)
      expect(await hashTree(table.root), `${title} must change nothing`).toEqual(before)
    }
  }

  const damages = Object.keys(DAMAGE)

  it.each(damages)('metadata file: %s', async (damage) => {
    const table = await newTable()
    DAMAGE[damage]?.(table.files.metadata)
    await exercise(table, NEED_METADATA)
  })

  it.each(Object.keys(METADATA_EDITS))('metadata: %s', async (title) => {
    const table = await newTable()
    editMetadata(table.files.metadata, METADATA_EDITS[title] ?? ((text) => text))
    await exercise(table, NEED_METADATA)
  })

  it.each(damages)('manifest list: %s', async (damage) => {
    const table = await newTable()
    DAMAGE[damage]?.(table.files.manifestList)
    await exercise(table, NEED_MANIFEST_LIST)
    expect(table.files.data.filter((path) => !existsSync(path))).toEqual([])
  })

  it.each(damages)('manifest: %s', async (damage) => {
    const table = await newTable()
    DAMAGE[damage]?.(table.files.manifests[0] ?? '')
    await exercise(table, NEED_MANIFEST_LIST)
    expect(table.files.data.filter((path) => !existsSync(path))).toEqual([])
  })

  it.each(damages)('data file: %s', async (damage) => {
    const table = await newTable()
    DAMAGE[damage]?.(table.files.data[0] ?? '')
    await exercise(table, NEED_DATA)
    expect(table.files.data.slice(1).filter((path) => !existsSync(path))).toEqual([])
  })

  it.each(damages)('position delete file: %s', async (damage) => {
    const table = await newTable()
    DAMAGE[damage]?.(table.files.positionDeletes[0] ?? '')
    await exercise(table, NEED_DATA)
    expect(table.files.data.filter((path) => !existsSync(path))).toEqual([])
  })

  it.each([
    ['an ORC file', { fileFormat: 'orc' }],
    ['an encrypted file', { keyMetadata: new Uint8Array([1, 2, 3]) }],
    ['a file of an unknown format', { fileFormat: 'lance' }],
  ])('%s in the data folder', async (_, change) => {
    const table = await newTable()
    await addEntry(house, table.name, change)
    const before = await hashTree(table.root)
    const answer = await ALL['compact']?.(service, table.name)
    expect(answer?.body).toMatchObject({ status: 422, code: 'UNSUPPORTED', success: false })
    expect(await hashTree(table.root)).toEqual(before)
    await exercise(table, NEED_DATA)
  })

  it('an encrypted table is never rewritten', async () => {
    const table = await newTable()
    editMetadata(table.files.metadata, (text) =>
      text.replace(
        /"format-version"\s*:\s*2/,
        '"format-version": 3, "next-row-id": 0, "encryption-keys": [{"key-id": "k", "encrypted-key-metadata": "AAAA"}]',
      ),
    )
    const before = await hashTree(table.root)
    const answer = await WRITES['compact']?.(service, table.name)
    expect(answer?.body).toMatchObject({ status: 422, code: 'UNSUPPORTED', success: false })
    expect(answer?.body['detail']).toMatch(/encrypt/i)
    expect(await hashTree(table.root)).toEqual(before)
    await exercise(table, NEED_DATA)
  })

  it('the same table without damage passes all of it', async () => {
    const table = await newTable()
    const columns = KEPT_COLUMNS
    const rows = await reader.fingerprint(metadataLocationOf(`${folder}/catalog.db`, 'faults', `t${made}`), columns)
    for (const [title, request] of Object.entries(ALL)) {
      const answer = await request(service, table.name)
      expect(answer.status, `${title}: ${JSON.stringify(answer.body)}`).toBe(200)
    }
    expect(await reader.fingerprint(metadataLocationOf(`${folder}/catalog.db`, 'faults', `t${made}`), columns)).toBe(
      rows,
    )
  })

  describe('missing tables and objects', () => {
    it.each(['faults.absent', 'absent.t1', 'a.b.c.d', 'faults.T1', 'faults.t1%20', 'föhn.ß'])(
      'table %s',
      async (name) => {
        for (const [title, request] of Object.entries(ALL)) {
          const answer = await request(service, encodeName(name, title))
          expectRefusal(title, answer)
          expect(answer.status, title).toBe(404)
        }
      },
    )

    it.each(['nodots', 'a..b', '.a', 'a.', 'faults/../t1', '../../etc/passwd', 'a.b\u0000c', 'x'.repeat(2000)])(
      'an invalid name: %j',
      async (name) => {
        for (const [title, request] of Object.entries(ALL)) {
          const answer = await request(service, title in READS ? encodeURIComponent(name) : name)
          expectRefusal(title, answer)
          expect([400, 404], title).toContain(answer.status)
        }
      },
    )

    it('columns', async () => {
      const { name: table, root } = await newTable()
      const before = await hashTree(root)
      const requests: [string, object, number][] = [
        ['/api/evolve/drop-column', { table, name: 'absent' }, 404],
        ['/api/evolve/rename-column', { table, name: 'absent', new_name: 'x' }, 404],
        ['/api/evolve/rename-column', { table, name: 'id', new_name: 'customer' }, 422],
        ['/api/evolve/add-column', { table, name: 'x', type: 'STRING', after: 'absent' }, 404],
        ['/api/evolve/add-column', { table, name: 'id', type: 'STRING' }, 422],
        ['/api/evolve/add-column', { table, name: 'x', type: 'quaternion' }, 400],
        ['/api/evolve/add-column', { table, name: 'absent.x', type: 'STRING' }, 404],
        ['/api/evolve/add-column', { table, name: 'id.x', type: 'STRING' }, 422],
        ['/api/compact', { table, where: 'absent = 1' }, 404],
        ['/api/compact', { table, strategy: 'sort', sort_order: 'absent' }, 404],
        ['/api/expire', { table, snapshot_ids: ['42'] }, 404],
        ['/api/expire', { table, retain_lsat: 1 }, 400],
        ['/api/compact', { table, target_file_size_bytes: -1 }, 400],
        ['/api/compact', { table, plan_id: 'plan-none' }, 404],
      ]
      for (const [path, body, status] of requests) {
        const answer = await service.post(path, body)
        expectRefusal(`${path} ${JSON.stringify(body)}`, answer)
        expect.soft(answer.status, `${path} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`).toBe(status)
      }
      expect(await hashTree(root)).toEqual(before)
    })

    it('metadata to register', async () => {
      for (const location of [
        `file://${folder}/warehouse/absent.metadata.json`,
        `file://${folder}/warehouse`,
        '/etc/passwd',
        'http://127.0.0.1:1/v1.metadata.json',
        's3://bucket/v1.metadata.json',
      ]) {
        const answer = await service.post('/api/tables/register', {
          table: 'faults.registered',
          metadata_location: location,
        })
        expectRefusal(location, answer)
        expect(JSON.stringify(answer.body)).not.toContain('root:')
      }
    })
  })

  it('a catalog that cannot be opened does not replace the open one', async () => {
    for (const settings of [
      { catalog_type: 'sql', uri: `sqlite:////proc/nowhere/catalog.db` },
      { catalog_type: 'sql', uri: `sqlite:///${folder}/warehouse` },
      { catalog_type: 'sql', uri: 'sqlite:////etc/hostname' },
      { catalog_type: 'sql', uri: 'mysql://localhost/x' },
      { catalog_type: 'sql' },
    ]) {
      const answer = await service.put('/api/config', {
        warehouse: `file://${folder}/warehouse`,
        catalog_name: 'x',
        ...settings,
      })
      expectRefusal(JSON.stringify(settings), answer)
    }
    const answer = await service.get('/api/config')
    expect(answer.body).toMatchObject({ configured: true, catalog_name: 'lockhouse' })
    expect((await service.get('/api/tables')).status).toBe(200)
  })
})

function encodeName(name: string, title: string): string {
  return title in READS ? encodeURIComponent(name) : name
}

function expectRefusal(title: string, answer: Answer): void {
  const shown = `${title}: ${answer.status} ${JSON.stringify(answer.body)}`
  expect(answer.status >= 400 && (answer.status < 500 || answer.status === 503), shown).toBe(true)
  expect(answer.contentType, shown).toMatch(/^application\/problem\+json/)
  expect(answer.body, shown).toMatchObject({
    success: false,
    status: answer.status,
    code: expect.stringMatching(/^[A-Z_]+$/),
  })
  expect(answer.body['code'], shown).not.toBe('INTERNAL')
  expect(String(answer.body['detail']).length, shown).toBeGreaterThan(10)
}

async function filesOf(folder: string, name: string): Promise<TableFiles> {
  return tableFiles(metadataLocationOf(`${folder}/catalog.db`, 'faults', name))
}

/** Commits an entry that contradicts its file. */
async function addEntry(house: Lakehouse, name: string, change: Partial<DataFile>): Promise<void> {
  const identifier = { namespace: ['faults'], name: name.slice('faults.'.length) }
  const table = await house.catalog.loadTable(identifier)
  const file = (await planFiles(table))[0]?.dataFile
  if (!file) throw new Error(`${name} has no data file`)
  const copy = `${file.filePath}.copy`
  await table.io.create(copy, await table.io.read(file.filePath))
  await commitTable(house.catalog, identifier, (fresh) =>
    stageAppend(fresh, { files: [{ ...file, filePath: copy, ...change }], operationId: 'strange' }),
  )
  expect(existsSync(localPath(copy))).toBe(true)
}
