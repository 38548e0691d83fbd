import { describe, expect, it } from 'vitest'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import { compareScans } from '../../../src/maintenance/spark/compare-scans.ts'

type Delete = FileScanTask['deletes'][number]

function file(filePath: string, recordCount: number, changes: Partial<DataFile> = {}): DataFile {
  const common = { content: 'data', fileFormat: 'parquet', partition: [], specId: 0, fileSizeInBytes: 100 } as const
  return { ...common, filePath, recordCount, ...changes }
}

function task(path: string, rows: number, { seq = 1, deletes = [] as readonly Delete[] } = {}): FileScanTask {
  return { dataFile: file(path, rows), sequenceNumber: seq, fileSequenceNumber: seq, deletes }
}

const vector = (of: string, rows: number, seq = 2): Delete => ({
  file: file(`dv-${of}`, rows, { content: 'position-deletes', fileFormat: 'puffin', contentOffset: 4 }),
  sequenceNumber: seq,
})
const positions = (name: string, rows: number, seq = 2): Delete => ({
  file: file(name, rows, { content: 'position-deletes' }),
  sequenceNumber: seq,
})
const equality = (name: string, seq: number): Delete => ({
  file: file(name, 1, { content: 'equality-deletes' }),
  sequenceNumber: seq,
})

const KEPT = task('kept', 7)

describe('comparing the scans of a snapshot and its parent', () => {
  const violation = (before: FileScanTask[], after: FileScanTask[]) => compareScans(before, after).violation

  it('accepts files that are merged with all their rows', () => {
    const found = compareScans([KEPT, task('a', 10), task('b', 5)], [KEPT, task('new', 15)])
    expect(found).toMatchObject({ violation: undefined, rowsRead: 15, rowsWritten: 15, uncounted: [] })
    expect(found.removed.map(({ dataFile }) => dataFile.filePath)).toEqual(['a', 'b'])
  })

  it('finds rows that are missing or too many', () => {
    expect(violation([task('a', 10)], [task('new', 9)])).toBe('1 rows are missing, but the delete files name only 0')
    expect(violation([task('a', 10)], [task('new', 11)])).toMatch('1 rows more than')
    expect(violation([task('a', 10)], [])).toMatch('10 rows are missing')
  })

  it('counts deletion vectors exactly', () => {
    const before = [task('a', 10, { deletes: [vector('a', 3)] })]
    expect(violation(before, [task('new', 7, { seq: 2 })])).toBeUndefined()
    expect(violation(before, [task('new', 8, { seq: 2 })])).toBe('2 rows are missing, but the delete files name 3')
    expect(violation(before, [task('new', 6, { seq: 2 })])).toMatch('4 rows are missing')
  })

  it('leaves position delete files and equality deletes to a count, within their range', () => {
    const before = [task('a', 10, { deletes: [positions('p', 4)] })]
    const found = compareScans(before, [task('new', 8, { seq: 2 })])
    expect(found).toMatchObject({ violation: undefined, uncounted: [{ dataFile: { filePath: 'a' } }] })
    expect(violation(before, [task('new', 5, { seq: 2 })])).toMatch('5 rows are missing')
    const byValue = [task('a', 10, { deletes: [equality('e', 2)] })]
    expect(compareScans(byValue, []).uncounted).toHaveLength(1)
  })

  it('leaves equality deletes that came later to the new files', () => {
    const late = equality('late', 5)
    const before = [task('a', 10, { deletes: [late] })]
    const found = compareScans(before, [task('new', 10, { seq: 3, deletes: [late] })])
    expect(found).toMatchObject({ violation: undefined, uncounted: [], removed: [{ deletes: [] }] })
    expect(violation(before, [task('new', 9, { seq: 3, deletes: [late] })])).toMatch('1 rows are missing')
  })

  it('finds deletes that apply twice, and deletes that other files lost', () => {
    const dv = vector('a', 3)
    expect(violation([task('a', 10, { deletes: [dv] })], [task('new', 7, { deletes: [dv] })])).toMatch('again')
    const kept = task('kept', 7, { deletes: [positions('p', 1)] })
    expect(violation([kept, task('a', 1)], [KEPT, task('new', 1)])).toMatch('other deletes than before')
    expect(violation([kept], [kept])).toBeUndefined()
  })

  it('finds a file that is listed twice', () => {
    expect(violation([KEPT], [KEPT, KEPT])).toBe('a data file is listed twice')
  })
})
