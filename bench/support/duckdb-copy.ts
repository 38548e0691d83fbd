// Child process of bench/compaction.ts: DuckDB's bare COPY of Parquet files into one.
// Arguments: list of input files (JSON file), output file, more options of COPY. Prints {"ms", "cpuMs", "peak"}.
import { readFileSync } from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'
import { processCpuSeconds } from './process-cpu.ts'
import { processMemory } from './process-memory.ts'

const [list = '', output = '', options = ''] = process.argv.slice(2)
const files = JSON.parse(readFileSync(list, 'utf8')) as string[]
const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
const inputs = files.map((file) => `'${file}'`).join(', ')
const cpuBefore = processCpuSeconds(process.pid)
const started = performance.now()
await connection.run(`COPY (SELECT * FROM read_parquet([${inputs}])) TO '${output}' (FORMAT parquet${options})`)
const ms = performance.now() - started
const cpuMs = (processCpuSeconds(process.pid) - cpuBefore) * 1000
process.stdout.write(JSON.stringify({ ms, cpuMs, peak: processMemory(process.pid).peak }))
