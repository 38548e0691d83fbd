import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { alertRequest } from '../../src/schemas/alerts.ts'
import { check, fieldErrors, firstSentence } from '../../src/schemas/issues.ts'
import { startPipelineRequest } from '../../src/schemas/pipelines.ts'
import { policyRequest } from '../../src/schemas/policies.ts'
import { compactRequest, expireRequest } from '../../src/schemas/tables/maintenance.ts'

const TEXT = z.strictObject({ text: z.string().min(3).max(5) })

function sentence(schema: z.ZodType, value: unknown): string {
  const result = check(schema, value)
  return firstSentence(fieldErrors(result.error?.issues ?? []), 'the body')
}

describe('a sentence about a refused value', () => {
  it.each<[string, z.ZodType, unknown, string]>([
    ['a missing field', compactRequest, {}, 'table is required'],
    ['a value that is no object', compactRequest, [], 'the body must be an object, not a list'],
    ['a value that is null', compactRequest, null, 'the body must be an object, not null'],
    ['a value of another type', compactRequest, { table: 7 }, 'table must be text, not a number'],
    ['an unknown field', compactRequest, { table: 'a.b', tabel: 1 }, 'tabel is not a known field'],
    ['a number below its limit', expireRequest, { table: 'a.b', retain_last: 0 }, 'retain_last must be 1 or more'],
    ['a number with decimals', expireRequest, { table: 'a.b', retain_last: 1.5 }, 'retain_last must be a whole number'],
    [
      'a value that is not in its list',
      compactRequest,
      { table: 'a.b', strategy: 'random' },
      'strategy must be one of binpack, sort, zorder, hilbert',
    ],
    ['text that is too short', TEXT, { text: 'ab' }, 'text must have 3 characters or more'],
    ['text that is too long', TEXT, { text: 'abcdef' }, 'text must have 5 characters or fewer'],
    ['empty text', z.strictObject({ name: z.string().min(1) }), { name: '' }, 'name must not be empty'],
    ['an empty list', z.strictObject({ all: z.array(z.string()).min(1) }), { all: [] }, 'all must not be empty'],
    [
      'a time',
      z.strictObject({ at: z.iso.datetime() }),
      { at: 'noon' },
      'at must be a time such as 2026-11-20T10:00:00.000Z',
    ],
    [
      'a union',
      z.strictObject({ value: z.union([z.string(), z.boolean()]) }),
      { value: 1 },
      'value must be text or true or false',
    ],
    [
      'an unknown member of a union',
      alertRequest,
      { name: 'a', events: ['*'], channel: { type: 'pager' } },
      'channel.type must be one of webhook, slack, teams, pagerduty, email',
    ],
    ['a key of a record', z.record(z.string().max(2), z.string()), { abc: '' }, 'abc must have 2 characters or fewer'],
    [
      "a schema's own predicate",
      startPipelineRequest,
      { source_table: 'x', sink_table: 'a.b', checkpoint_location: 'c', trigger_interval: '1 s' },
      'source_table must have 3 characters or more',
    ],
  ])('names the field and the valid values for %s', (_, schema, value, expected) => {
    expect(sentence(schema, value)).toBe(expected)
  })

  it('keeps a clause after a colon', () => {
    expect(firstSentence([{ path: 'name', message: 'two nodes have it' }], 'the body')).toBe('name: two nodes have it')
  })

  it("contains no text of the validator's own", () => {
    const values = [
      undefined,
      null,
      0,
      -1,
      1.5,
      '',
      'x',
      [],
      {},
      true,
      { table: [] },
      { name: 1, tables: 'x', when: 3 },
    ]
    const schemas = [compactRequest, expireRequest, alertRequest, policyRequest, startPipelineRequest]
    const errors = schemas.flatMap((schema) =>
      values.flatMap((value) => fieldErrors(check(schema, value).error?.issues ?? [])),
    )
    expect(errors.length).toBeGreaterThan(80)
    expect(
      errors.filter(({ message }) => /Invalid|Too (small|big)|expected|received|Unrecognized/.test(message)),
    ).toEqual([])
  })
})
