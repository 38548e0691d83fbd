import { existsSync } from 'node:fs'
import { createDuckDbSandbox } from '../../../../src/engines/duckdb/worker/sandbox.ts'

// Describes one query of a user in a process of its own, and prints its columns and whether there is a /proc.
const sandbox = createDuckDbSandbox()
const columns = await sandbox.describe([], 'SELECT 42 AS answer')
await sandbox.close()
process.stdout.write(JSON.stringify({ hasProc: existsSync('/proc/self'), columns: columns.map(({ name }) => name) }))
