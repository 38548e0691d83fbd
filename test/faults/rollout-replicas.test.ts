import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TableIdentifier } from '../../src/iceberg/metadata/table.ts'
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { type Lakehouse, openLakehouse } from '../interop/harness/lakehouse.ts'
import { Service } from '../interop/harness/service.ts'
import { graphOf } from '../services/deployments/deploy-lab.ts'
import { postgresPlace, postgresServer } from '../storage/open.ts'
import { runs } from '../support/effort.ts'
import { sleep, until } from '../support/waiting.ts'
import { type Deployment, QUICK_SERVICE, Rollouts } from './harness/rollouts.ts'
import { idsOf } from './harness/table-checks.ts'

/** How often the process that carries out a rollout is lost, for each way to lose it. */
const ROUNDS = Number(process.env['ROLLOUT_REPLICA_ROUNDS'] ?? runs(4, 2))
const PATIENCE_MS = 60_000
const BAD = "error('bad row') IS NULL"
const SOURCES = ['one', 'two']

/** A service process and its number in the state database. */
interface Replica {
  readonly service: Service
  readonly id: number
}

/** A rollout and the phase in which its process is lost; those at the start also run in short tests. */
const CASES = [
  { kind: 'same', phase: 'stopping' },
  { kind: 'reorder', phase: 'starting' },
  { kind: 'bad-reorder', phase: 'withdrawing' },
  { kind: 'same', phase: 'watching' },
  { kind: 'bad', phase: 'watching' },
  { kind: 'reorder', phase: 'watching' },
  { kind: 'bad', phase: 'restoring' },
  { kind: 'reorder', phase: 'stopping' },
  { kind: 'bad-reorder', phase: 'starting' },
  { kind: 'same', phase: 'validating' },
  { kind: 'bad', phase: 'withdrawing' },
  { kind: 'bad-reorder', phase: 'watching' },
] as const

