import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pyicebergAvailable } from '../interop/harness/environment.ts'
import { type Lakehouse, openLakehouse } from '../interop/harness/lakehouse.ts'
import { runPython } from '../interop/harness/python.ts'
import { type Answer, Service } from '../interop/harness/service.ts'
import { graphOf } from '../services/deployments/deploy-lab.ts'
import { runs } from '../support/effort.ts'
import { sleep, until } from '../support/waiting.ts'
import { PythonWriter } from './harness/python-writer.ts'
import { randomNumbers } from './harness/random-numbers.ts'
import { type Deployment, QUICK_SERVICE, Rollouts } from './harness/rollouts.ts'

/** Rounds with a kill each; the full run of a release sets ROLLOUT_KILL_ROUNDS=100. */
const ROUNDS = Number(process.env['ROLLOUT_KILL_ROUNDS'] ?? runs(20, 4))
/** Repeats a run: the kinds and moments are drawn from this seed. */
const SEED = Number(process.env['ROLLOUT_KILL_SEED'] ?? Date.now() % 1_000_000)

/** Two sources from the beginning; the others are added by later versions. */
const FIRST_SOURCES = 2
const SOURCES = ['faults.one', 'faults.two', 'faults.three', 'faults.four', 'faults.five']
const SINK = 'faults.sink'
/** Ids of different sources differ. */
const IDS_PER_SOURCE = 10_000_000
const BAD = "error('bad row') IS NULL"

/**
 * What a round does: good versions (the same sources, in another order, with one more), bad ones (the same sources, in
 * another order), a bad one that is rolled back on request while it is watched, a rollback, an undeployment.
 */
const KINDS = ['same', 'reorder', 'widen', 'bad', 'bad-reorder', 'abort', 'rollback', 'undeploy'] as const
type Kind = (typeof KINDS)[number]

const BEFORE_START = ['validating', 'stopping']
const UNDONE = [...BEFORE_START, 'starting', 'watching', 'withdrawing', 'restoring']

/** The phases in which rollouts of a kind are killed, besides any moment. */
function phasesOf(kind: Kind): readonly string[] {
  if (kind === 'undeploy') return BEFORE_START
  return kind === 'bad' || kind === 'bad-reorder' || kind === 'abort' ? UNDONE.slice(2) : UNDONE.slice(1, 4)
}

interface StoredRollout {
  readonly id: string
  readonly phase: string
}

interface Round {
  readonly kind: Kind
  /** Undefined for those that add no version. */
  readonly version: string | undefined
  readonly before: Deployment
}

