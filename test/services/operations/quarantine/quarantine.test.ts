import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TableMetadata } from '../../../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../../../src/iceberg/scan/scan.ts'
import type { TableUpdate } from '../../../../src/iceberg/update/table-update.ts'
import { reconcileOperation } from '../../../../src/maintenance/recovery/reconcile.ts'
import { startTestService, type TestService } from '../../../support/service.ts'
import { stateKindsOfWholeRuns } from '../../../support/state/state-kinds.ts'
import { LONG } from '../../../support/effort.ts'

const EVENTS = { namespace: ['demo'], name: 'events' }
const TABLE = 'demo.events'
const DAY_MS = 86_400_000

let service: TestService
afterEach(() => service.close())

const catalog = () => service.context.app.catalog.current()
const load = () => catalog().loadTable(EVENTS)
const pathOf = (location: string) => location.replace(/^file:(\/\/)?/, '')
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()
const details = (answer: { body: { details_json: string } }) => JSON.parse(answer.body.details_json)

async function folderOf(): Promise<string> {
  return pathOf((await load()).metadata.location)
}

/** Hashes of all files of the table by their path, without metadata files. */
async function contents(): Promise<Record<string, string>> {
  const folder = await folderOf()
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).filter((path) => !path.endsWith('.json'))
  return Object.fromEntries(
    paths.sort().map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]),
  )
}

const held = (files: Record<string, string>) =>
  Object.keys(files).filter((path) => path.includes('/.lockhouse-quarantine/'))

async function expire(options: object = {}) {
  const answer = await service.post('/api/expire', { table: TABLE, older_than: inDays(1), retain_last: 1, ...options })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return details(answer)
}

const restore = (id: string, options: object = {}, call: object = {}) =>
  service.post(`/api/quarantine/${id}/restore`, options, call)
const purge = (id: string) => service.call('POST', `/api/quarantine/${id}/purge`)
const entryOf = async (id: string) => (await service.get(`/api/quarantine/${id}`)).body

async function change(...updates: TableUpdate[]): Promise<void> {
  expect((await catalog().commit(EVENTS, { requirements: [], updates })).kind).toBe('committed')
}

/** Every live file of every snapshot exists. */
async function expectComplete(): Promise<void> {
  const table = await load()
  for (const { snapshotId } of table.metadata.snapshots) {
    for (const { dataFile, deletes } of await planFiles(table, { snapshotId })) {
      for (const location of [dataFile.filePath, ...deletes.map(({ file }) => file.filePath)])
        expect(existsSync(pathOf(location)), `${snapshotId}: ${location}`).toBe(true)
    }
  }
}

const historyOf = ({ json, refs }: TableMetadata) => ({
  snapshots: json['snapshots'],
  log: json['snapshot-log'],
  refs,
})

/** Another client of the catalog database, which does not follow our rules. */
function pointTo(metadataLocation: string): void {
  const db = new DatabaseSync(join(service.folder, 'home', 'catalog.db'))
  try {
    db.prepare("update iceberg_tables set metadata_location = ? where table_name = 'events'").run(metadataLocation)
  } finally {
    db.close()
  }
}

