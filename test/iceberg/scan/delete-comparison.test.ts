import { expect, it } from 'vitest'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { DeleteComparison } from '../../../src/iceberg/scan/delete-comparison.ts'
import type { DeleteFileRef } from '../../../src/iceberg/scan/delete-index.ts'

function refs(names: string, content: DataFile['content'] = 'position-deletes'): readonly DeleteFileRef[] {
  return Array.from(names, (name) => ({
    sequenceNumber: 1,
    file: {
      content,
      filePath: `/t/${name}.parquet`,
      fileFormat: 'parquet',
      specId: 0,
      partition: [],
      recordCount: 1,
      fileSizeInBytes: 1,
    },
  }))
}

function names(list: readonly DeleteFileRef[]): string {
  return list.map(({ file }) => file.filePath.charAt(3)).join('')
}

it.each([
  ['', '', '', ''],
  ['ab', 'ab', '', ''],
  ['ab', 'ba', '', ''],
  ['a', 'aa', '', ''],
  ['aab', 'ab', '', ''],
  ['ab', 'abc', 'c', ''],
  ['ab', 'cab', 'c', ''],
  ['abc', 'b', '', 'ac'],
  ['ab', 'bc', 'c', 'a'],
  ['', 'ab', 'ab', ''],
])('a comparison of deletes %j with %j finds %j added and %j removed', (before, now, added, removed) => {
  const comparison = new DeleteComparison('position-deletes')
  const lists = [refs(before), refs(now)] as const
  for (let time = 1; time <= 2; time += 1) {
    const change = comparison.compare(...lists)
    expect([names(change.added), names(change.removed)]).toEqual([added, removed])
  }
})

it('a comparison of deletes ignores files of the other content', () => {
  const before = [...refs('xy', 'equality-deletes'), ...refs('a')]
  const now = [...refs('x', 'equality-deletes'), ...refs('ab')]
  const positions = new DeleteComparison('position-deletes').compare(before, now)
  const equality = new DeleteComparison('equality-deletes').compare(before, now)
  expect([names(positions.added), names(positions.removed)]).toEqual(['b', ''])
  expect([names(equality.added), names(equality.removed)]).toEqual(['', 'y'])
})

it('a comparison of deletes distinguishes lists that are compared in turn', () => {
  const comparison = new DeleteComparison('position-deletes')
  const before = refs('a')
  for (const now of ['ab', 'a', 'abc', 'ab']) {
    expect(names(comparison.compare(before, refs(now)).added)).toBe(now.slice(1))
  }
})

it('a comparison of deletes distinguishes vectors of one file by their offsets', () => {
  const [ref] = refs('a')
  if (ref === undefined) throw new Error('no delete file')
  const at = (contentOffset: number): readonly DeleteFileRef[] => [{ ...ref, file: { ...ref.file, contentOffset } }]
  const change = new DeleteComparison('position-deletes').compare(at(4), at(50))
  expect([change.added.length, change.removed.length]).toEqual([1, 1])
})