describe.skipIf(!pyicebergAvailable('rollouts while PyIceberg writes'))(
  'a deployment whose process is killed during rollouts',
  { timeout: 600_000 + ROUNDS * 30_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'rollout-kill-'))
    const home = `${folder}/home`
    const random = randomNumbers(SEED)
    const counts = { kills: 0, rollouts: 0, refused: 0, succeeded: 0, rolledBack: 0, failed: 0, pipelines: 0, rows: 0 }
    const killsByPhase: Record<string, number> = { 'not begun': 0, ended: 0 }
    const killsByKind: Record<string, number> = {}
    /** How long a rollout of a kind took without a kill, ms. */
    const durations = new Map<Kind, number>()
    const rounds: string[] = []
    const written = SOURCES.map(() => 0)
    const seenPipelines = new Set<string>()
    let lake: Lakehouse
    let writer: PythonWriter
    let service: Service
    let sources = FIRST_SOURCES
    let isReversed = false
    /** Successes in a row with the sources as they are: with two, a rollback cannot go back to fewer sources. */
    let successes = 0
    let filters = 0
    const rollouts = new Rollouts(() => service)

    beforeAll(async () => {
      lake = await openLakehouse(`${folder}/lake`)
      await lake.catalog.createNamespace(['faults'])
      for (const name of [...SOURCES, SINK]) {
        const [, table = ''] = name.split('.')
        await lake.catalog.createTable(
          { namespace: ['faults'], name: table },
          {
            schema: {
              schemaId: 0,
              identifierFieldIds: [],
              fields: [
                { id: 1, name: 'id', required: false, type: { kind: 'long' } },
                { id: 2, name: 'part', required: false, type: { kind: 'int' } },
              ],
            },
          },
        )
      }
      writer = new PythonWriter(lake, SOURCES[0] ?? '')
      service = await start()
      await service.configure(lake.settings)
      process.stdout.write(`\nrollouts and kill -9: ${ROUNDS} rounds, ROLLOUT_KILL_SEED=${SEED}\n`)
    })

    afterAll(async () => {
      writer?.stop()
      await service?.stop()
      await lake?.close()
      rmSync(folder, { recursive: true, force: true })
      process.stdout.write(`rollouts and kill -9: ${JSON.stringify({ ...counts, killsByPhase, killsByKind })}\n`)
    })

    const start = (): Promise<Service> => Service.start({ home, entry: QUICK_SERVICE })

    async function write(at: number): Promise<void> {
      const count = 1 + Math.floor(Math.random() * 100)
      await writer.append(at * IDS_PER_SOURCE + (written[at] ?? 0), count, SOURCES[at])
      written[at] = (written[at] ?? 0) + count
    }

    /** Appends to one source after the other until it is stopped. */
    function writeOn(): () => Promise<void> {
      const state = { goesOn: true }
      const done = (async () => {
        for (let next = 0; state.goesOn; next += 1) {
          await write(next % 2 === 0 ? 0 : next % SOURCES.length)
          await sleep(200)
        }
      })()
      return async () => {
        state.goesOn = false
        await done
      }
    }

    /** A version with another filter, which keeps every row, or fails. */
    function graph(isGood: boolean) {
      filters += 1
      const tables = SOURCES.slice(0, sources)
      return graphOf(isReversed ? tables.toReversed() : tables, SINK, isGood ? `id >= ${-filters}` : BAD)
    }

    /** Draws what fits the deployment as it is. */
    function draw(before: Deployment): Kind {
      const isRunning = before.running_version_id !== null
      const fitting = KINDS.filter((kind) => {
        if (kind === 'rollback') return successes >= 2 && isRunning
        if (kind === 'widen') return successes >= 2 && sources < SOURCES.length
        if (kind === 'bad' || kind === 'bad-reorder') return isRunning || random() < 0.2
        return isRunning || (kind !== 'abort' && kind !== 'undeploy')
      })
      return fitting[Math.floor(random() * fitting.length)] ?? 'same'
    }

    async function prepare(kind: Kind): Promise<Round> {
      const before = await rollouts.settled()
      if (kind === 'widen') {
        sources += 1
        successes = 0
      }
      if (kind === 'rollback' || kind === 'undeploy') return { kind, version: undefined, before }
      const isGood = kind === 'same' || kind === 'reorder' || kind === 'widen'
      const isOther = kind === 'reorder' || kind === 'bad-reorder'
      if (isOther) isReversed = !isReversed
      const version = await rollouts.addVersion(graph(isGood))
      if (kind === 'bad-reorder') isReversed = !isReversed
      return { kind, version, before }
    }

    /** Sends what the round does; answers that a kill cuts off are undefined. */
    async function send({ kind }: Round): Promise<void> {
      const action = kind === 'rollback' || kind === 'undeploy' ? kind : 'deploy'
      const answer = await rollouts.change(action).catch(() => undefined)
      if (answer !== undefined) expect(answer.status, `${kind}: ${JSON.stringify(answer.body)}`).toBe(200)
      if (kind === 'abort') await abort()
    }

    /** Rolls back what the process that runs now watches; the kill cuts that off at any moment. */
    async function abort(): Promise<void> {
      const asked = service
      const watcher = new Rollouts(() => asked, rollouts.definitionId)
      const isWatched = async (): Promise<boolean> => (await watcher.deployment()).rollout?.phase === 'watching'
      const answer: Answer | undefined = await until(isWatched)
        .then(() => watcher.change('rollback'))
        .catch(() => undefined)
      // the rollout may have gone on to the next phase
      if (answer !== undefined) expect([200, 409], JSON.stringify(answer.body)).toContain(answer.status)
    }

    /** Reads the rollout from the state database, without the service. */
    async function withState<T>(read: (stored: () => StoredRollout | undefined) => Promise<T>): Promise<T> {
      const database = new DatabaseSync(`${home}/state.db`, { timeout: 5000 })
      try {
        const rollout = database.prepare('SELECT rollout_json FROM deployments')
        return await read(() => {
          const json = rollout.get()?.['rollout_json']
          return typeof json === 'string' ? (JSON.parse(json) as StoredRollout) : undefined
        })
      } finally {
        database.close()
      }
    }

    /** Waits for the moment of the kill: at random in the duration of the kind, or at random in one of its phases. */
    async function moment({ kind }: Round): Promise<void> {
      const duration = durations.get(kind) ?? 2000
      if (random() < 0.4) return sleep(random() * duration)
      const phases = phasesOf(kind)
      const phase = phases[Math.floor(random() * phases.length)]
      const deadline = performance.now() + duration * 2
      await withState(async (stored) => {
        for (let now = stored()?.phase; now !== phase && performance.now() < deadline; now = stored()?.phase) {
          const isNext = now === 'withdrawing' && phase === 'restoring' // which is too short to be seen after a wait
          if (!isNext) await sleep(1)
        }
      })
      if (random() < 0.5) await sleep(random() * 100)
    }

    async function kill(round: Round, lastId: string | undefined): Promise<void> {
      await service.kill()
      counts.kills += 1
      const stored = await withState(async (rollout) => rollout())
      const phase = stored?.phase ?? ((await hasBegun(lastId)) ? 'ended' : 'not begun')
      killsByPhase[phase] = (killsByPhase[phase] ?? 0) + 1
      killsByKind[round.kind] = (killsByKind[round.kind] ?? 0) + 1
      rounds.push(`  killed in ${phase} at ${Math.round(performance.now())} ms`)
      service = await start()
      rounds.push(`  started again at ${Math.round(performance.now())} ms`)
    }

    /** Whether the history, read without the service, has another last entry. */
    async function hasBegun(lastId: string | undefined): Promise<boolean> {
      const database = new DatabaseSync(`${home}/state.db`, { timeout: 5000 })
      try {
        const row = database.prepare('SELECT id FROM deployment_history ORDER BY id DESC LIMIT 1').get()
        return row?.['id'] !== lastId
      } finally {
        database.close()
      }
    }

    async function playRound(kind: Kind, isKilled: boolean): Promise<void> {
      const round = await prepare(kind)
      const lastId = (await rollouts.lastEntry())?.id
      rounds.push(`${kind} ${round.version ?? ''} after ${round.before.state} ${round.before.running_version_id ?? ''}`)
      const began = performance.now()
      const sent = send(round)
      if (isKilled) {
        await moment(round)
        await kill(round, lastId)
        await sent
        if (random() < 0.2) {
          await sleep(random() * 300) // while the rollout goes on after the start
          await kill(round, lastId)
        }
      }
      await sent
      const now = await rollouts.settled()
      if (!isKilled) durations.set(kind, performance.now() - began)
      await judge(round, { now, lastId })
    }

    async function judge(
      round: Round,
      { now, lastId }: { now: Deployment; lastId: string | undefined },
    ): Promise<void> {
      const { kind, version, before } = round
      const entry = await rollouts.lastEntry()
      const seen = JSON.stringify({ round, now, entry })
      await rollouts.expectOnePipeline(now)
      if (now.pipeline_id !== null) seenPipelines.add(now.pipeline_id)
      if (entry === undefined || entry.id === lastId) {
        counts.refused += 1
        expect(now.running_version_id, seen).toBe(before.running_version_id)
        return
      }
      counts.rollouts += 1
      rounds.push(`  ${entry.outcome}: ${entry.reason ?? ''} at ${Math.round(performance.now())} ms`)
      if (entry.outcome === 'succeeded') counts.succeeded += 1
      else if (entry.outcome === 'rolled_back') counts.rolledBack += 1
      else counts.failed += 1
      if (kind === 'undeploy') {
        expect([entry.outcome, now.state, now.running_version_id], seen).toEqual(['succeeded', 'none', null])
      } else if (kind === 'bad' || kind === 'bad-reorder' || kind === 'abort') {
        const ran = before.running_version_id
        expect([entry.outcome, now.running_version_id], seen).toEqual([ran === null ? 'failed' : 'rolled_back', ran])
      } else {
        expect(entry.outcome, seen).toBe('succeeded')
        if (kind === 'rollback') expect(now.running_version_id, seen).not.toBe(before.running_version_id)
        else {
          expect([now.state, now.running_version_id], seen).toEqual(['in_sync', version])
          successes += 1
        }
      }
    }

    it('runs one pipeline, and has every row once', async () => {
      await rollouts.create(graph(true))
      const endWriting = writeOn()
      try {
        await playRound('same', false)
        for (const kind of [
          'same',
          'reorder',
          'bad',
          'bad-reorder',
          'abort',
          'rollback',
          'undeploy',
          'same',
        ] as const) {
          await playRound(kind, false)
        }
        durations.set('widen', durations.get('reorder') ?? 0)
        for (let round = 0; round < ROUNDS; round += 1) {
          await playRound(draw(await rollouts.settled()), true)
          if (round % 10 === 9) await expectCopied({ isAll: false })
        }
        await playRound('same', false)
      } catch (error) {
        process.stdout.write(`${rounds.slice(-12).join('\n')}\n${service.log}\n`)
        throw error
      } finally {
        await endWriting()
      }
      await untilAllCopied()
      await expectCopied({ isAll: true })
      counts.pipelines = seenPipelines.size
      await rollouts.expectOnePipeline(await rollouts.settled())
      expect(counts.kills).toBeGreaterThanOrEqual(ROUNDS)
    })

    /** Waits until the sink has as many rows as its sources; which ones they are, PyIceberg tells. */
    async function untilAllCopied(): Promise<void> {
      const total = written.slice(0, sources).reduce((sum, rows) => sum + rows, 0)
      const copied = async (): Promise<number> => {
        const { metadata } = await lake.catalog.loadTable({ namespace: ['faults'], name: 'sink' })
        const current = metadata.snapshots.find(({ snapshotId }) => snapshotId === metadata.currentSnapshotId)
        return Number(current?.summary['total-records'] ?? 0)
      }
      await until(
        async () => (await copied()) >= total,
        async () => `${total} rows: ${await copied()}`,
        60_000,
      )
    }

    /** Compares all rows with another reader; during the rounds the sink may miss the newest. */
    async function expectCopied({ isAll }: { isAll: boolean }): Promise<void> {
      const { uri, warehouse, catalog_name: name } = lake.settings
      const request = { uri, warehouse, name, sources: SOURCES.slice(0, sources), sink: SINK }
      const seen = await runPython<Record<string, number>>('pyiceberg_copied.py', request)
      counts.rows = seen['rows'] ?? 0
      const expected = isAll ? { missing: 0, doubled: 0, unknown: 0 } : { doubled: 0, unknown: 0 }
      expect(seen, rounds.join('\n')).toMatchObject(expected)
    }
  },
)
