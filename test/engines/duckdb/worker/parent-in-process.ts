import { createDuckDbEngine } from '../../../../src/engines/duckdb/duckdb-engine.ts'
import { createDuckDbSandbox } from '../../../../src/engines/duckdb/worker/sandbox.ts'

// A service with an endless query, to be killed: `scratchDir` is its only argument.
const engine = await createDuckDbEngine({
  scratchDir: process.argv[2] ?? '',
  threads: 2,
  memoryLimitBytes: 256 * 2 ** 20,
})
const sandbox = createDuckDbSandbox()
await sandbox.check({ kind: 'query', text: 'SELECT 1', relations: [] }) // leaves a worker at rest
const running = engine.queryRows({
  inputs: [],
  query:
    "SELECT levenshtein(repeat(x, 10000), repeat(x, 9999)) AS n FROM (SELECT 'endless' || range AS x FROM range(10))",
  columns: [{ name: 'n', engineType: 'BIGINT', type: { kind: 'long' } }],
  bounds: { maxRows: 1, maxBytes: 100, maxTextLength: 10, seconds: 600, memoryBytes: 64 * 2 ** 20 },
})
running.catch(() => undefined)
process.stdout.write('running\n')
await running