describe.each(stateKindsOfWholeRuns.filter(({ skip }) => !skip))(
  'what an expiry removed, with the state in $name',
  ({ place }) => {
    beforeEach(async () => {
      const { env, remove } = await place()
      service = await startTestService({
        env,
        onClose: remove,
        events: { commits: 6, filesPerCommit: 2, rowsPerFile: 20 },
      })
    })

    it('is kept for seven days, and comes back byte for byte with its snapshots, branches and tags', async () => {
      const { metadata } = await load()
      const [first, second] = metadata.snapshots
      await change({
        action: 'set-snapshot-ref',
        'ref-name': 'audit',
        'snapshot-id': second?.snapshotId ?? 0n,
        type: 'tag',
        'max-ref-age-ms': 1,
      })
      const before = (await load()).metadata
      const files = await contents()
      const expired = await expire()
      expect(expired).toMatchObject({ expired_snapshots_count: before.snapshots.length - 1, removed_refs: ['audit'] })
      const { id, until, files_count } = expired.quarantine
      expect(Date.parse(until) - Date.now()).toBeGreaterThan(6.9 * DAY_MS)
      expect(files_count).toBeGreaterThan(5)
      const away = await contents()
      expect(held(away)).toHaveLength(files_count)
      expect(Object.values(away).sort()).toEqual(Object.values(files).sort())
      const { current, ...entry } = { current: (await load()).metadata, ...(await entryOf(id)) }
      expect(entry).toMatchObject({ reason: 'expire', table: TABLE, state: 'held', files_count, requested_by: 'admin' })
      expect(entry.snapshot_ids).toContain(String(first?.snapshotId))
      expect((await service.get(`/api/quarantine?table=${TABLE}&state=held`)).body.entries).toHaveLength(1)
      expect((await service.get('/api/quarantine?table=demo.other')).body.entries).toEqual([])

      const { body: token } = await service.post('/api/auth/tokens', { user: 'ed', role: 'DataEngineer', name: 'test' })
      const preview = await restore(id, { dry_run: true }, { token: token.token })
      expect(details(preview)).toMatchObject({
        restored_files_count: files_count,
        missing_files_count: 0,
        restored_snapshots_count: before.snapshots.length - 1,
        left_out_snapshots_count: 0,
        restored_refs: ['audit'],
      })
      expect(await contents()).toEqual(away)
      const restored = await restore(id, { plan_id: preview.body.plan_id }, { token: token.token })
      expect(restored.status, JSON.stringify(restored.body)).toBe(200)
      const after = (await load()).metadata
      expect(historyOf(after)).toEqual(historyOf(before))
      expect(after.currentSnapshotId).toBe(current.currentSnapshotId)
      expect(await contents()).toEqual(files)
      await expectComplete()
      expect(await entryOf(id)).toMatchObject({ state: 'restored', files: [] })
      expect((await restore(id)).body).toMatchObject({ status: 409, code: 'CONFLICT' })
      expect((await purge(id)).status).toBe(409)
    })

    it('is deleted for good when its time has passed, and not before', async () => {
      const { quarantine } = await expire()
      const files = await contents()
      await service.context.app.quarantine.purgeDue()
      expect(await contents()).toEqual(files)
      const purged = await purge(quarantine.id)
      expect(purged.body).toMatchObject({ deleted_files_count: quarantine.files_count, freed_bytes: quarantine.bytes })
      const left = await contents()
      expect(held(left)).toEqual([])
      expect(Object.keys(left)).toHaveLength(Object.keys(files).length - quarantine.files_count)
      expect(
        readdirSync(await folderOf(), { recursive: true }).filter((name) => String(name).includes('quarantine')),
      ).toEqual([])
      await expectComplete()
      expect((await restore(quarantine.id)).status).toBe(409)
      expect(await entryOf(quarantine.id)).toMatchObject({ state: 'purged', problem: null })
      const { body } = await service.get('/api/audit')
      expect(body.map(({ action }: { action: string }) => action)).toContain('quarantine.purge')
    })
  },
)

