import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OperationsAnswer } from '../interop/harness/answers.ts'
import { openLakehouse } from '../interop/harness/lakehouse.ts'
import { Service, type CatalogSettings } from '../interop/harness/service.ts'
import { IndependentReader, localPath, metadataLocationOf, reachableFiles } from './harness/independent-reader.ts'
import { createOrders, KEPT_COLUMNS } from './harness/orders-table.ts'
import { runs } from '../support/effort.ts'
import { sleep, until } from '../support/waiting.ts'

/** Total kills; the full run of a release sets KILL_ROUNDS=100. */
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? runs(30, 10))

/** Repeats a run: the moments are drawn from this seed. */
const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000)

const TABLE = 'faults.orders'

const WORK = {
  compact: (service: Service) => service.post('/api/compact', { table: TABLE, rewrite_all: true }),
  expire: (service: Service) =>
    service.post('/api/expire', { table: TABLE, older_than: new Date().toISOString(), retain_last: 1 }),
  async evolve(service: Service) {
    await service.post('/api/evolve/add-column', { table: TABLE, name: 'note', type: 'STRING', after: 'id' })
    await service.post('/api/evolve/rename-column', { table: TABLE, name: 'customer', new_name: 'client' })
    return service.post('/api/evolve/drop-column', { table: TABLE, name: 'comment' })
  },
  async undo(service: Service) {
    const expired = await WORK.expire(service)
    const { entries } = await service.read<{ entries: { id: string; state: string }[] }>('/api/quarantine')
    let restored = expired
    for (const { id } of entries.filter(({ state }) => state === 'held' || state === 'restoring')) {
      restored = await service.post(`/api/quarantine/${id}/restore`, {})
    }
    return restored
  },
} as const

type Kind = keyof typeof WORK
const KINDS = Object.keys(WORK) as Kind[]

