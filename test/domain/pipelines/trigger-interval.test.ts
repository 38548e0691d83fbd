import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_TRIGGER_MS, MIN_TRIGGER_MS, parseTriggerInterval } from '../../../src/domain/pipelines/trigger-interval.ts'
import { runs } from '../../support/effort.ts'

describe('trigger intervals', () => {
  it.each([
    ['100 ms', 100],
    ['100ms', 100],
    ['5 s', 5000],
    ['5 sec', 5000],
    ['1 second', 1000],
    ['5 seconds', 5000],
    ['1 m', 60_000],
    ['2 min', 120_000],
    ['1 minute', 60_000],
    ['3 minutes', 180_000],
    ['1 h', 3_600_000],
    ['24 hours', MAX_TRIGGER_MS],
    ['1 hour', 3_600_000],
    ['0.5 s', 500],
    ['1.5 minutes', 90_000],
    ['  10 Seconds ', 10_000],
    ['86400 s', MAX_TRIGGER_MS],
    ['007 s', 7000],
  ])('%j is %d ms', (text, ms) => expect(parseTriggerInterval(text)).toBe(ms))

  it('is within its bounds, or nothing, whatever the text', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom('ms', 's', 'min', 'h', 'hours', ' ', '.', '-', 'e5', '__proto__', 'toString'),
      fc.integer().map(String),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 5 }), (pieces) => {
        const ms = parseTriggerInterval(pieces.join(''))
        expect(ms === undefined || (Number.isInteger(ms) && ms >= MIN_TRIGGER_MS && ms <= MAX_TRIGGER_MS)).toBe(true)
      }),
      { numRuns: runs(2000) },
    )
  })
})
