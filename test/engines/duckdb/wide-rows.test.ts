import { afterAll, expect, it } from 'vitest'
import { createDuckDbEngine } from '../../../src/engines/duckdb/duckdb-engine.ts'
import { field, footer, Lake, schemaOf } from './harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

it('a rewrite of wide files writes smaller row groups when usual ones exceed its memory', async () => {
  const fields = Array.from({ length: 600 }, (_, at) => field(at + 1, `c${at}`, 'double'))
  const columns = fields.map(({ name }) => `random() AS ${name}`).join(', ')
  const ids = fields.map(({ id, name }) => `${name}: ${id}`).join(', ')
  const inputs = []
  for (let file = 0; file < 6; file += 1) inputs.push(await lake.data(`SELECT ${columns} FROM range(4000)`, `{${ids}}`))
  const engine = await createDuckDbEngine({
    scratchDir: lake.path('wide'),
    memoryLimitBytes: 160 * 2 ** 20,
    threads: 2,
  })
  try {
    const task = lake.task({ schemas: [schemaOf(fields)] }, inputs, { verifyValues: true })
    const { files, rowsWritten, values } = await engine.rewrite(task)
    expect([rowsWritten, values?.isEqual]).toEqual([24_000, true])
    const groups = files.flatMap(({ filePath }) =>
      footer(filePath).row_groups.map(({ num_rows: rows }) => Number(rows)),
    )
    expect(Math.max(...groups)).toBeLessThanOrEqual(4096)
  } finally {
    await engine.close()
  }
})
