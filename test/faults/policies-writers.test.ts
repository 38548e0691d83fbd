import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, it } from 'vitest'
import { PYTHON, REPOSITORY } from '../interop/harness/environment.ts'
import { type Lakehouse, openLakehouse } from '../interop/harness/lakehouse.ts'
import { Service } from '../interop/harness/service.ts'
import { later, until } from '../support/waiting.ts'

/** The full run of a release sets FLEET_TABLES=2000 FLEET_SECONDS=600. */
const TABLES = Number(process.env['FLEET_TABLES'] ?? 20)
const SECONDS = Number(process.env['FLEET_SECONDS'] ?? 40)
const SEED = Number(process.env['FLEET_SEED'] ?? Date.now() % 1_000_000)
/** How often the service is killed while it works. */
const KILLS = Number(process.env['FLEET_KILLS'] ?? 3)
const TARGET = 80

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
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly error: unknown
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
      namespace: 'fleet',
      tables: TABLES,
      seconds: SECONDS,
      seed: SEED,
    }
    const script = `${REPOSITORY}/test/interop/python/pyiceberg_fleet.py`
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

describe.skipIf(!PYTHON)('an active policy over tables of other writers', { timeout: 900_000 + SECONDS * 3000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'))
  let lake: Lakehouse | undefined
  let service: Service | undefined
  let writers: Writers | undefined
  afterAll(async () => {
    writers?.stop()
    await service?.stop()
    await lake?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const start = () => Service.start({ home: `${folder}/home`, env: { LOCKHOUSE_DEMO: '0' } })

  it(`keeps ${TABLES} tables healthy, loses no row and runs nothing twice, through ${KILLS} kills`, async () => {
    lake = await openLakehouse(folder)
    writers = new Writers(lake)
    expect(await writers.next()).toBe('created')
    service = await start()
    await service.configure(lake.settings)
    const policy = await service.post('/api/policies', {
      name: 'all tables',
      tables: ['fleet.*'],
      operations: [{ operation: 'compact' }, { operation: 'expire' }],
      when: { small_files_over: 6, snapshots_over: 12 },
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
    const poor = async () => {
      const index = await running.read<{ tables: { table: string; score: number | null }[]; pending_count: number }>(
        `/api/health-index?page_size=1000`,
      )
      return index.tables.filter(({ score }) => score === null || score < TARGET)
    }
    await until(
      async () => (await poor()).length === 0,
      async () => `all healthy: ${JSON.stringify(await poor())} ${running.log}`,
      300_000,
    )
    await until(async () => (await operationsOf(running)).every(({ state }) => state !== 'running'))
    expect(await writers.read()).toEqual(written.expected)
    expect(written.failures).toEqual([])
    expect(written.repeated, 'deletions that had to be repeated').toBeLessThan(written.commits / 100)
    expect(written.commits).toBeGreaterThan(TABLES)

    const operations = await operationsOf(running)
    const ran = operations.filter(({ state }) => state === 'succeeded')
    console.log(
      `seed ${SEED}: ${written.commits} commits of ${TABLES} tables, ${written.conflicts} conflicts, ${written.repeated} deletions repeated, ` +
        `${operations.length} operations (${ran.length} succeeded), ${KILLS} kills, 0 rows lost`,
    )
    expect(ran.length).toBeGreaterThan(0)
    expect(operations.every((one) => one.requested_by === 'policy:all tables')).toBe(true)
    expect(mostAtOnce(operations)).toBeLessThanOrEqual(2)
    for (const table of new Set(operations.map((one) => one.table))) {
      expect(mostAtOnce(operations.filter((one) => one.table === table)), table).toBeLessThanOrEqual(1)
    }
  })
})

async function operationsOf(service: Service): Promise<readonly Operation[]> {
  const { operations } = await service.read<{ operations: readonly Operation[] }>('/api/operations?page_size=1000')
  return operations
}

/** How many operations ran at the same time, as the ledger says; an operation that a kill ended ends with its successor. */
function mostAtOnce(operations: readonly Operation[]): number {
  const moments = operations.flatMap(({ started_at: from, finished_at: to }) =>
    from === null || to === null ? [] : [[Date.parse(from), 1] as const, [Date.parse(to), -1] as const],
  )
  moments.sort(([a, first], [b, second]) => a - b || first - second)
  let now = 0
  let most = 0
  for (const [, change] of moments) {
    now += change
    most = Math.max(most, now)
  }
  return most
}