describe('kill -9 at a random moment', { timeout: 300_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'kill-'))
  const live = `${folder}/live`
  const tableFolder = `${live}/warehouse/faults/orders`
  const random = randomNumbers(SEED)
  const durations: Record<Kind, number> = { compact: 0, expire: 0, evolve: 0, undo: 0 }
  const outcomes: Record<string, number> = {}
  let reader: IndependentReader
  let rows: string
  /** Names of the files of the table, without metadata files, and of its snapshots. */
  let files: readonly string[]
  let snapshots: readonly string[]

  const start = () => Service.start({ home: `${live}/home` })
  const pointer = () => metadataLocationOf(`${live}/catalog.db`, 'faults', 'orders')
  const fingerprint = () => reader.fingerprint(pointer(), KEPT_COLUMNS)

  function restore(): void {
    rmSync(live, { recursive: true, force: true })
    cpSync(`${folder}/seed`, live, { recursive: true })
  }

  beforeAll(async () => {
    reader = await IndependentReader.open()
    await seed(live)
    rows = await fingerprint()
    files = contents()
    const service = await start()
    snapshots = await snapshotsOf(service)
    await service.stop()
    cpSync(live, `${folder}/seed`, { recursive: true })
    for (const kind of KINDS) {
      restore()
      durations[kind] = await measure(await start(), kind)
      expect(await fingerprint()).toBe(rows)
    }
    process.stdout.write(`\nkill -9: ${ROUNDS} rounds, KILL_SEED=${SEED}, whole runs ${JSON.stringify(durations)} ms\n`)
  }, 180_000)

  afterAll(() => {
    reader?.close()
    rmSync(folder, { recursive: true, force: true })
    process.stdout.write(
      `kill -9: rounds by what the kill left and by the state of the last operation after the restart: ${JSON.stringify(outcomes)}\n`,
    )
  })

  const rounds = Array.from({ length: ROUNDS }, (_, round) => {
    const kind = KINDS[round % KINDS.length] as Kind
    return { round, kind, moment: random() }
  })

  it.each(rounds)('round $round: $kind, $moment of the way', async ({ kind, moment }) => {
    restore()
    const killed = await start()
    const work = WORK[kind](killed).catch(() => undefined)
    await sleep(moment * 1.1 * durations[kind])
    await killed.kill()
    await work
    expect(await fingerprint(), 'rows after the kill').toBe(rows)
    const orphans = (await leftovers()).length
    if (orphans > 0) count(`${kind} left files behind`)

    const service = await start()
    try {
      const last = await settledOperation(service)
      count(`${kind} ${last}`)
      expect(await fingerprint(), 'rows after the restart').toBe(rows)
      // files that an interrupted restore has put back wait for the restore to be continued
      if (kind !== 'undo') await expectNoLeftovers(service)
      const again = await WORK[kind](service)
      expect(again.status, JSON.stringify(again.body)).toBeLessThan(500)
      if (kind !== 'evolve') expect(again.status, JSON.stringify(again.body)).toBe(200)
      expect(await fingerprint(), 'rows after doing it again').toBe(rows)
      if (kind === 'expire' || kind === 'undo') {
        const present = new Set(contents())
        expect(
          files.filter((name) => !present.has(name)),
          'files that are neither in the table nor in quarantine',
        ).toEqual([])
      }
      if (kind === 'undo') {
        expect(await snapshotsOf(service), 'snapshots after a restore').toEqual(snapshots)
        await expectNoLeftovers(service)
      }
    } finally {
      await service.stop()
    }
  })

  /** Files below the table that its metadata does not reference, without those in quarantine. */
  async function leftovers(): Promise<string[]> {
    const reachable = await reachableFiles(pointer())
    return filesBelow(tableFolder).filter((path) => !reachable.has(path) && !path.includes('/.lockhouse-quarantine/'))
  }

  function contents(): readonly string[] {
    const names = filesBelow(tableFolder).map((path) => basename(path))
    return names.filter((name) => !name.endsWith('.metadata.json')).sort()
  }

  async function snapshotsOf(service: Service): Promise<readonly string[]> {
    const answer = await service.read<{ snapshots: { snapshot_id: string }[] }>(`/api/table/${TABLE}/snapshots`)
    return answer.snapshots.map(({ snapshot_id: id }) => id).sort()
  }

  function count(what: string): void {
    outcomes[what] = (outcomes[what] ?? 0) + 1
  }

  async function expectNoLeftovers(service: Service): Promise<void> {
    const present = new Set(filesBelow(tableFolder))
    const lost = [...(await reachableFiles(pointer()))].filter((path) => !present.has(path))
    expect(lost, 'files that the table needs').toEqual([])
    const left = await leftovers()
    if (left.length === 0) return
    const reports = JSON.stringify((await service.get('/api/operations')).body)
    expect(
      left.filter((path) => !reports.includes(path)),
      'left over and not reported',
    ).toEqual([])
  }
})

/** Creates the table, and a state directory whose service knows the catalog. */
async function seed(live: string): Promise<void> {
  mkdirSync(live)
  const house = await openLakehouse(live)
  await createOrders(house, { name: 'orders', appends: 36, rowsPerAppend: 4000, filesWithDeletes: 6 })
  await house.close()
  await configureOnce(live, house.settings)
}

async function configureOnce(live: string, settings: CatalogSettings): Promise<void> {
  const service = await Service.start({ home: `${live}/home` })
  await service.configure(settings)
  await service.stop()
}

async function measure(service: Service, kind: Kind): Promise<number> {
  const started = performance.now()
  const answer = await WORK[kind](service)
  const elapsed = performance.now() - started
  await service.stop()
  if (answer.status !== 200) throw new Error(`${kind}: ${answer.status} ${JSON.stringify(answer.body)}\n${service.log}`)
  return Math.round(elapsed)
}

/** State of the newest operation once none is running; after a start none may run for long. */
async function settledOperation(service: Service): Promise<string> {
  const newest = async (): Promise<string | undefined> => {
    const { operations } = await service.read<OperationsAnswer>('/api/operations')
    const isIdle = operations.every(({ state }) => state !== 'running')
    return isIdle ? (operations[0]?.state ?? 'none') : undefined
  }
  return await until(newest, 'no operation running after the restart', 60_000)
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => localPath(join(entry.parentPath, entry.name)))
}

/** Numbers from 0 to 1, the same for the same seed (xorshift). */
function randomNumbers(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return Math.round((state / 2 ** 32) * 1000) / 1000
  }
}
