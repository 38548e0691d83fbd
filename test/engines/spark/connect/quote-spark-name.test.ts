import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { quoteSparkName } from '../../../../src/engines/spark/connect/plan/quote-spark-name.ts'
import { caught } from '../../../support/caught.ts'
import { hostileName } from './hostile-names.ts'
import { LONG } from '../../../support/effort.ts'

const NAMES = 10_000

/** The parts of a multipart identifier, read as Spark's grammar reads quoted ones: `IDENTIFIER` in backticks, two for one. */
function readBack(text: string): string[] {
  const parts: string[] = []
  let rest = text
  for (;;) {
    const found = /^`((?:[^`]|``)*)`/.exec(rest)
    if (!found) throw new Error(`not a quoted identifier: ${rest}`)
    parts.push((found[1] ?? '').replaceAll('``', '`'))
    rest = rest.slice(found[0].length)
    if (rest === '') return parts
    if (!rest.startsWith('.')) throw new Error(`escaped: ${rest}`)
    rest = rest.slice(1)
  }
}

describe('quoteSparkName', () => {
  it('is read back as the same parts, and as nothing more', LONG, () => {
    const parts = fc.array(hostileName(), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(parts, (name) => {
        expect(readBack(quoteSparkName(name))).toEqual(name)
      }),
      { numRuns: NAMES },
    )
  })

  it('refuses what cannot be a name', () => {
    for (const parts of [[], [''], ['a', ''], ['\uD800']]) {
      expect(caught(() => quoteSparkName(parts))).toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
  })
})
