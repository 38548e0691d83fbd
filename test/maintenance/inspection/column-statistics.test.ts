import { beforeAll, describe, expect, it } from 'vitest'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import type { PrimitiveType } from '../../../src/iceberg/schema/types.ts'
import { valueToBytes } from '../../../src/iceberg/values/values.ts'
import { readColumnStatistics } from '../../../src/maintenance/inspection/column-statistics.ts'
import { createSharedStatistics } from '../../../src/maintenance/inspection/shared-statistics.ts'
import { giveTurn } from '../../../src/lib/turns.ts'
import { schemaOf } from '../../iceberg/manifest/sample-table.ts'
import { sleep } from '../../support/waiting.ts'
import { MemoryTable } from '../memory-table.ts'

class WatchedIO extends MemoryFileIO {
  manifests = 0

  override async read(location: string): Promise<Uint8Array> {
    if (!/-m\d+\.avro$/.test(location)) return super.read(location)
    this.manifests += 1
    await sleep(5)
    return super.read(location)
  }
}

const never = new AbortController().signal
const FILES = 500
let made: MemoryTable
let io: WatchedIO
beforeAll(async () => {
  io = new WatchedIO()
  made = await MemoryTable.create({ io })
  await made.append(await made.files(FILES, { fileSizeInBytes: 10 }))
})

/** The table with this many columns, loaded anew. */
async function withColumns(count: number, type: PrimitiveType = { kind: 'long' }): Promise<Table> {
  const table = await made.load()
  io.manifests = 0
  const schema = { ...schemaOf(...Array.from({ length: count }, () => type)), schemaId: table.metadata.currentSchemaId }
  return { ...table, metadata: { ...table.metadata, schemas: [schema] } }
}

describe('column statistics', () => {
  it('refuse a table before a manifest is read when it has too many files and columns', async () => {
    const table = await withColumns(20_000_000 / FILES + 1)
    await expect(readColumnStatistics(table, never)).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    expect(io.manifests).toBe(0)
  })

  it('let other work run while they are added up', async () => {
    const table = await withColumns(1000)
    let turns = 0
    let isDone = false
    const other = (async () => {
      for (; !isDone; turns += 1) await giveTurn()
    })()
    const began = readColumnStatistics(table, never)
    while (io.manifests === 0) await sleep(1)
    await sleep(8)
    const before = turns
    await began
    isDone = true
    await other
    expect(turns - before).toBeGreaterThan(20)
  })

  it('end when the request is cancelled meanwhile', async () => {
    const stop = new AbortController()
    const reading = readColumnStatistics(await withColumns(1000), stop.signal)
    stop.abort()
    await expect(reading).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('have no bounds where a bound is not a number', async () => {
    const double: PrimitiveType = { kind: 'double' }
    const table = await MemoryTable.create()
    const bound = (value: number) => new Map([[1, valueToBytes(double, value)]])
    await table.append(await table.files(1, { lowerBounds: bound(Number.NaN), upperBounds: bound(7) }))
    const loaded = await table.load()
    const schema = { ...schemaOf(double), schemaId: loaded.metadata.currentSchemaId }
    const { columns } = await readColumnStatistics(
      { ...loaded, metadata: { ...loaded.metadata, schemas: [schema] } },
      never,
    )
    expect(columns[0]).toMatchObject({ lower: undefined, upper: undefined, filesWithBounds: 0 })
  })
})

describe('shared column statistics', () => {
  it('are read once when two calls ask for the same state of a table', async () => {
    const read = createSharedStatistics()
    const table = await withColumns(10)
    const [one, two] = await Promise.all([read(table, never), read(await withColumns(10), never)])
    expect(one).toBe(two)
    expect([one.dataFiles, io.manifests]).toEqual([FILES, 1])
    await read(table, never)
    expect(io.manifests).toBe(2)
  })

  it('are read for one table at a time', async () => {
    let running = 0
    let most = 0
    const read = createSharedStatistics(async (table, signal) => {
      most = Math.max(most, (running += 1))
      const found = await readColumnStatistics(table, signal)
      running -= 1
      return found
    })
    const table = await withColumns(10)
    const others = [1, 2, 3].map((at) => ({ ...table, metadataLocation: `${table.metadataLocation}-${at}` }))
    await Promise.all(others.map((other) => read(other, never)))
    expect(most).toBe(1)
  })

  it('are cancelled only when all calls are', async () => {
    const read = createSharedStatistics()
    const [first, second] = [new AbortController(), new AbortController()]
    const table = await withColumns(1000)
    const kept = [read(table, first.signal), read(table, second.signal)]
    first.abort()
    expect((await Promise.all(kept)).map(({ dataFiles }) => dataFiles)).toEqual([FILES, FILES])
    const third = new AbortController()
    const alone = read(table, third.signal)
    third.abort()
    await expect(alone).rejects.toBeDefined()
    expect((await read(table, never)).dataFiles).toBe(FILES)
  })
})
