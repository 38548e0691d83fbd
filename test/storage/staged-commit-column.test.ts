import { expect, it } from 'vitest'
import { stagedCommitFromColumn, stagedCommitToColumn } from '../../src/storage/staged-commit-column.ts'

it.each([
  [
    '/w/db/events/metadata/00002-a.metadata.json',
    { kind: 'file', location: '/w/db/events/metadata/00002-a.metadata.json' },
  ],
  ['served-commit:', { kind: 'served', main: undefined }],
  ['served-commit:main=none', { kind: 'served', main: null }],
  ['served-commit:main=6816997371555012807', { kind: 'served', main: 6816997371555012807n }],
] as const)('reads and writes %s as earlier versions did', (text, staged) => {
  expect(stagedCommitFromColumn(text)).toStrictEqual(staged)
  expect(stagedCommitToColumn(staged)).toBe(text)
})

it('reads a damaged REST commit as one without requirements, and never as a file that may be deleted', () => {
  expect(stagedCommitFromColumn('served-commit:main=x')).toStrictEqual({ kind: 'served', main: undefined })
})

it('keeps the absence of a commit', () => {
  expect(stagedCommitFromColumn(null)).toBeUndefined()
  expect(stagedCommitToColumn(undefined)).toBeUndefined()
})
