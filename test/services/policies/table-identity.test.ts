import { afterEach, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { fixtureSchema } from '../../support/table-fixture.ts'
import { until } from '../../support/waiting.ts'

const FAST = { automation: { index: { pollMs: 20, remeasureMs: 0 }, policyTickMs: 100 } }
const COUNTED = { tables: ['due.*'], operations: [{ operation: 'compact', options: { min_input_files: 2 } }] }

interface Lake {
  readonly service: TestService
  create(table: string, formatVersion?: 1 | 2, properties?: Readonly<Record<string, string>>): Promise<void>
  append(table: string, commits: number): Promise<void>
  drop(table: string): Promise<void>
  upgrade(table: string): Promise<void>
  /** Waits until the health index has this many snapshots of the table. */
  seen(table: string, snapshots: number): Promise<void>
  /** The tables that a policy with this condition would compact. */
  due(commitsOver: number): Promise<readonly string[]>
}

/** A service whose tables have data files without rows: policies look at metadata only. */
async function openLake(): Promise<Lake> {
  const service = await startTestService({ overrides: FAST })
  const catalog = () => service.context.app.catalog.current()
  await catalog().createNamespace(['due'])
  let files = 0
  const append = (table: string) =>
    commitTable(catalog(), parseIdentifier(table), (fresh) =>
      stageAppend(fresh, {
        operationId: `append-${files}`,
        files: [
          {
            content: 'data',
            filePath: `${fresh.metadata.location}/data/f${(files += 1)}.parquet`,
            fileFormat: 'parquet',
            specId: 0,
            partition: [],
            recordCount: 10,
            fileSizeInBytes: 1000,
          },
        ],
      }),
    )
  return {
    service,
    async create(table, formatVersion = 2, properties = {}) {
      await catalog().createTable(parseIdentifier(table), { schema: fixtureSchema, formatVersion, properties })
    },
    async append(table, commits) {
      for (let at = 0; at < commits; at++) await append(table)
    },
    drop: (table) => catalog().dropTable(parseIdentifier(table)),
    async upgrade(table) {
      const updates = [{ action: 'upgrade-format-version', 'format-version': 2 }] as const
      await catalog().commit(parseIdentifier(table), { requirements: [], updates })
    },
    async seen(table, snapshots) {
      await until(async () => {
        const { tables } = (await service.get('/api/health-index')).body
        return tables.some(
          (row: { table: string; snapshot_count: number }) => row.table === table && row.snapshot_count === snapshots,
        )
      }, `${snapshots} snapshots of ${table} in the health index`)
    },
    async due(commitsOver) {
      const policy = { ...COUNTED, name: 'counted', when: { commits_since_last_over: commitsOver } }
      const { body } = await service.post('/api/policies/preview', policy)
      return body.runs.map(({ table, detail }: { table: string; detail: string }) => `${table}: ${detail}`)
    },
  }
}

describe('a table that is dropped', () => {
  let lake: Lake
  afterEach(() => lake.service.close())

  it('ends the conditions that were reported about it', async () => {
    lake = await openLake()
    await lake.create('due.t', 2, { 'lockhouse.freshness': '1 second' })
    await lake.append('due.t', 1)
    const rows = async () => (await lake.service.get('/api/health-index')).body.tables
    await until(async () => (await rows())[0]?.is_stale === true, 'a stale table')
    await lake.drop('due.t')
    const events = async () => (await lake.service.get('/api/events?type=table.fresh')).body.events
    const [event] = await until(async () => {
      const found = await events()
      return found.length > 0 && found
    }, 'the end of the condition')
    expect(event.data).toMatchObject({ table: 'due.t', reason: 'the table was removed from the catalog' })
  })
})

describe('commits since the last run', () => {
  let lake: Lake
  afterEach(() => lake.service.close())

  it('count commits of tables of format version 1', async () => {
    lake = await openLake()
    for (const version of [1, 2] as const) {
      await lake.create(`due.v${version}`, version)
      await lake.append(`due.v${version}`, 12)
      await lake.seen(`due.v${version}`, 12)
    }
    expect((await lake.due(5)).toSorted()).toEqual([
      'due.v1: 12 commits since the last run are over 5',
      'due.v2: 12 commits since the last run are over 5',
    ])
    await lake.append('due.v1', 3)
    await lake.seen('due.v1', 15)
    expect(await lake.due(14)).toEqual(['due.v1: 15 commits since the last run are over 14'])
  })

  it('go on when a table of format version 1 is upgraded', async () => {
    lake = await openLake()
    await lake.create('due.t', 1)
    await lake.append('due.t', 12)
    await lake.seen('due.t', 12)
    await lake.upgrade('due.t')
    await lake.append('due.t', 1)
    await lake.seen('due.t', 13)
    expect(await lake.due(12)).toEqual(['due.t: 13 commits since the last run are over 12'])
  })

  it('start again when a table is dropped and created again', async () => {
    lake = await openLake()
    await lake.create('due.t')
    await lake.append('due.t', 12)
    await lake.seen('due.t', 12)
    const policy = { ...COUNTED, name: 'counted', when: { commits_since_last_over: 5 }, mode: 'active' }
    const { id } = (await lake.service.post('/api/policies', policy)).body
    const decisions = async () => (await lake.service.get(`/api/policies/${id}/decisions`)).body.decisions
    const ended = async () => (await decisions()).filter(({ outcome }: { outcome: string }) => outcome !== 'running')
    // the files have no rows, so that the operation fails; it counts as a run all the same
    await until(async () => (await ended()).length === 1, 'the first run')
    await lake.drop('due.t')
    await lake.create('due.t')
    await lake.append('due.t', 6)
    await lake.seen('due.t', 6)
    await until(async () => (await ended()).length === 2, 'a run of the new table, without a cooldown')
    expect((await decisions())[0].detail).toMatch(/^6 commits since the last run are over 5/)
  })
})
