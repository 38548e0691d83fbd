import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  AGGREGATE_FUNCTIONS,
  SCALAR_FUNCTIONS,
  TABLE_FUNCTIONS,
} from '../../../src/engines/duckdb/sandbox/allowed-functions.ts'

const document = readFileSync(join(import.meta.dirname, '../../../docs/security.md'), 'utf8')
const items = document.split(/\n(?=[-#])/).map((item) => item.trim().replaceAll(/\s+/g, ' '))

describe('docs/security.md', () => {
  it.each([...SCALAR_FUNCTIONS, ...AGGREGATE_FUNCTIONS, TABLE_FUNCTIONS])(
    'lists the functions that user SQL may call: $title',
    ({ title, why, names }) => {
      const item = items.find((one) => one.startsWith(`- **${title}** `)) ?? ''
      expect(item.replace(/ A name of an aggregate in a text.*$/, '')).toBe(
        `- **${title}** ${why}: \`${[...names].join(' ')}\``,
      )
    },
  )
})