describe('the quarantine', () => {
  beforeEach(async () => {
    service = await startTestService({ events: { commits: 6, filesPerCommit: 2, rowsPerFile: 20 } })
  })

  it('gives back what a table needs again, instead of deleting it', LONG, async () => {
    const { metadataLocation } = await load()
    const files = await contents()
    const { quarantine } = await expire()
    pointTo(metadataLocation) // another system has gone back to the metadata before the expiry
    const purged = await purge(quarantine.id)
    expect(purged.body).toMatchObject({ deleted_files_count: 0, kept_files_count: quarantine.files_count })
    expect(await contents()).toEqual(files)
    await expectComplete()
  })

  it('restores once, when two ask at the same time', LONG, async () => {
    const { quarantine } = await expire()
    const answers = await Promise.all([restore(quarantine.id), restore(quarantine.id), purge(quarantine.id)])
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, 409, 409])
    await expectComplete()
  })

  it('refuses another table that has the name now, and keeps its files', LONG, async () => {
    const { quarantine } = await expire()
    const old = await load()
    await catalog().dropTable(EVENTS)
    expect((await purge(quarantine.id)).status).toBe(404)
    await catalog().createTable(EVENTS, { schema: old.metadata.schemas[0]!, location: `${old.metadata.location}-2` })
    expect((await restore(quarantine.id)).body).toMatchObject({ status: 409 })
    expect((await purge(quarantine.id)).status).toBe(409)
    const entry = await entryOf(quarantine.id)
    expect(entry).toMatchObject({ state: 'held', problem: expect.stringContaining('another table') })
    const folder = pathOf(old.metadata.location)
    const names = readdirSync(folder, { recursive: true }).map(String)
    expect(names.filter((name) => /quarantine\/qua-\w+\//.test(name))).toHaveLength(quarantine.files_count)
  })

  it('does not overwrite a file that has one of the names now', LONG, async () => {
    const { quarantine } = await expire()
    const [{ location }] = (await entryOf(quarantine.id)).files
    writeFileSync(pathOf(location), 'another file')
    const files = await contents()
    expect((await restore(quarantine.id)).body).toMatchObject({
      status: 409,
      detail: expect.stringContaining('1 file'),
    })
    expect(await contents()).toEqual(files)
    rmSync(pathOf(location))
    expect((await restore(quarantine.id)).status).toBe(200)
    await expectComplete()
  })

  it('restores what is left of it, and says which snapshots lack files', LONG, async () => {
    const { snapshots } = (await load()).metadata
    const { quarantine } = await expire()
    const [first] = held(await contents()).filter((path) => path.endsWith('.parquet') || path.includes('snap-'))
    rmSync(first ?? '')
    const restored = details(await restore(quarantine.id))
    expect(restored).toMatchObject({ missing_files_count: 1, restored_files_count: quarantine.files_count - 1 })
    expect(restored.left_out_snapshots_count).toBeGreaterThan(0)
    expect(restored.restored_snapshots_count + restored.left_out_snapshots_count).toBe(snapshots.length - 1)
    await expectComplete()
  })

  it(
    'leaves out snapshots whose files a later expiry removed, and branches whose names are used again',
    LONG,
    async () => {
      const [first, second, third] = (await load()).metadata.snapshots
      await change({
        action: 'set-snapshot-ref',
        'ref-name': 'old',
        'snapshot-id': first?.snapshotId ?? 0n,
        type: 'branch',
      })
      await change({ action: 'remove-snapshot-ref', 'ref-name': 'old' })
      await change({
        action: 'set-snapshot-ref',
        'ref-name': 'old',
        'snapshot-id': first?.snapshotId ?? 0n,
        type: 'tag',
        'max-ref-age-ms': 1,
      })
      const one = await expire({ older_than: inDays(-1), snapshot_ids: [String(second?.snapshotId)] })
      expect(one).toMatchObject({ expired_snapshots_count: 1, removed_refs: ['old'] })
      await change({
        action: 'set-snapshot-ref',
        'ref-name': 'old',
        'snapshot-id': third?.snapshotId ?? 0n,
        type: 'tag',
      })
      const answer = details(await restore(one.quarantine.id, { dry_run: true }))
      expect(answer).toMatchObject({ restored_snapshots_count: 1, restored_refs: [], left_out_refs: ['old'] })
      await change({ action: 'remove-snapshot-ref', 'ref-name': 'old' })
      await service.post('/api/compact', { table: TABLE, rewrite_all: true })
      const two = await expire()
      expect(two.quarantine.files_count).toBeGreaterThan(10)
      const alone = details(await restore(one.quarantine.id))
      expect(alone).toMatchObject({
        restored_snapshots_count: 0,
        left_out_snapshots: [
          { snapshot_id: String(second?.snapshotId), reason: expect.stringMatching(/no longer exist|is missing/) },
        ],
      })
      await expectComplete()
    },
  )

  describe('restored late', () => {
    /** Its time passed two days ago, and the service could not purge it until now. */
    async function expiredLate(): Promise<{ id: string; snapshots: number }> {
      const { snapshots } = (await load()).metadata
      const { quarantine } = await expire()
      changeState('update quarantine_entries set held_until = ? where id = ?', inDays(-2), quarantine.id)
      return { id: quarantine.id, snapshots: snapshots.length }
    }

    function changeState(sql: string, ...values: string[]): void {
      const db = new DatabaseSync(join(service.folder, 'home', 'state.db'))
      try {
        db.prepare(sql).run(...values)
      } finally {
        db.close()
      }
    }

    /** Something that happens between the move of the files and the commit of a restore. */
    function beforeCommit(work: () => Promise<void>): void {
      const current = catalog()
      const commit = current.commit.bind(current)
      Object.defineProperty(current, 'commit', {
        configurable: true,
        value: async (...args: Parameters<typeof commit>) => {
          await work()
          return commit(...args)
        },
      })
    }

    it('keeps its files when the purger runs while they are put back', async () => {
      const { id, snapshots } = await expiredLate()
      const states: string[] = []
      beforeCommit(async () => {
        await service.context.app.quarantine.purgeDue()
        const { state, held_until } = await entryOf(id)
        states.push(state)
        expect(Date.parse(held_until)).toBeGreaterThan(Date.now())
      })
      expect(details(await restore(id))).toMatchObject({ restored_snapshots_count: snapshots - 1 })
      expect(states).toEqual(['restoring'])
      expect((await load()).metadata.snapshots).toHaveLength(snapshots)
      await expectComplete()
      await service.context.app.quarantine.purgeDue()
      expect(await entryOf(id)).toMatchObject({ state: 'restored' })
      await expectComplete()
    })

    it('is not answered with success when another service ended the entry meanwhile', async () => {
      const { id } = await expiredLate()
      beforeCommit(async () => changeState("update quarantine_entries set state = 'purging' where id = ?", id))
      const answer = await restore(id)
      expect(answer.body).toMatchObject({ status: 409, code: 'CONFLICT', detail: expect.stringContaining('purging') })
    })

    it('is not answered with success when a file that was put back is gone', async () => {
      const { id } = await expiredLate()
      const [file] = (await entryOf(id)).files
      beforeCommit(async () => rmSync(pathOf(file.location)))
      const answer = await restore(id)
      expect(answer.body).toMatchObject({ code: 'IO_FAILED', detail: expect.stringContaining('1 file') })
      expect(await entryOf(id)).toMatchObject({ state: 'restoring' })
    })

    it('is purged after a restore that did not end, when the extended time has passed', async () => {
      const { id } = await expiredLate()
      beforeCommit(async () => {
        throw new Error('the catalog is down')
      })
      expect((await restore(id)).status).toBeGreaterThanOrEqual(500)
      await service.context.app.quarantine.purgeDue()
      expect(await entryOf(id)).toMatchObject({ state: 'restoring' })
      changeState('update quarantine_entries set held_until = ? where id = ?', inDays(-2), id)
      await service.context.app.quarantine.purgeDue()
      expect(await entryOf(id)).toMatchObject({ state: 'purged' })
      await expectComplete()
    })
  })

  it('takes orphan files once, and gives them back', async () => {
    const orphan = join(await folderOf(), 'data', 'left-over.parquet')
    writeFileSync(orphan, 'left over')
    utimesSync(orphan, new Date(Date.now() - 5 * DAY_MS), new Date(Date.now() - 5 * DAY_MS))
    const remove = async () => details(await service.post('/api/remove-orphans', { table: TABLE }))
    const removed = await remove()
    expect(removed).toMatchObject({ deleted_files_count: 1, quarantine: { files_count: 1, bytes: 9 } })
    expect(existsSync(orphan)).toBe(false)
    expect(await remove()).toMatchObject({ orphan_files_count: 0, quarantine: null })
    expect(details(await restore(removed.quarantine.id))).toMatchObject({ restored_files_count: 1 })
    expect(readFileSync(orphan, 'utf8')).toBe('left over')
    expect(await remove()).toMatchObject({ deleted_files_count: 1, waiting_files_count: 0 })
  })

  it('finds files that a crash left at their old names, restores them and deletes them', LONG, async () => {
    const files = await contents()
    const { quarantine } = await expire()
    for (const path of held(await contents()))
      renameSync(path, join(dirname(dirname(dirname(path))), path.split('/').at(-1) ?? ''))
    expect(await contents()).toEqual(files)
    expect(details(await service.post('/api/remove-orphans', { table: TABLE, dry_run: true }))).toMatchObject({
      orphan_files_count: 0,
    })
    expect(details(await restore(quarantine.id))).toMatchObject({ restored_files_count: quarantine.files_count })
    const again = await expire()
    for (const path of held(await contents()))
      renameSync(path, join(dirname(dirname(dirname(path))), path.split('/').at(-1) ?? ''))
    expect((await purge(again.quarantine.id)).body).toMatchObject({ deleted_files_count: again.quarantine.files_count })
    expect(Object.keys(await contents())).toHaveLength(Object.keys(files).length - again.quarantine.files_count)
    await expectComplete()
  })

  it('takes what an expiry that crashed after its commit left behind', LONG, async () => {
    const base = await load()
    const files = await contents()
    const { quarantine } = await expire()
    expect((await restore(quarantine.id)).status).toBe(200)
    const table = await load()
    const expired = table.metadata.snapshots.slice(0, -1).map(({ snapshotId }) => snapshotId)
    await change({ action: 'remove-snapshots', 'snapshot-ids': expired }) // the commit, and then nothing
    const input = {
      catalog: catalog(),
      identifier: EVENTS,
      operationId: 'op-crashed',
      baseMetadataLocation: table.metadataLocation,
      staged: { kind: 'file', location: (await load()).metadataLocation } as const,
      cleanup: { files: Object.keys(files).map((path) => `file://${path}`) },
      quarantine: service.context.app.quarantine.of({ id: 'op-crashed', user: 'admin' }),
    }
    const settled = await reconcileOperation(input)
    expect(settled.deletedFiles.length).toBe(quarantine.files_count)
    expect((await reconcileOperation(input)).deletedFiles).toEqual([])
    const { body } = await service.get('/api/quarantine?state=held')
    expect(body.entries).toMatchObject([{ operation_id: 'op-crashed', files_count: quarantine.files_count }])
    expect(details(await restore(body.entries[0].id))).toMatchObject({ restored_snapshots_count: expired.length })
    expect(historyOf((await load()).metadata)).toEqual(historyOf(base.metadata))
    await expectComplete()
  })

  it('is not used with QUARANTINE_DAYS=0', async () => {
    await service.close()
    const events = { commits: 3, filesPerCommit: 2, rowsPerFile: 20 }
    service = await startTestService({ env: { QUARANTINE_DAYS: '0' }, events })
    const before = Object.keys(await contents()).length
    const expired = await expire()
    expect(expired.quarantine).toBeNull()
    const deleted = Object.entries(expired)
      .filter(([name]) => name.startsWith('deleted_'))
      .reduce((total, [, count]) => total + Number(count), 0)
    expect(Object.keys(await contents())).toHaveLength(before - deleted)
    expect((await service.get('/api/quarantine')).body.entries).toEqual([])
  })
})
