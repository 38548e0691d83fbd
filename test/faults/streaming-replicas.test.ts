import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TableIdentifier } from '../../src/iceberg/metadata/table.ts'
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { type Lakehouse, openLakehouse } from '../interop/harness/lakehouse.ts'
import { Service } from '../interop/harness/service.ts'
import { postgresPlace, postgresServer } from '../storage/open.ts'
import { deleteRow } from '../streaming/support.ts'
import { runs } from '../support/effort.ts'
import { type Found, sleep, until } from '../support/waiting.ts'
import { idsOf } from './harness/table-checks.ts'

/** Takeovers of each kind; more of them with REPLICA_ROUNDS. */
const ROUNDS = Number(process.env['REPLICA_ROUNDS'] ?? runs(3, 1))
const PIPELINES = 6
const PATIENCE_MS = 90_000

/** A service process and its number in the state database. */
interface Replica {
  readonly service: Service
  readonly id: number
}

describe.skipIf(postgresServer === undefined)(
  'pipelines of two services on one PostgreSQL',
  { timeout: 300_000 + ROUNDS * 120_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'streaming-replicas-'))
    const table = (name: string): TableIdentifier => ({ namespace: ['r'], name })
    const written = new Map<string, number>()
    /** The id that a source of a mirror does not have now. */
    const deleted = new Map<string, number>()
    let homes = 0
    let lake: Lakehouse
    let database: { place: string; remove: () => Promise<void> }
    let db: Kysely<StateTables>
    let one: Replica
    let other: Replica

    beforeAll(async () => {
      lake = await openLakehouse(`${folder}/lake`, 'hadoop')
      await lake.catalog.createNamespace(['r'])
      database = await postgresPlace()
      db = new Kysely<StateTables>({ dialect: postgresDialect(database.place) })
      one = await startReplica()
      await one.service.configure(lake.settings)
      other = await startReplica()
    })

    afterAll(async () => {
      for (const replica of [one, other]) await replica?.service.stop()
      await lake?.close()
      await db?.destroy()
      await database?.remove()
      rmSync(folder, { recursive: true, force: true })
    })

    async function startReplica(): Promise<Replica> {
      const env = { DATABASE_URL: database.place, AUDIT_KEY: 'a key that both replicas know, of 32 characters or more' }
      homes += 1
      const service = await Service.start({ home: `${folder}/home-${homes}`, env })
      const last = await db
        .selectFrom('instances')
        .select('id')
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirstOrThrow()
      return { service, id: last.id }
    }

    async function makeSource(name: string): Promise<void> {
      const fields = [{ id: 1, name: 'id', required: false, type: { kind: 'long' as const } }]
      await lake.catalog.createTable(table(name), { schema: { schemaId: 0, identifierFieldIds: [], fields } })
      await write(name)
    }

    async function write(name: string): Promise<void> {
      const first = written.get(name) ?? 0
      await lake.append(table(name), `SELECT i AS c1 FROM range(${first}, ${first + 10}) t(i)`)
      written.set(name, first + 10)
    }

    /** Appends rows, with the one that was deleted before, and deletes another. */
    async function change(name: string): Promise<void> {
      const first = written.get(name) ?? 0
      const before = deleted.get(name) ?? first
      await lake.append(
        table(name),
        `SELECT i AS c1 FROM range(${first}, ${first + 10}) t(i) UNION ALL SELECT ${before}::BIGINT WHERE ${before} < ${first}`,
      )
      const { catalog, engine } = lake
      const lab = { engine, catalog: () => catalog, load: () => catalog.loadTable(table(name)) }
      await deleteRow(lab, name, first + 5)
      written.set(name, first + 10)
      deleted.set(name, first + 5)
      await sleep(300) // a merge takes longer than an append
    }

    async function startPipeline({ service }: Replica, name: string, mode: object = {}): Promise<string> {
      const answer = await service.post('/api/pipeline/start', {
        source_table: `r.${name}`,
        sink_table: `r.${name}_sink`,
        checkpoint_location: `${folder}/lake/warehouse/checkpoints/${name}`,
        trigger_interval: '100 ms',
        create_sink_table: true,
        max_files_per_batch: 1,
        ...mode,
      })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      return (answer.body['pipeline'] as { id: string }).id
    }

    const recordOf = (id: string) =>
      db.selectFrom('streaming_pipelines').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

    const soon = <T>(what: string, check: () => Promise<T>): Promise<Found<T>> =>
      until(check, () => `${what}\n${one.service.log}\n${other.service.log}`, PATIENCE_MS)

    async function untilCopied(name: string): Promise<void> {
      const all = (): number[] =>
        Array.from({ length: written.get(name) ?? 0 }, (_, id) => id).filter((id) => id !== deleted.get(name))
      // a mirror has its last row before its last delete
      await soon(`${name} is copied`, async () => {
        const ids = await idsOf(lake, table(`${name}_sink`))
        return deleted.has(name) ? ids.join() === all().join() : ids.length >= all().length
      })
      expect(await idsOf(lake, table(`${name}_sink`))).toEqual(all())
    }

    /** Writes continuously until it is stopped. */
    function writeOn(name: string, writeOnce = write): () => Promise<void> {
      const state = { goesOn: true }
      const done = (async () => {
        while (state.goesOn) {
          await writeOnce(name)
          await sleep(20)
        }
      })()
      return async () => {
        state.goesOn = false
        await done
      }
    }

    /** The batches in the sink, each with its run, oldest first. */
    async function batchesOf(name: string): Promise<string[]> {
      const { metadata } = await lake.catalog.loadTable(table(name))
      return metadata.snapshots.map(({ summary }) => `${summary['lockhouse.run-id']} ${summary['lockhouse.batch-id']}`)
    }

    it('each run on exactly one service, are shared between both, and are all listed by either', async () => {
      const ids: string[] = []
      for (let at = 0; at < PIPELINES; at += 1) {
        await makeSource(`shared_${at}`)
        ids.push(await startPipeline(one, `shared_${at}`))
      }
      const owners = await soon('equal shares', async () => {
        const records = await Promise.all(ids.map(recordOf))
        const found = records.map(({ lease_owner: owner }) => owner)
        return found.filter((owner) => owner === other.id).length === PIPELINES / 2 && found
      })
      expect(owners.filter((owner) => owner === one.id)).toHaveLength(PIPELINES / 2)
      for (let round = 0; round < 3; round += 1) {
        for (let at = 0; at < PIPELINES; at += 1) await write(`shared_${at}`)
      }
      for (let at = 0; at < PIPELINES; at += 1) {
        await untilCopied(`shared_${at}`)
        const batches = await batchesOf(`shared_${at}_sink`)
        expect(new Set(batches).size).toBe(batches.length)
      }
      for (const { service } of [one, other]) {
        const told = await progressToldBy(service, async () => {
          for (let at = 0; at < PIPELINES; at += 1) await write(`shared_${at}`)
        })
        expect([...told].sort()).toEqual([...ids].sort())
        const { pipelines } = await service.read<{ pipelines: { state: string }[] }>('/api/pipelines')
        expect(pipelines.map(({ state }) => state)).toEqual(ids.map(() => 'running'))
      }
      for (const id of ids) {
        await other.service.post(`/api/pipeline/${id}/stop`, {})
        await soon('the stop', async () => (await recordOf(id)).state === 'stopped')
      }
    })

    /** The pipelines whose progress the monitor of a service reports after a change. */
    async function progressToldBy(service: Service, change: () => Promise<void>): Promise<ReadonlySet<string>> {
      const told = new Set<string>()
      const socket = service.watch((message) => {
        if (message['type'] === 'progress') told.add(String(message['pipeline_id']))
      })
      await socket.opened
      await change()
      await soon('progress of all', async () => told.size >= PIPELINES)
      socket.close()
      return told
    }

    interface Loss {
      readonly takeAway: (owner: Replica) => Promise<void>
      /** Runs after the other service took over. */
      readonly bringBack: (owner: Replica) => Promise<void>
    }

    const killed: Loss = {
      takeAway: ({ service }) => service.kill(),
      async bringBack(owner) {
        const again = await startReplica()
        if (owner === one) one = again
        else other = again
      },
    }

    const paused: Loss = {
      takeAway: async ({ service }) => service.signal('SIGSTOP'),
      bringBack: async ({ service }) => service.signal('SIGCONT'),
    }

    /** Removes the owner repeatedly while the source is written. */
    async function loseOwners(
      name: string,
      { takeAway, bringBack }: Loss,
      { rounds = ROUNDS, mode = {}, writeOnce = write } = {},
    ): Promise<number[]> {
      await makeSource(name)
      const id = await startPipeline(one, name, mode)
      const takeOverMs: number[] = []
      for (let round = 0; round < rounds; round += 1) {
        const endWriting = writeOn(name, writeOnce)
        const ownerId = await soon('an owner', async () => {
          const { lease_owner: owner, state } = await recordOf(id)
          return state === 'running' && (owner === one.id || owner === other.id) && owner
        })
        const owner = ownerId === one.id ? one : other
        await sleep(500 + Math.random() * 1000)
        await takeAway(owner)
        const lost = performance.now()
        await soon('the take-over', async () => {
          const { lease_owner: now } = await recordOf(id)
          return now !== null && now !== ownerId
        })
        takeOverMs.push(Math.round(performance.now() - lost))
        await sleep(Math.random() * 300)
        await bringBack(owner)
        await sleep(1000)
        await endWriting()
        await untilCopied(name)
        expect((await recordOf(id)).error_json).toBeNull()
      }
      await (rounds % 2 === 0 ? one : other).service.post(`/api/pipeline/${id}/stop`, {})
      await soon('the stop', async () => (await recordOf(id)).state === 'stopped')
      const events = await db.selectFrom('events').select('type').where('object_id', '=', id).orderBy('seq').execute()
      expect(
        events.map(({ type }) => type),
        'a take-over is no event',
      ).toEqual(['pipeline.started', 'pipeline.stopping', 'pipeline.stopped'])
      const batches = await batchesOf(`${name}_sink`)
      expect(new Set(batches).size).toBe(batches.length)
      return takeOverMs
    }

    it('are taken over from a killed process: no row lost or duplicated', async () => {
      const takeOverMs = await loseOwners('killed', killed)
      process.stdout.write(`\ntaken over from killed processes after ${takeOverMs.join(', ')} ms\n`)
    })

    it('continue when the state database drops all connections repeatedly: no row lost or duplicated', async () => {
      await makeSource('dropped')
      const id = await startPipeline(one, 'dropped')
      const endWriting = writeOn('dropped')
      for (let round = 0; round < ROUNDS * 4; round += 1) {
        await sleep(300 + Math.random() * 1500)
        await sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`.execute(db)
      }
      await endWriting()
      await untilCopied('dropped')
      await soon('a running pipeline', async () => {
        const { state, error_json: error } = await recordOf(id)
        return state === 'running' && error === null
      })
      await one.service.post(`/api/pipeline/${id}/stop`, {})
      await soon('the stop', async () => (await recordOf(id)).state === 'stopped')
      const batches = await batchesOf('dropped_sink')
      expect(new Set(batches).size).toBe(batches.length)
    })

    it('a transaction of a paused process does not block the others', async () => {
      const still = new Kysely<StateTables>({ dialect: postgresDialect(database.place) })
      const locked = Promise.withResolvers<void>()
      const waiting = Promise.withResolvers<void>()
      const stopped = still.transaction().execute(async (tx) => {
        await tx.updateTable('instances').set({ started_at: 'never' }).where('id', '=', one.id).execute()
        locked.resolve()
        await waiting.promise
        await tx.selectFrom('instances').selectAll().execute()
      })
      const ended = expect(stopped).rejects.toThrow()
      await Promise.race([locked.promise, stopped])
      const touched = await db.updateTable('instances').set({ started_at: 'now' }).where('id', '=', one.id).execute()
      expect(touched[0]?.numUpdatedRows).toBe(1n)
      waiting.resolve()
      await ended
      await still.destroy()
    })

    it('are taken over from a paused process, which commits nothing when it resumes', async () => {
      const takeOverMs = await loseOwners('paused', paused)
      process.stdout.write(`\ntaken over from paused processes after ${takeOverMs.join(', ')} ms\n`)
    })

    it.each([
      ['killed', killed],
      ['paused', paused],
    ])('that mirror changes are taken over from a %s process: every change once, each key once', async (how, loss) => {
      const mode = { read: 'changes', write: 'mirror', key: ['id'], max_files_per_batch: 10 }
      const rounds = Math.ceil(ROUNDS / 2)
      const takeOverMs = await loseOwners(`mirror_${how}`, loss, { rounds, mode, writeOnce: change })
      process.stdout.write(`\nmirrors taken over from ${how} processes after ${takeOverMs.join(', ')} ms\n`)
    })
  },
)

describe('two services with one home directory', () => {
  it('the second one is refused, and the first one is unaffected', { timeout: 300_000 }, async () => {
    const home = mkdtempSync(join(tmpdir(), 'one-home-'))
    const first = await Service.start({ home })
    try {
      await expect(Service.start({ home })).rejects.toThrow(/in use by another process/)
      expect((await first.get('/api/pipelines')).status).toBe(200)
    } finally {
      await first.stop()
      rmSync(home, { recursive: true, force: true })
    }
  })
})
