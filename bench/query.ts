// The cost of running user SQL in a child process: the same small query over a table of 10,000 rows in this process, in a
// warm child process, and in a new one; and by how much a process exceeds its memory limit before it is killed.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDuckDbEngine } from '../src/engines/duckdb/duckdb-engine.ts'
import { createDuckDbSandbox } from '../src/engines/duckdb/worker/sandbox.ts'
import { openRunAlone } from '../src/engines/duckdb/session/session.ts'
import { createLocalSandbox } from '../src/engines/duckdb/sandbox/local-sandbox.ts'
import { queryRows } from '../src/engines/duckdb/sandbox/query-rows.ts'
import type { QueryTask } from '../src/engines/engine.ts'
import { field, Lake, schemaOf, tableMetadata } from '../test/engines/duckdb/harness/lake.ts'
import { WorkerWatch } from '../test/support/query-workers.ts'
import { megabytes, note, printTable, ratio, seconds } from './support/report.ts'

const RUNS = Number(process.env['BENCH_RUNS'] ?? 50)
const MIB = 2 ** 20
const MEMORY = 256 * MIB

const lake = new Lake()
const schema = schemaOf([field(1, 'id', 'long'), field(2, 'name', 'string')])
const file = await lake.data("SELECT i AS id, 'n' || i AS name FROM range(10000) r(i)", '{id: 1, name: 2}')
const input = { name: 'input', io: lake.io, metadata: tableMetadata({ schemas: [schema] }), fields: schema.fields }
const question = (query: string): QueryTask => ({
  inputs: [{ ...input, columnsBy: 'name', inputs: [file] }],
  query,
  columns: [{ name: 'n', engineType: 'BIGINT', type: { kind: 'long' } }],
  bounds: { maxRows: 100, maxBytes: 12_000, maxTextLength: 1000, seconds: 20, memoryBytes: MEMORY },
})
const task = question("SELECT count(*) AS n FROM input WHERE name LIKE '%7'")
const openEngine = () => createDuckDbEngine({ scratchDir: lake.scratch, threads: 2, memoryLimitBytes: 1024 * MIB })

async function here(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-query-'))
  const bounds = { memoryLimitBytes: MEMORY, threads: 1, spillBytes: MIB }
  const run = await openRunAlone({ folder, doing: 'the query', bounds })
  await queryRows(run, task)
  await run.close()
  await rm(folder, { recursive: true })
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const before = performance.now()
  await work()
  return performance.now() - before
}

/** Measures the variants in turn, so that a busy moment of the machine affects all of them. */
async function inTurn(runs: number, ways: readonly (() => Promise<unknown>)[]): Promise<number[][]> {
  const times: number[][] = ways.map(() => [])
  for (let run = 0; run < runs; run += 1) for (const [at, way] of ways.entries()) times[at]?.push(await timed(way))
  return times
}

const engine = await openEngine()
const cold = async (): Promise<void> => {
  const fresh = await openEngine()
  await fresh.queryRows(task)
  await fresh.close()
}
await Promise.all([here(), engine.queryRows(task)])
note('queries')
const [local = [], warm = []] = await inTurn(RUNS, [here, () => engine.queryRows(task)])
const [again = [], first = []] = await inTurn(Math.ceil(RUNS / 5), [here, cold])

note('planning')
const planner = createLocalSandbox()
const sandbox = createDuckDbSandbox()
const sql = { kind: 'query', text: task.query, relations: ['input'] } as const
await Promise.all([planner.check(sql), sandbox.check(sql)])
const [checkHere = [], checkWarm = []] = await inTurn(RUNS, [() => planner.check(sql), () => sandbox.check(sql)])

note('limits')
const BOMB = question('SELECT max(length(repeat(repeat(name, 10000), 1000))) AS n FROM input')
let most = 0
const answers: number[] = []
for (let run = 0; run < Math.ceil(RUNS / 10); run += 1) {
  const watch = new WorkerWatch(process.pid, 2)
  answers.push(await timed(() => engine.queryRows(BOMB).catch((error: unknown) => note(String(error)))))
  watch.stop()
  most = Math.max(most, watch.largest)
}
await Promise.all([engine.close(), sandbox.close()])
await lake.close()

printTable(
  `A small query of a user, ${RUNS} runs`,
  ['', 'median', 'time against the same in this process (range)'],
  [
    ['query, in this process', seconds(local), '1'],
    ['query, in a warm process', seconds(warm), ratio(local, warm)],
    ['query, in a new process', seconds(first), ratio(again, first)],
    ['check of its syntax, in this process', seconds(checkHere), '1'],
    ['check of its syntax, in a warm process', seconds(checkWarm), ratio(checkHere, checkWarm)],
  ],
)
printTable(
  `A query that takes all memory, limit ${megabytes(MEMORY)}, killed at ${megabytes(MEMORY + 192 * MIB)}`,
  ['', ''],
  [
    ['largest process observed', megabytes(most)],
    ['time until its error', seconds(answers)],
  ],
)
