import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PositionDeleteOutput } from '../../../src/engines/duckdb/deletes/write-position-deletes.ts'
import { writePositionDeletes } from '../../../src/engines/duckdb/deletes/write-position-deletes.ts'
import { ScratchFolder } from '../../../src/engines/duckdb/session/scratch.ts'
import { DuckDbSession } from '../../../src/engines/duckdb/session/session.ts'
import type { DuckDbRun } from '../../../src/engines/duckdb/session/session.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { footer, Lake, readAll } from './harness/lake.ts'

const PATH_ID = 2_147_483_546
const POS_ID = 2_147_483_545

const lake = new Lake()
let scratch: ScratchFolder
let session: DuckDbSession
let run: DuckDbRun

beforeAll(async () => {
  scratch = await ScratchFolder.create(lake.path('deletes'))
  session = new DuckDbSession({ scratch, memoryLimitBytes: 512 * 1024 ** 2, threads: 2 })
  run = await session.open('a test')
})
afterAll(async () => {
  await run.close()
  await session.close()
  await scratch.remove()
  await lake.close()
})

let outputs = 0

function outputTo(changes: Partial<PositionDeleteOutput> = {}): PositionDeleteOutput {
  const folder = lake.path(`written-${outputs++}`)
  return {
    io: lake.io,
    specId: 3,
    partition: [7],
    targetFileSizeBytes: 64 * 1024 ** 2,
    properties: {},
    newLocation: (index) => `${folder}/${index}.parquet`,
    ...changes,
  }
}

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes)

function long(bytes: Uint8Array | undefined): bigint | undefined {
  return bytes && new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigInt64(0, true)
}

/** Ids of the columns in a file's own schema. */
function fieldIds({ filePath }: DataFile): Record<string, number | undefined> {
  return Object.fromEntries(
    footer(filePath)
      .schema.slice(1)
      .map(({ name, field_id }) => [name, field_id]),
  )
}

describe('writePositionDeletes', () => {
  it('writes sorted, different rows with the reserved field ids', async () => {
    const rows = `
      SELECT * FROM (VALUES ('b', 3::BIGINT), ('a', 9), ('b', 3), ('a', 1), ('é', 0), ('a', 5000000000)) AS v(path, pos)`
    const { files, rowsWritten } = await writePositionDeletes(run, rows, outputTo())
    expect(rowsWritten).toBe(5)
    const [file] = files
    expect(files).toHaveLength(1)
    expect(file).toMatchObject({ content: 'position-deletes', specId: 3, partition: [7], recordCount: 5 })
    expect(file).not.toHaveProperty('sortOrderId')
    expect(file).not.toHaveProperty('referencedDataFile')
    expect(file && fieldIds(file)).toEqual({ file_path: PATH_ID, pos: POS_ID })
    expect(await readAll(files)).toEqual([
      { file_path: 'a', pos: 1n },
      { file_path: 'a', pos: 9n },
      { file_path: 'a', pos: 5_000_000_000n },
      { file_path: 'b', pos: 3n },
      { file_path: 'é', pos: 0n },
    ])
    expect([text(file?.lowerBounds?.get(PATH_ID)), text(file?.upperBounds?.get(PATH_ID))]).toEqual(['a', 'é'])
    expect([long(file?.lowerBounds?.get(POS_ID)), long(file?.upperBounds?.get(POS_ID))]).toEqual([0n, 5_000_000_000n])
    expect(await lake.io.stat(file?.filePath ?? '')).toMatchObject({ sizeBytes: file?.fileSizeInBytes })
  })

  it('names the data file and its whole path as bounds when all rows are about one file', async () => {
    const path = `s3://bucket/${'long/'.repeat(400)}it's.parquet`
    const rows = `SELECT '${path.replaceAll("'", "''")}' AS path, i * 2 AS pos FROM range(10) r(i)`
    const { files } = await writePositionDeletes(run, rows, outputTo())
    const [file] = files
    expect(file?.referencedDataFile).toBe(path)
    expect(text(file?.lowerBounds?.get(PATH_ID))).toBe(path)
    expect(text(file?.upperBounds?.get(PATH_ID))).toBe(path)
  })

  it('tells data files apart when their paths differ only after the length of truncated statistics', async () => {
    const same = 's3://bucket/' + 'x'.repeat(3000)
    const rows = `SELECT '${same}' || (i % 2) AS path, i AS pos FROM range(10) r(i)`
    const { files } = await writePositionDeletes(run, rows, outputTo())
    expect(files[0]).not.toHaveProperty('referencedDataFile')
    expect(text(files[0]?.lowerBounds?.get(PATH_ID))).toBe(`${same}0`)
    expect(text(files[0]?.upperBounds?.get(PATH_ID))).toBe(`${same}1`)
  })

  it('splits sorted files near the target size when there are many rows', async () => {
    const rows = `SELECT 'f' || (hash(i) % 50) AS path, (hash(i) // 50)::BIGINT % 100000000000 AS pos FROM range(400000) r(i)`
    const { files, rowsWritten } = await writePositionDeletes(run, rows, outputTo({ targetFileSizeBytes: 200_000 }))
    expect(files.length).toBeGreaterThan(2)
    expect(files.reduce((sum, { recordCount }) => sum + recordCount, 0)).toBe(rowsWritten)
    const [counted] = await lake.sql(`SELECT count(*) AS n FROM (SELECT DISTINCT path, pos FROM (${rows}))`)
    expect(rowsWritten).toBe(Number(counted?.['n']))
    let last = ['', -1n] as [string, bigint]
    for (const file of files) {
      for (const row of await readAll([file])) {
        const next = [String(row['file_path']), row['pos'] as bigint] as [string, bigint]
        if (next[0] < last[0] || (next[0] === last[0] && next[1] <= last[1])) expect([last, next]).toBe('sorted')
        last = next
      }
    }
  })

  it('takes the codec of deletes from the table properties', async () => {
    const codecs = async (properties: Record<string, string>): Promise<unknown> => {
      const { files } = await writePositionDeletes(
        run,
        `SELECT 'a' AS path, 1::BIGINT AS pos`,
        outputTo({ properties }),
      )
      return footer(files[0]?.filePath ?? '').row_groups[0]?.columns[0]?.meta_data?.codec
    }
    expect(await codecs({ 'write.parquet.compression-codec': 'gzip' })).toBe('GZIP')
    const both = { 'write.parquet.compression-codec': 'gzip', 'write.delete.parquet.compression-codec': 'snappy' }
    expect(await codecs(both)).toBe('SNAPPY')
  })

  it('writes no file when there are no rows, and leaves none when rows have nulls', async () => {
    const none = `SELECT 'a' AS path, 1::BIGINT AS pos WHERE false`
    expect(await writePositionDeletes(run, none, outputTo())).toEqual({ files: [], rowsWritten: 0 })
    const output = outputTo()
    const nulls = `SELECT * FROM (VALUES ('a', 1::BIGINT), (NULL, 2), ('c', NULL)) AS v(path, pos)`
    await expect(writePositionDeletes(run, nulls, output)).rejects.toMatchObject({ code: 'ENGINE_FAILED' })
    expect(readdirSync(lake.folder)).not.toContain(output.newLocation(0).split('/').at(-2))
  })
})
