import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { SLOW_FILES } from '../../../scripts/testing/slow-files.ts'

it('the test files that start first exist', () => {
  expect(SLOW_FILES.filter((path) => !existsSync(path))).toEqual([])
})
