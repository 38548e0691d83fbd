import { mkdirSync } from 'node:fs'
import { Kysely } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { formatIdentifier, parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { postgresDialect } from '../../../src/storage/dialects/postgres.ts'
import type { StateTables } from '../../../src/storage/schema.ts'
import { postgresPlace, postgresServer } from '../../storage/open.ts'
import { LONG } from '../../support/effort.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { until } from '../../support/waiting.ts'
import { FAST, numbered, openLab, type StreamLab } from '../support.ts'
import { COLUMNS, DIVERTED_COLUMNS, graphOf, ids } from './divert-lab.ts'

/** A process that looks at its leases so rarely that it notices no loss. */
const STILL = { ...FAST, lease: { ms: 600_000, tickMs: 600_000 } }

describe.skipIf(postgresServer === undefined)('pipelines with diverted rows on two services', LONG, () => {
  let lab: StreamLab
  let db: Kysely<StateTables>
  let env: Readonly<Record<string, string>>
  /** Started by each test when the first service has the pipeline: a busy machine may let it take a new one first. */
  let other: TestService | undefined

  beforeAll(async () => {
    const { place, remove } = await postgresPlace()
    db = new Kysely<StateTables>({ dialect: postgresDialect(place) })
    env = { DATABASE_URL: place, AUDIT_KEY: 'a key that both replicas know, of 32 characters or more' }
    const onClose = async (): Promise<void> => {
      await db.destroy()
      await remove()
    }
    lab = await openLab({ env, onClose, overrides: { streaming: STILL } })
    const warehouse = `${lab.service.folder}/shared`
    mkdirSync(warehouse)
    const body = { catalog_type: 'sql', catalog_name: 'shared', warehouse, create: true }
    const uri = `sqlite:///${warehouse}/catalog.db`
    expect(await lab.service.call('PUT', '/api/config', { body: { ...body, uri } })).toMatchObject({ status: 200 })
    await lab.catalog().createNamespace(['s'])
  })
  afterEach(async () => {
    await other?.close()
    other = undefined
  })
  afterAll(() => lab?.close())

  const drop = (table: string): Promise<void> => lab.catalog().dropTable(parseIdentifier(table))
  const pipelineOf = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline
  const idsOf = async (table: string): Promise<string[]> =>
    (await lab.rows(table)).map((text) => String(JSON.parse(text).id)).sort((a, b) => Number(a) - Number(b))

  /** Holds the first commit of the first service to a table, before or after its effect. */
  function holdCommit(table: string, at: 'before' | 'after') {
    const reached = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const catalog = lab.catalog()
    const commit = catalog.commit.bind(catalog)
    let isHeld = false
    catalog.commit = async (identifier, request) => {
      if (isHeld || formatIdentifier(identifier) !== table) return commit(identifier, request)
      isHeld = true
      const outcome = at === 'after' ? await commit(identifier, request) : undefined
      reached.resolve()
      await released.promise
      return outcome ?? commit(identifier, request)
    }
    return { reached: reached.promise, release: released.resolve }
  }

  async function start(name: string): Promise<string> {
    const defined = await lab.service.post('/api/pipeline-defs', { name, ...graphOf(name, 'id % 10 >= 4') })
    const { status, body } = await lab.service.post('/api/pipeline/start', {
      version_id: defined.body.version.id,
      checkpoint_location: `${lab.service.folder}/shared/checkpoints/${name}`,
      trigger_interval: '100 ms',
    })
    expect(status, JSON.stringify(body)).toBe(200)
    return body.pipeline.id
  }

  async function makeTables(name: string): Promise<void> {
    await lab.createTable(`s.${name}`, COLUMNS)
    await lab.createTable(`s.${name}_sink`, COLUMNS)
    await lab.createTable(`s.${name}_bad`, DIVERTED_COLUMNS)
    await lab.append(`s.${name}`, numbered(0, 10))
  }

  /** The other service gets the pipeline, as after a process that hangs for longer than its lease. */
  async function takeOver(id: string): Promise<void> {
    const { lease_owner: before } = await db
      .updateTable('streaming_pipelines')
      .set({ lease_until_ms: 0 })
      .where('id', '=', id)
      .returning('lease_owner')
      .executeTakeFirstOrThrow()
    other = await startTestService({ env, overrides: { streaming: FAST } })
    expect(other.context.app.catalog.current().warehouse).toContain('shared')
    await until(async () => {
      const found = await db.selectFrom('streaming_pipelines').selectAll().where('id', '=', id).executeTakeFirst()
      return found?.lease_owner !== null && found?.lease_owner !== before
    }, 'the takeover')
  }

  async function expectOnce(name: string, id: string): Promise<void> {
    await lab.append(`s.${name}`, numbered(10, 20))
    await until(async () => (await idsOf(`s.${name}_bad`)).length >= 8, 'the diverted rows of the second batch')
    await other?.post(`/api/pipeline/${id}/stop`, {})
    await until(async () => (await pipelineOf(id)).state === 'stopped', 'the stop')
    expect(await idsOf(`s.${name}_bad`)).toEqual([...ids(0, 4), ...ids(10, 14)])
    expect(await idsOf(`s.${name}_sink`)).toEqual([...ids(4, 10), ...ids(14, 20)])
  }

  it.each(['before', 'after'] as const)(
    'lose and repeat no row when one pauses %s the effect of the second commit',
    async (at) => {
      const name = `paused_${at}`
      await makeTables(name)
      const { reached, release } = holdCommit(`s.${name}_bad`, at)
      const id = await start(name)
      await reached
      expect(await idsOf(`s.${name}_sink`)).toEqual(ids(4, 10))
      await takeOver(id)
      await until(async () => (await pipelineOf(id)).state === 'running', 'a running pipeline')
      expect(await idsOf(`s.${name}_bad`)).toEqual(ids(0, 4))
      release()
      await expectOnce(name, id)
    },
  )

  it('lose and repeat no row when the table is dropped while one pauses between the commits', async () => {
    await makeTables('dropped')
    const { reached, release } = holdCommit('s.dropped_bad', 'before')
    const id = await start('dropped')
    await reached
    await drop('s.dropped_bad')
    await takeOver(id)
    await until(async () => (await pipelineOf(id)).error?.code === 'DIVERTED_ROWS_PENDING', 'the error')
    await lab.createTable('s.dropped_bad', DIVERTED_COLUMNS)
    await until(async () => (await idsOf('s.dropped_bad')).length > 0, 'the diverted rows')
    release()
    await expectOnce('dropped', id)
  })
})
