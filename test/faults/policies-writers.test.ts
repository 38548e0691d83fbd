import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PYTHON, REPOSITORY } from '../interop/harness/environment.ts'
import { type Lakehouse, openLakehouse } from '../interop/harness/lakehouse.ts'
import { Service } from '../interop/harness/service.ts'
import { later, until } from '../support/waiting.ts'
import { QUICK_SERVICE } from './harness/rollouts.ts'

/** The full run of a release sets WRITERS_TABLES=2000 WRITERS_SECONDS=600. */
const TABLES = Number(process.env['WRITERS_TABLES'] ?? 20)
const SECONDS = Number(process.env['WRITERS_SECONDS'] ?? 40)
const SEED = Number(process.env['WRITERS_SEED'] ?? Date.now() % 1_000_000)
/** How often the service is killed while it works. */
const KILLS = Number(process.env['WRITERS_KILLS'] ?? 3)
const TARGET = 80
/** The policy compacts a table with more small files than this. */
const SMALL_FILES = 6
/** How long the policy has to finish after the writers, with the cooldowns of the last operations. */
const SETTLE_MS = 300_000 + TABLES * 1000

interface Health {
  readonly score: number
  readonly small_file_count: number
}

interface Written {
  readonly commits: number
  readonly conflicts: number
  /** Deletions whose data file a compaction had replaced, done again. */
  readonly repeated: number
  readonly failures: readonly string[]
  readonly expected: Readonly<Record<string, readonly [rows: number, sum: number]>>
}

interface Operation {
  readonly table: string
  readonly kind: string
  readonly state: string
  readonly requested_by: string
}

/** Writers of PyIceberg over many tables. */
class Writers {
  readonly #child
  readonly #lines: AsyncIterator<string>

  constructor({ settings }: Lakehouse) {
    const options = {
      uri: settings.uri,
      warehouse: settings.warehouse,
      name: settings.catalog_name,
      namespace: 'written',
      tables: TABLES,
      seconds: SECONDS,
      seed: SEED,
    }
    const script = `${REPOSITORY}/test/interop/python/pyiceberg_random_writers.py`
    this.#child = spawn(PYTHON ?? 'python3', [script, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async next(): Promise<string> {
    const line = await this.#lines.next()
    if (line.done === true) throw new Error('the writers ended')
    return line.value
  }

  /** Rows and sum of ids of each table, as PyIceberg reads them. */
  async read(): Promise<Written['expected']> {
    this.#child.stdin.write('read\n')
    return JSON.parse(await this.next())
  }

  stop(): void {
    this.#child.kill('SIGTERM')
  }
}

describe.skipIf(!PYTHON)(
  'an active policy over tables of other writers',
  { timeout: 600_000 + SETTLE_MS + SECONDS * 2000 },
  () => {
    let folder: string
    let lake: Lakehouse | undefined
    let service: Service | undefined
    let writers: Writers | undefined
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'writers-'))
    })
    afterEach(async () => {
      writers?.stop()
      await service?.stop()
      await lake?.close()
      rmSync(folder, { recursive: true, force: true })
    })

    const start = () => Service.start({ home: `${folder}/home`, entry: QUICK_SERVICE, env: { LOCKHOUSE_DEMO: '0' } })

    it(`keeps ${TABLES} tables healthy, loses no row and runs nothing twice, through ${KILLS} kills`, async () => {
      lake = await openLakehouse(folder)
      writers = new Writers(lake)
      expect(await writers.next()).toBe('created')
      service = await start()
      await service.configure(lake.settings)
      const policy = await service.post('/api/policies', {
        name: 'all tables',
        tables: ['written.*'],
        operations: [{ operation: 'compact' }, { operation: 'expire' }],
        when: { small_files_over: SMALL_FILES, snapshots_over: 12 },
        budget: { concurrent_operations: 2 },
        cooldown: '1 minute',
        mode: 'active',
      })
      expect(policy.status, JSON.stringify(policy.body)).toBe(201)
      const finished = writers.next()
      for (let kill = 1; kill <= KILLS; kill += 1) {
        await new Promise<void>((resolve) => later((SECONDS * 1000) / (KILLS + 1), resolve))
        await service.kill()
        service = await start()
      }
      const written: Written = JSON.parse(await finished)
      const running = service
      const poor = new Map(Object.keys(written.expected).map((table) => [table, 0]))
      const lookAgain = async () => {
        for (const table of poor.keys()) {
          const { score, small_file_count: small } = await running.read<Health>(`/api/table/${table}/health`)
          if (score >= TARGET && small <= SMALL_FILES) poor.delete(table)
          else poor.set(table, score)
        }
        return poor.size === 0
      }
      await until(lookAgain, () => `all healthy: ${JSON.stringify([...poor])} ${running.log}`, SETTLE_MS)
      await until(async () => (await operationsOf(running)).every(({ state }) => state !== 'running'))
      expect(await writers.read()).toEqual(written.expected)
      expect(written.failures).toEqual([])
      expect(written.repeated, 'deletions that had to be repeated').toBeLessThan(written.commits / 20)
      expect(written.commits).toBeGreaterThan(TABLES)

      const operations = await operationsOf(running)
      const ran = operations.filter(({ state }) => state === 'succeeded')
      console.log(
        `seed ${SEED}: ${written.commits} commits of ${TABLES} tables, ${written.conflicts} conflicts, ${written.repeated} deletions repeated, ` +
          `${operations.length} operations (${ran.length} succeeded), ${KILLS} kills, 0 rows lost`,
      )
      expect(ran.length).toBeGreaterThan(0)
      expect(operations.filter((one) => one.requested_by !== 'policy:all tables')).toEqual([])
      const events = await eventsOf(running)
      expect(mostAtOnce(events), listed(events)).toBeLessThanOrEqual(2)
      for (const table of new Set(operations.map((one) => one.table))) {
        const ofTable = events.filter(({ data }) => data.table === table)
        expect(mostAtOnce(ofTable), listed(ofTable)).toBe(1)
      }
    })
  },
)

async function operationsOf(service: Service): Promise<readonly Operation[]> {
  const { operations } = await service.read<{ operations: readonly Operation[] }>('/api/operations?page_size=1000')
  return operations
}

interface OperationEvent {
  readonly seq: number
  readonly type: string
  readonly data: { readonly id: string; readonly operation: string; readonly table: string; readonly state: string }
}

/** Starts and ends of operations in the order of the event log, which no clock changes. */
async function eventsOf(service: Service): Promise<readonly OperationEvent[]> {
  const all: OperationEvent[] = []
  while (true) {
    const since = all.at(-1)?.seq ?? 0
    const page = await service.read<{ events: readonly OperationEvent[] }>(
      `/api/events?type=operation.*&limit=1000&since=${since}`,
    )
    if (page.events.length === 0) return all
    all.push(...page.events)
  }
}

/** How many operations ran at the same time. An operation that a kill ended ends when it is settled, with the next start. */
function mostAtOnce(events: readonly OperationEvent[]): number {
  const running = new Set<string>()
  let most = 0
  for (const { type, data } of events) {
    if (type === 'operation.started') running.add(data.id)
    if (type === 'operation.finished') running.delete(data.id)
    most = Math.max(most, running.size)
  }
  return most
}

function listed(events: readonly OperationEvent[]): string {
  return events.map(({ seq, type, data }) => `${seq} ${type} ${JSON.stringify(data)}`).join('\n')
}
