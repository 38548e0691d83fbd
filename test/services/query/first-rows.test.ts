import { describe, expect, it } from 'vitest'
import { readFirstRows } from '../../../src/services/query/first-rows.ts'
import { completePlan, MAX_FILES } from '../../../src/services/query/plan-files.ts'
import { dataFile } from '../../iceberg/manifest/sample-table.ts'
import { sleep } from '../../support/waiting.ts'

const files = (counts: readonly number[]) =>
  counts.map((recordCount, at) => ({
    dataFile: dataFile({ filePath: `/t/data/${at}.parquet`, recordCount }),
    sequenceNumber: 1,
    fileSequenceNumber: 1,
    deletes: [],
  }))
const none = { columns: [], rows: [], truncated: false, hasMore: false }

describe('rows in any order', () => {
  it('never read the same files twice when large files have no live rows', async () => {
    const read: number[] = []
    const all = files([1_000_000, ...Array.from({ length: 9 }, () => 10)])
    const { files: opened } = await readFirstRows(completePlan(all), {
      label: 'ns.t',
      limit: 100,
      seconds: 60,
      run: async (chosen) => {
        read.push(chosen.length)
        return none
      },
    })
    expect(read).toEqual([1, 10])
    expect(opened).toHaveLength(10)
  })

  it('go on to the next files when a value was shortened', async () => {
    const { found } = await readFirstRows(completePlan(files([200, 200])), {
      label: 'ns.t',
      limit: 100,
      seconds: 60,
      run: async (chosen) => ({ ...none, rows: chosen.map(() => ['a…']), truncated: true }),
    })
    expect(found.rows).toHaveLength(2)
  })

  it('stop after the time of all runs together', async () => {
    const given: number[] = []
    const reading = readFirstRows(completePlan(files(Array.from({ length: 20 }, (_, at) => 101 * 5 ** at))), {
      label: 'ns.t',
      limit: 100,
      seconds: 0.2,
      run: async (_, seconds) => {
        given.push(seconds)
        await sleep(120)
        return none
      },
    })
    await expect(reading).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    expect(given).toHaveLength(2)
    expect(given[1]).toBeLessThan(0.1)
  })

  it('refuse more files than a query may read', async () => {
    const reading = readFirstRows(completePlan(files(Array.from({ length: MAX_FILES + 1 }, () => 0))), {
      label: 'ns.t',
      limit: 100,
      seconds: 60,
      run: async () => none,
    })
    await expect(reading).rejects.toMatchObject({ code: 'UNPROCESSABLE' })
  })
})
