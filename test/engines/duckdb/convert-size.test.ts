import { afterAll, describe, expect, it } from 'vitest'
import { createDuckDbEngine } from '../../../src/engines/duckdb/duckdb-engine.ts'
import { LONG } from '../../support/effort.ts'
import { sleep } from '../../support/waiting.ts'
import { field, Lake, schemaOf, tableMetadata } from './harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

const MEMORY = 128 * 1024 ** 2
const FILES = 6
const ROWS = 200_000

describe('a conversion of equality deletes', () => {
  it('keeps to the memory limit with more keys than fit into memory', { ...LONG, timeout: 600_000 }, async () => {
    const schema = schemaOf([field(1, 'id', 'string'), field(2, 'v', 'long')])
    const key = `md5(i::VARCHAR) || md5((i + 1)::VARCHAR)`
    // 2 million keys of 64 characters have the size of the limit
    const deletes = [
      await lake.equalityDeletes(`SELECT ${key} AS id FROM range(0, 4000000, 2) r(i)`, '{id: 1}', [1], 2),
      await lake.equalityDeletes('SELECT i AS v FROM range(0, 4000000, 3) r(i)', '{v: 2}', [2], 3),
    ]
    const inputs = []
    for (let file = 0; file < FILES; file += 1) {
      const from = file * ROWS
      const input = await lake.data(
        `SELECT ${key} AS id, i AS v FROM range(${from}, ${from + ROWS}) r(i)`,
        '{id: 1, v: 2}',
      )
      inputs.push({ ...input, deletes })
    }
    const engine = await createDuckDbEngine({
      scratchDir: lake.path('small-scratch'),
      threads: 2,
      memoryLimitBytes: MEMORY,
    })
    let isDone = false
    let peak = 0
    const watching = (async () => {
      while (!isDone) {
        peak = Math.max(peak, (await engine.load?.())?.memoryBytes ?? 0)
        await sleep(50)
      }
    })()
    try {
      const {
        rowsDeleted,
        rowsLeft,
        deletes: added,
      } = await engine.convertEqualityDeletes({
        io: lake.io,
        metadata: tableMetadata({ schemas: [schema], formatVersion: 3 }),
        inputs,
        output: {
          kind: 'vectors',
          targetFileSizeBytes: 2 ** 26,
          properties: {},
          newLocation: (_, index) => lake.path(`vectors-${index}.puffin`),
        },
      })
      // a third of the rows is neither a multiple of two nor of three
      expect([rowsDeleted, rowsLeft]).toEqual([(FILES * ROWS * 2) / 3, (FILES * ROWS) / 3])
      expect(added).toHaveLength(FILES)
    } finally {
      isDone = true
      await watching
      await engine.close()
    }
    expect(peak).toBeGreaterThan(MEMORY / 4)
    expect(peak).toBeLessThanOrEqual(MEMORY * 1.1)
  })

  it('reads thousands of delete files', { ...LONG, timeout: 600_000 }, async () => {
    const schema = schemaOf([field(1, 'id', 'long')])
    const deletes = []
    for (let at = 0; at < 1500; at += 1) {
      deletes.push(await lake.equalityDeletes(`SELECT ${at * 3}::BIGINT AS id`, '{id: 1}', [1], 2 + at))
    }
    const inputs = []
    for (const from of [0, 2000, 4000]) {
      const input = await lake.data(`SELECT ${from} + i AS id FROM range(2000) r(i)`, '{id: 1}')
      inputs.push({ ...input, deletes })
    }
    const engine = await lake.engine()
    const { rowsDeleted, deletes: added } = await engine.convertEqualityDeletes({
      io: lake.io,
      metadata: tableMetadata({ schemas: [schema], formatVersion: 2 }),
      inputs,
      output: {
        kind: 'by-partition',
        targetFileSizeBytes: 2 ** 26,
        properties: {},
        newLocation: (_, index) => lake.path(`many-${index}.parquet`),
      },
    })
    expect(rowsDeleted).toBe(1500)
    expect(added).toMatchObject([{ file: { recordCount: 1500 }, sequenceNumber: 1501 }])
  })
})
