import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isIcebergError } from '../../src/iceberg/errors.ts'
import type { FileScanTask } from '../../src/iceberg/scan/scan.ts'
import { copyTask } from '../engines/duckdb/row-groups/copy-task.ts'
import { field, Lake, schemaOf, task } from '../engines/duckdb/harness/lake.ts'
import { everyNth } from '../support/effort.ts'
import { canMount } from './harness/mounts.ts'

const MOUNTABLE = canMount('a copy of row groups on a full disk')
const STEP = 20_000
const TABLE = { schemas: [schemaOf([field(1, 'id', 'long'), field(2, 'name', 'string')])], formatVersion: 3 as const }

describe.skipIf(!MOUNTABLE)('a copy of row groups on a disk that becomes full', { timeout: 300_000 }, () => {
  const lake = new Lake()
  let inputs: readonly FileScanTask[] = []

  beforeAll(async () => {
    mkdirSync(lake.scratch)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', lake.scratch])
    inputs = await Promise.all(
      [0, 1, 2].map(async (file) => {
        const rowId = file === 1 ? ', CASE WHEN i % 2 = 0 THEN i END AS rid' : ''
        const select = `SELECT i AS id, md5(i::VARCHAR) AS name${rowId} FROM range(${file * 9000}, ${(file + 1) * 9000}) r(i)`
        const ids = `{id: 1, name: 2${rowId === '' ? '' : ', rid: 2147483540'}}, COMPRESSION zstd, ROW_GROUP_SIZE 4096`
        const { dataFile } = await lake.data(select, ids, { firstRowId: file * 100_000 })
        return task(dataFile)
      }),
    )
  })
  afterAll(async () => {
    await (await lake.engine()).close()
    execFileSync('umount', [lake.scratch])
    await lake.close()
  })

  it('fails with NO_SPACE, changes no input and leaves no file behind, wherever the space ends', async () => {
    const engine = await lake.engine()
    const before = inputs.map(({ dataFile }) => readFileSync(dataFile.filePath).toString('base64'))
    const bytes = inputs.reduce((sum, { dataFile }) => sum + dataFile.fileSizeInBytes, 0)
    const ballast = `${lake.scratch}/ballast`
    let failures = 0
    for (let left = 0, isFull = true; isFull; left += STEP * everyNth(3)) {
      expect(left).toBeLessThan(4 * bytes)
      const { bavail, bsize } = await statfs(lake.scratch)
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - left)))
      const copy = await engine.copyRowGroups(copyTask(lake, TABLE, inputs)).catch((error: unknown) => error)
      rmSync(ballast)
      isFull = copy instanceof Error
      if (!isFull) {
        expect(copy).toMatchObject({ kind: 'copied', result: { rowsWritten: 27_000 } })
        break
      }
      failures += 1
      expect(isIcebergError(copy, 'NO_SPACE'), `${left} bytes left: ${String(copy)}`).toBe(true)
      expect(readdirSync(lake.scratch, { recursive: true }).filter((name) => String(name).includes('parquet'))).toEqual(
        [],
      )
      expect(lake.leftovers()).toEqual([])
    }
    expect(failures).toBeGreaterThan(5)
    expect(inputs.map(({ dataFile }) => readFileSync(dataFile.filePath).toString('base64'))).toEqual(before)
  })
})