describe.skipIf(postgresServer === undefined)(
  'rollouts of two services on one PostgreSQL',
  { timeout: 300_000 + ROUNDS * 60_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'rollout-replicas-'))
    const table = (name: string): TableIdentifier => ({ namespace: ['r'], name })
    const written = new Map<string, number>()
    let lake: Lakehouse
    let database: { place: string; remove: () => Promise<void> }
    let db: Kysely<StateTables>
    let one: Replica
    let other: Replica
    /** The one that is asked. */
    let asked: Replica
    let homes = 0
    let filters = 0
    let isReversed = false
    const rollouts = new Rollouts(() => asked.service)

    beforeAll(async () => {
      lake = await openLakehouse(`${folder}/lake`, 'hadoop')
      await lake.catalog.createNamespace(['r'])
      const fields = [{ id: 1, name: 'id', required: false, type: { kind: 'long' as const } }]
      for (const name of [...SOURCES, 'sink']) {
        await lake.catalog.createTable(table(name), { schema: { schemaId: 0, identifierFieldIds: [], fields } })
      }
      database = await postgresPlace()
      db = new Kysely<StateTables>({ dialect: postgresDialect(database.place) })
      one = await startReplica()
      asked = one
      await one.service.configure(lake.settings)
      other = await startReplica()
      // a folder that both reach
      await rollouts.create(graph(true), { checkpoint_root: `${folder}/lake/warehouse/checkpoints` })
      for (const name of SOURCES) await write(name)
      await rollouts.change('deploy')
      expect(await rollouts.settled()).toMatchObject({ state: 'in_sync' })
    })

    afterAll(async () => {
      for (const replica of [one, other]) await replica?.service.stop()
      await lake?.close()
      await db?.destroy()
      await database?.remove()
      rmSync(folder, { recursive: true, force: true })
    })

    async function startReplica(): Promise<Replica> {
      homes += 1
      const service = await Service.start({
        home: `${folder}/home-${homes}`,
        entry: QUICK_SERVICE,
        env: {
          DATABASE_URL: database.place,
          AUDIT_KEY: 'a key that both replicas know, of 32 characters or more',
          FAULTS_LEASE_MS: '3000',
        },
      })
      const query = db.selectFrom('instances').select('id').orderBy('id', 'desc').limit(1)
      return { service, id: (await query.executeTakeFirstOrThrow()).id }
    }

    /** A version with another filter, which keeps every row, or fails. */
    function graph(isGood: boolean) {
      filters += 1
      const tables = SOURCES.map((name) => `r.${name}`)
      return graphOf(isReversed ? tables.toReversed() : tables, 'r.sink', isGood ? `id >= ${-filters}` : BAD)
    }

    async function write(name: string): Promise<void> {
      const first = written.get(name) ?? SOURCES.indexOf(name) * 1_000_000
      await lake.append(table(name), `SELECT i AS c1 FROM range(${first}, ${first + 10}) t(i)`)
      written.set(name, first + 10)
    }

    /** Writes continuously until it is stopped. */
    function writeOn(): () => Promise<void> {
      const state = { goesOn: true }
      const done = (async () => {
        for (let next = 0; state.goesOn; next += 1) {
          await write(SOURCES[next % SOURCES.length] ?? '')
          await sleep(100)
        }
      })()
      return async () => {
        state.goesOn = false
        await done
      }
    }

    async function untilCopied(what: string): Promise<void> {
      const all = [...(await idsOf(lake, table('one'))), ...(await idsOf(lake, table('two')))]
      const copied = async (): Promise<boolean> => (await idsOf(lake, table('sink'))).length >= all.length
      const seen = async (): Promise<string> => {
        const sink = new Set(await idsOf(lake, table('sink')))
        const missing = all.filter((id) => !sink.has(id))
        const { body } = await asked.service.get('/api/pipelines')
        return `${what}; missing ${missing.join(', ')}; ${JSON.stringify(body)}\n${one.service.log}\n${other.service.log}`
      }
      await until(copied, seen, PATIENCE_MS)
      expect(await idsOf(lake, table('sink')), what).toEqual(all)
    }

    async function rowOf() {
      return db.selectFrom('deployments').select(['lease_owner', 'rollout_json', 'revision']).executeTakeFirstOrThrow()
    }

    /** Waits until a rollout is in a phase, or has ended; returns the process that carries it out. */
    async function ownerIn(phase: string): Promise<{ owner: number | null; phase: string }> {
      return until(async () => {
        const { lease_owner: owner, rollout_json: json } = await rowOf()
        if (json === null) return { owner, phase: 'ended' }
        const now = (JSON.parse(json) as { phase: string }).phase
        return now === phase && owner !== null && { owner, phase: now }
      }, `a rollout that is ${phase}`)
    }

    interface Loss {
      readonly takeAway: (owner: Replica) => Promise<void>
      readonly bringBack: (owner: Replica) => Promise<void>
    }

    /** Loses the process of a rollout in each case; returns how often it was lost in which phase. */
    async function loseOwners({ takeAway, bringBack }: Loss): Promise<Record<string, number>> {
      const lost: Record<string, number> = {}
      for (let round = 0; round < ROUNDS; round += 1) {
        const { kind, phase } = CASES[round % CASES.length] ?? CASES[0]
        const before = await rollouts.settled()
        if (kind === 'reorder' || kind === 'bad-reorder') isReversed = !isReversed
        const isGood = kind === 'same' || kind === 'reorder'
        const version = await rollouts.addVersion(graph(isGood))
        if (kind === 'bad-reorder') isReversed = !isReversed
        const endWriting = writeOn()
        try {
          const answer = await rollouts.change('deploy')
          expect(answer.status, JSON.stringify(answer.body)).toBe(200)
          const found = await ownerIn(phase)
          const owner = found.owner === other.id ? other : one
          asked = owner === one ? other : one
          await takeAway(owner)
          lost[found.phase] = (lost[found.phase] ?? 0) + 1
          const now = await rollouts.settled()
          await bringBack(owner)
          await endWriting()
          const what = `${kind}, lost while ${found.phase}`
          await judge({ what, before, now, version: isGood ? version : undefined })
        } finally {
          await endWriting()
        }
      }
      return lost
    }

    interface Outcome {
      readonly what: string
      readonly before: Deployment
      readonly now: Deployment
      /** The version that runs now; undefined: the one before. */
      readonly version: string | undefined
    }

    async function judge({ what, before, now, version }: Outcome): Promise<void> {
      const seen = `${what}: ${JSON.stringify(now)}`
      expect([now.state, now.running_version_id], seen).toEqual(
        version === undefined ? ['rolled_back', before.running_version_id] : ['in_sync', version],
      )
      await untilCopied(seen)
      expect(await rollouts.settled(), seen).toMatchObject({ state: now.state, pipeline_id: now.pipeline_id })
      await rollouts.expectOnePipeline(now)
    }

    it('are finished or undone by the other one after a kill: one pipeline, every row once', async () => {
      const lost = await loseOwners({
        takeAway: ({ service }) => service.kill(),
        async bringBack(owner) {
          const again = await startReplica()
          if (owner === one) one = again
          else other = again
        },
      })
      process.stdout.write(`\nrollouts of killed processes, by phase: ${JSON.stringify(lost)}\n`)
    })

    it('are finished or undone by the other one while a process is paused, which does nothing when it resumes', async () => {
      const lost = await loseOwners({
        takeAway: async ({ service }) => service.signal('SIGSTOP'),
        async bringBack({ service, id }) {
          const { revision } = await rowOf()
          service.signal('SIGCONT')
          await service.get('/api/deployments') // it runs again
          await sleep(1000)
          const now = await rowOf()
          expect(now.revision, `changed by ${id}, which was paused`).toBe(revision)
        },
      })
      process.stdout.write(`\nrollouts of paused processes, by phase: ${JSON.stringify(lost)}\n`)
    })
  },
)
