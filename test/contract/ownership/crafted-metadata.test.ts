import { existsSync, readdirSync, readFileSync, writeFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const VICTIM = { namespace: ['demo'], name: 'events' }
const MINE = { namespace: ['demo'], name: 'mine' }

let service: TestService
let engineer: { token: string }
beforeEach(async () => {
  service = await startTestService({ events: { commits: 4, filesPerCommit: 3, rowsPerFile: 50 } })
  const { body } = await service.post('/api/auth/tokens', { user: 'ed', role: 'DataEngineer', name: 'test' })
  engineer = { token: body.token }
}, 300_000)
afterEach(() => service.close())

const catalog = () => service.context.app.catalog.current()
const pathOf = (location: string) => location.replace(/^file:(\/\/)?/, '')
const details = (answer: { body: { details_json: string } }) => JSON.parse(answer.body.details_json)
const later = () => new Date(Date.now() + 86_400_000).toISOString()

async function victimFiles(): Promise<string[]> {
  const folder = pathOf((await catalog().loadTable(VICTIM)).metadata.location)
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** Metadata of the engineer's own table, with changes, as a file in the warehouse that is in no catalog. */
async function craft(change: (json: Record<string, unknown>, victim: string) => void): Promise<string> {
  const { metadataLocation, metadata } = await catalog().loadTable(VICTIM)
  const victim = pathOf(metadata.location)
  const json = JSON.parse(
    readFileSync(pathOf(metadataLocation), 'utf8').replaceAll(
      /("snapshot-id"|"current-snapshot-id"|"parent-snapshot-id"): ?(\d+)/g,
      '$1: "$2"',
    ),
  )
  const mine = join(victim, '..', 'crafted')
  const fresh = {
    ...json,
    'table-uuid': crypto.randomUUID(),
    location: mine,
    snapshots: [],
    refs: {},
    'snapshot-log': [],
    'metadata-log': [],
    statistics: [],
    'current-snapshot-id': -1,
    properties: {},
  }
  change(fresh, victim)
  mkdirSync(join(mine, 'metadata'), { recursive: true })
  const file = join(mine, 'metadata', `00000-${crypto.randomUUID()}.metadata.json`)
  writeFileSync(file, JSON.stringify(fresh))
  return file
}

const register = (metadata_location: string) =>
  service.post('/api/tables/register', { table: 'demo.mine', metadata_location }, engineer)

describe('a table with crafted metadata', () => {
  it.each(['location', 'write.data.path', 'write.metadata.path', 'write.object-storage.path'])(
    'is not registered when its %s leads into another table',
    async (key) => {
      const file = await craft((json, victim) => {
        if (key === 'location') json['location'] = `${victim}/data`
        else json['properties'] = { [key]: `file:${victim}//data/../data` }
      })
      const answer = await register(file)
      expect([answer.status, answer.body.code]).toEqual([409, 'TABLES_OVERLAP'])
      expect(answer.body.detail).toContain('demo.events')
      expect(answer.body.detail).not.toContain(service.folder)
    },
  )

  it('does not delete the files of another table that its manifests name, and reports them', async () => {
    expect((await register(await craft(() => undefined))).status).toBe(201)
    const stolen = (await planFiles(await catalog().loadTable(VICTIM))).map(({ dataFile }) => dataFile)
    await commitTable(catalog(), MINE, (table) => stageAppend(table, { files: stolen, operationId: 'steal' }))
    const before = await victimFiles()
    expect((await service.post('/api/compact', { table: 'demo.mine', rewrite_all: true }, engineer)).status).toBe(200)
    const body = { table: 'demo.mine', older_than: later(), retain_last: 1 }
    const lead = await service.post('/api/expire', { ...body, delete_foreign_files: true }, engineer)
    expect([lead.status, lead.body.code]).toEqual([403, 'FORBIDDEN'])
    const plan = await service.post('/api/expire', { ...body, delete_foreign_files: true, dry_run: true })
    const borrowed = await service.post('/api/expire', { table: 'demo.mine', plan_id: plan.body.plan_id }, engineer)
    expect(borrowed.status).toBe(403)
    const answer = await service.post('/api/expire', { table: 'demo.mine', plan_id: plan.body.plan_id })
    expect(answer.status).toBe(200)
    const { kept_shared_files_count: count, kept_files: kept } = details(answer)
    expect(count).toBe(stolen.length)
    expect(kept[0]).toMatchObject({ reason: 'in_other_table', table: 'demo.events' })
    const after = await victimFiles()
    expect(before.filter((file) => !after.includes(file))).toEqual([])
    const compacted = await service.post('/api/compact', { table: 'demo.events', rewrite_all: true })
    expect(details(compacted).rows_written).toBeGreaterThan(0)
  })

  it('does not trim the metadata of another table that its log names', async () => {
    const { metadataLocation } = await catalog().loadTable(VICTIM)
    const file = await craft((json) => {
      json['properties'] = {
        'write.metadata.delete-after-commit.enabled': 'true',
        'write.metadata.previous-versions-max': '1',
      }
      const names = [metadataLocation, pathOf(metadataLocation), `file:/${pathOf(metadataLocation)}`]
      json['metadata-log'] = names.map((name, at) => ({ 'timestamp-ms': at + 1, 'metadata-file': name }))
    })
    expect((await register(file)).status).toBe(201)
    const post = (path: string, body: object) => service.post(path, { table: 'demo.mine', ...body }, engineer)
    for (const name of ['a', 'b', 'c']) {
      expect((await post('/api/evolve/add-column', { name, type: 'string' })).status).toBe(200)
    }
    expect(existsSync(pathOf(metadataLocation))).toBe(true)
    expect((await service.get('/api/table/demo.events')).status).toBe(200)
  })
})
