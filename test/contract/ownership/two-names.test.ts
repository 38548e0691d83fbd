import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { LONG } from '../../support/effort.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const VICTIM = { namespace: ['demo'], name: 'events' }

let service: TestService
let engineer: { token: string }
beforeEach(async () => {
  service = await startTestService({ events: { commits: 6, filesPerCommit: 5, rowsPerFile: 100 } })
  const { body } = await service.post('/api/auth/tokens', { user: 'ed', role: 'DataEngineer', name: 'test' })
  engineer = { token: body.token }
}, 300_000)
afterEach(() => service.close())

const victim = () => service.context.app.catalog.current().loadTable(VICTIM)
const pathOf = (location: string) => location.replace(/^file:(\/\/)?/, '')
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

/** Absolute paths of all files below the victim's folder. */
async function victimFiles(): Promise<string[]> {
  const folder = pathOf((await victim()).metadata.location)
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

async function countRows(): Promise<number> {
  const tasks = await planFiles(await victim())
  for (const { dataFile, deletes } of tasks) {
    for (const path of [dataFile.filePath, ...deletes.map(({ file }) => file.filePath)])
      expect(existsSync(pathOf(path)), path).toBe(true)
  }
  const answer = await service.post('/api/compact', { table: 'demo.events', rewrite_all: true })
  expect(answer.status).toBe(200)
  return JSON.parse(answer.body.details_json).rows_written
}

/** Another client of the same catalog database, which does not follow our rules. */
function writeRow(name: string, metadataLocation: string, catalogName = 'lockhouse'): void {
  const db = new DatabaseSync(join(service.folder, 'home', 'catalog.db'))
  try {
    db.prepare(
      `insert into iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type)
       values (?, 'demo', ?, ?, 'TABLE')`,
    ).run(catalogName, name, metadataLocation)
  } finally {
    db.close()
  }
}

describe('one table under two names', () => {
  it('is refused at registration in every spelling of its metadata file, and nothing of the table is lost', async () => {
    const { metadataLocation, metadata } = await victim()
    const path = pathOf(metadataLocation)
    const folder = pathOf(metadata.location)
    const warehouse = join(folder, '..', '..')
    mkdirSync(join(warehouse, 'links'), { recursive: true })
    symlinkSync(folder, join(warehouse, 'links', 'folder'))
    symlinkSync(path, join(warehouse, 'links', 'v9.metadata.json'))
    cpSync(path, join(warehouse, 'links', 'copy.metadata.json'))
    const name = path.slice(path.lastIndexOf('/') + 1)
    const older = metadata.metadataLog.at(-1)?.metadataFile ?? ''
    expect(older).not.toBe('')
    const spellings = [
      path,
      `file:${path}`,
      `file://${path}`,
      `file://localhost${path}`,
      `FILE://${path}`,
      path.replace('/metadata/', '//metadata///'),
      path.replace('/metadata/', '/./metadata/./'),
      path.replace('/metadata/', '/data/../metadata/'),
      `file:${path.replace('/metadata/', '//metadata/')}`,
      older,
      pathOf(older).replace('/metadata/', '//metadata/'),
      join(warehouse, 'links', 'folder', 'metadata', name),
      join(warehouse, 'links', 'v9.metadata.json'),
      join(warehouse, 'links', 'copy.metadata.json'),
    ]
    const before = await victimFiles()
    for (const [at, metadata_location] of spellings.entries()) {
      const body = { table: `demo.twin${at}`, metadata_location }
      const answer = await service.post('/api/tables/register', body, engineer)
      expect([answer.status, answer.body.code], metadata_location).toEqual([409, 'TABLE_EXISTS'])
      expect(answer.body.detail).toContain('demo.events')
      expect(answer.body.detail).not.toContain(service.folder)
    }
    const encoded = { table: 'demo.twin', metadata_location: `file://${path.replace('/metadata/', '/%6Detadata/')}` }
    expect((await service.post('/api/tables/register', encoded, engineer)).status).toBe(422)
    expect(await victimFiles()).toEqual(before)
    expect((await service.get('/api/tables')).body.tables).toHaveLength(1)
  }, 300_000)

  it.each(['the same catalog', 'another catalog of the database'])(
    'written by another client into %s: expiry and orphan removal refuse, and every row stays',
    { ...LONG, timeout: 180_000 },
    async (where) => {
      const { metadataLocation } = await victim()
      if (where === 'the same catalog')
        writeRow('twin', `file:${pathOf(metadataLocation).replace('/demo/', '//demo/')}`)
      else writeRow('events', pathOf(metadataLocation), 'reporting')
      const twin = where === 'the same catalog' ? 'demo.twin' : 'demo.events'
      const before = await victimFiles()
      const compacted = await service.post('/api/compact', { table: twin, rewrite_all: true }, engineer)
      expect(compacted.status).toBe(200)
      for (const dry_run of [true, false]) {
        const body = { table: twin, older_than: inDays(1), retain_last: 1, dry_run }
        const expired = await service.post('/api/expire', body, engineer)
        expect([expired.status, expired.body.code]).toEqual([409, 'TABLES_OVERLAP'])
        expect(expired.body.detail).toContain(where === 'the same catalog' ? 'demo.events' : 'reporting')
        expect(expired.body.detail).toMatch(/drop|remove/)
        const removed = await service.post('/api/remove-orphans', { table: twin, dry_run })
        expect([removed.status, removed.body.code]).toEqual([409, 'TABLES_OVERLAP'])
      }
      const after = await victimFiles()
      expect(before.filter((file) => !after.includes(file))).toEqual([])
      expect(await countRows()).toBe(2970)
    },
  )
})
