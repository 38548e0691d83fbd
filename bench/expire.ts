// How the time of an expiry grows from 1,000 to 10,000 snapshots, all of whose files exist.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { openLakehouse } from '../test/interop/harness/lakehouse.ts'
import { Service } from '../test/interop/harness/service.ts'
import { makeHistory } from './support/long-history.ts'
import { processMemory } from './support/process-memory.ts'
import { median, megabytes, note, printTable, seconds } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const [SMALL = 1000, LARGE = 10_000] = (process.env['BENCH_SNAPSHOTS'] ?? '1000,10000').split(',').map(Number)
const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 3)

interface Run {
  readonly ms: number
  readonly deletedFiles: number
  readonly peak: number
}

await withWorkFolder('expire', async (folder) => {
  const house = await openLakehouse(folder)
  await house.catalog.createNamespace(['bench'])
  const runs = new Map<number, Run[]>([
    [SMALL, []],
    [LARGE, []],
  ])
  const histories = new Map<number, string>()
  for (const size of runs.keys()) {
    note(`creating a table with ${size} snapshots`)
    const live = `${folder}/warehouse/bench/history_${size}`
    histories.set(size, await makeHistory(`file://${live}`, size))
    mkdirSync(`${folder}/masters`, { recursive: true })
    execFileSync('mv', [live, `${folder}/masters/${size}`])
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [size, list] of runs) {
      const live = `${folder}/warehouse/bench/history_${size}`
      rmSync(live, { recursive: true, force: true })
      execFileSync('cp', ['-al', `${folder}/masters/${size}`, live]) // hard links: the master keeps its files
      const service = await Service.start({ home: `${folder}/home-${size}-${round}` })
      await service.configure(house.settings)
      const name = `history_${size}_${round}`
      list.push(await expire(service, { table: `bench.${name}`, metadata: histories.get(size) ?? '', size }))
      await service.stop()
      await house.catalog.dropTable({ namespace: ['bench'], name }) // the next round registers the same table
      note(`round ${round + 1}: ${size} snapshots in ${seconds([list.at(-1)?.ms ?? 0])}`)
    }
  }
  await house.close()
  report(runs)
})

async function expire(service: Service, job: { table: string; metadata: string; size: number }): Promise<Run> {
  const registered = await service.post('/api/tables/register', { table: job.table, metadata_location: job.metadata })
  if (registered.status >= 300) throw new Error(JSON.stringify(registered.body))
  const started = performance.now()
  const { details } = await service.operate('/api/expire', {
    table: job.table,
    older_than: new Date().toISOString(),
    retain_last: 1,
  })
  const ms = performance.now() - started
  const lists = Number(details['deleted_manifest_lists_count'])
  if (lists !== job.size - 1) throw new Error(`${lists} manifest lists deleted: ${JSON.stringify(details)}`)
  const deletedFiles = Object.entries(details)
    .filter(([key]) => /^deleted_.*_count$/.test(key))
    .reduce((sum, [, value]) => sum + Number(value), 0)
  return { ms, deletedFiles, peak: processMemory(service.pid).peak }
}

function report(runs: ReadonlyMap<number, readonly Run[]>): void {
  const rows = [...runs].map(([size, list]) => [
    size.toLocaleString('en'),
    seconds(list.map((run) => run.ms)),
    `${((median(list.map((run) => run.ms)) * 1000) / size).toFixed(0)} µs`,
    (list[0]?.deletedFiles ?? 0).toLocaleString('en'),
    megabytes(Math.max(...list.map((run) => run.peak))),
  ])
  const small = runs.get(SMALL) ?? []
  const large = runs.get(LARGE) ?? []
  const growth = large.map((run, i) => run.ms / (small[i]?.ms ?? Number.NaN) / (LARGE / SMALL))
  printTable(
    `Expiry of all snapshots but one, ${ROUNDS} rounds: time grows ${median(growth).toFixed(2)}× as fast as the number of snapshots`,
    ['snapshots', 'median', 'per snapshot', 'files deleted', 'peak memory'],
    rows,
  )
}
