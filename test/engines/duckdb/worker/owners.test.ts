import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDuckDbEngine } from '../../../../src/engines/duckdb/duckdb-engine.ts'
import { createDuckDbSandbox } from '../../../../src/engines/duckdb/worker/sandbox.ts'
import { scriptWorker } from '../../../../src/engines/duckdb/worker/worker-command.ts'
import type { AppendFromTask, Engine, QueryInput, QueryTask } from '../../../../src/engines/engine.ts'
import type { SqlSandbox } from '../../../../src/engines/sql-sandbox.ts'
import { isIcebergError } from '../../../../src/iceberg/errors.ts'
import { CAN_WATCH_WORKERS, isAlive, workersOf } from '../../../support/query-workers.ts'
import { until } from '../../../support/waiting.ts'
import { field, Lake, readAll, schemaOf, tableMetadata } from '../harness/lake.ts'

const MARKER = `owners-test-${process.pid}-${Date.now()}`
const SECRET = "it's $lockhouse_secret_1 2026-01-02"
const FIELDS = [field(1, 'id', 'long'), field(2, 'name', 'string')]
const schema = schemaOf(FIELDS)

const lake = new Lake()
let engine: Engine
let sandbox: SqlSandbox
let input: QueryInput
beforeAll(async () => {
  const command = scriptWorker()
  const workerCommand = { ...command, args: [...command.args, MARKER] }
  engine = await createDuckDbEngine({ scratchDir: lake.path('owners'), threads: 2, workerCommand })
  sandbox = createDuckDbSandbox({ command: { ...command, args: [...command.args, `${MARKER}-planning`] } })
  const file = await lake.data("SELECT i AS id, 'n' || i AS name FROM range(5) r(i)", '{id: 1, name: 2}')
  const metadata = tableMetadata({ schemas: [schema] })
  input = { name: 'input', io: lake.io, metadata, fields: FIELDS, columnsBy: 'name', inputs: [file] }
})
afterAll(async () => {
  await Promise.all([engine.close(), sandbox.close()])
  await lake.close()
})

const task: QueryTask = {
  inputs: [],
  query: 'SELECT 1::BIGINT AS n',
  columns: [{ name: 'n', engineType: 'BIGINT', type: { kind: 'long' } }],
  bounds: { maxRows: 10, maxBytes: 1000, maxTextLength: 100, seconds: 60, memoryBytes: 128 * 2 ** 20 },
}
const batch = (query: string, given: Partial<AppendFromTask> = {}): AppendFromTask => ({
  inputs: [input],
  query,
  isRepeatable: false,
  isUntrusted: true,
  io: lake.io,
  output: lake.output(schema),
  ...given,
})
const pids = (marker = MARKER): readonly number[] =>
  workersOf(process.pid, marker)
    .map(({ pid }) => pid)
    .filter(isAlive)

describe.runIf(CAN_WATCH_WORKERS)('a process of user SQL', () => {
  it('serves the owner of its first query only', async () => {
    const seen = new Map<number, Set<string>>()
    for (const owner of ['ann', 'bob', 'ann', 'cem', 'bob', 'dan', 'ann', 'bob']) {
      const before = pids()
      if (owner === 'cem') await engine.appendFrom(batch('SELECT id AS c1, name AS c2 FROM input'), { owner })
      else await engine.queryRows(task, { owner })
      // who is new, or was given to its owner again
      for (const pid of pids()) if (!before.includes(pid)) seen.set(pid, new Set([owner]))
    }
    expect([...seen.values()].every((owners) => owners.size === 1)).toBe(true)
    const firsts = [...seen.values()].flatMap((owners) => [...owners])
    expect(new Set(firsts)).toEqual(new Set(['ann', 'bob', 'cem', 'dan']))
    expect(pids().length).toBeLessThanOrEqual(4)
  })

  it('serves its owner again', async () => {
    await engine.queryRows(task, { owner: 'again' })
    const before = pids()
    for (let n = 0; n < 3; n += 1) await engine.queryRows(task, { owner: 'again' })
    expect(pids()).toEqual(before)
  })

  it('that plans serves one owner too', async () => {
    const marker = `${MARKER}-planning`
    const sql = { kind: 'query', text: 'SELECT 1', relations: [] } as const
    await sandbox.forOwner('ann').check(sql)
    const first = pids(marker)
    await sandbox.forOwner('bob').check(sql)
    const both = pids(marker)
    expect(both.filter((pid) => !first.includes(pid))).toHaveLength(1)
    await sandbox.forOwner('ann').check(sql)
    expect(pids(marker)).toEqual(both)
  })

  it('ends after a batch with secrets, and after one that fails', async () => {
    for (const column of ['name', 'CAST($lockhouse_secret_0 AS INTEGER)::VARCHAR']) {
      await engine.queryRows(task, { owner: 'secretive' })
      const before = pids()
      const secret = batch(`SELECT id AS c1, ${column} AS c2 FROM input WHERE name <> $lockhouse_secret_0`, {
        secrets: { lockhouse_secret_0: SECRET },
      })
      await engine.appendFrom(secret, { owner: 'secretive' }).catch(() => undefined)
      await until(() => before.some((pid) => !isAlive(pid)), 'the end of the process')
      const used = before.filter((pid) => !isAlive(pid))
      await engine.queryRows(task, { owner: 'secretive' })
      expect(pids().some((pid) => used.includes(pid))).toBe(false)
    }
  })
})

describe('the secrets of a batch', () => {
  it('have the type and the value of a literal, wherever they stand', async () => {
    const secrets = { lockhouse_secret_0: SECRET, lockhouse_secret_1: '3', lockhouse_secret_2: '2026-01-02' }
    const [text, number, day] = Object.keys(secrets).map((name) => `($${name})`)
    const query =
      `SELECT id + ${number} AS c1, concat_ws('|', ${text}, typeof(${text}), typeof(coalesce(DATE '2020-01-01', ${day})), ` +
      `DATE '2026-01-02' = ${day}, [${text}, name][1] = ${text}, name LIKE 'n' || ${number}) AS c2 ` +
      `FROM input WHERE id = ${number} AND name <> ${text}`
    const { files } = await engine.appendFrom(batch(query, { secrets }))
    const literal = (name: string): string => `('${name.replaceAll("'", "''")}')`
    const plain = Object.entries(secrets).reduce(
      (sql, [name, value]) => sql.replaceAll(`($${name})`, () => literal(value)),
      query,
    )
    const rows = await readAll(files)
    expect(rows).toEqual([{ id: 6n, name: `${SECRET}|VARCHAR|DATE|true|true|true` }])
    expect(await readAll((await engine.appendFrom(batch(plain))).files)).toEqual(rows)
  })

  it('reach partitions, whose rows are kept before they are written', async () => {
    const partitionSpec = {
      specId: 1,
      fields: [{ fieldId: 1000, sourceId: 2, name: 'p', transform: { kind: 'identity' } }],
    } as const
    const secrets = { lockhouse_secret_0: 'one' }
    const query = 'SELECT id AS c1, CASE WHEN id < 3 THEN ($lockhouse_secret_0) ELSE name END AS c2 FROM input'
    const result = await engine.appendFrom(batch(query, { secrets, output: lake.output(schema, { partitionSpec }) }))
    expect((await readAll(result.files)).filter(({ name }) => name === 'one')).toHaveLength(3)
  })

  it.each([
    'CAST($lockhouse_secret_0 AS INTEGER)::VARCHAR',
    'CAST(hex($lockhouse_secret_0) || name AS INTEGER)::VARCHAR',
    'CAST(reverse($lockhouse_secret_0) AS DATE)::VARCHAR',
    "error(array_to_string(split($lockhouse_secret_0, ''), '.'))",
    "strptime(md5($lockhouse_secret_0), '%Y')::VARCHAR",
    'CAST(1000 + ascii(substring($lockhouse_secret_0, 1, 1)) AS TINYINT)::VARCHAR',
    'list_extract([1], name)::VARCHAR',
  ])('are in no message of a failure, in whatever form: %s', async (column) => {
    const secrets = { lockhouse_secret_0: SECRET }
    const failing = batch(`SELECT id AS c1, ${column} AS c2 FROM input WHERE $lockhouse_secret_0 <> name`, { secrets })
    const error: unknown = await engine.appendFrom(failing).catch((thrown: unknown) => thrown)
    expect(isIcebergError(error)).toBe(true)
    expect(error).toMatchObject({ message: expect.stringContaining('the reason is not shown') })
    expect((error as Error).cause).toBeUndefined()
  })

  it('are refused under a name that nobody bound', async () => {
    const secrets = { lockhouse_secret_0: SECRET }
    const query = 'SELECT id AS c1, $lockhouse_secret_0 || $other AS c2 FROM input'
    await expect(engine.appendFrom(batch(query, { secrets }))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})
