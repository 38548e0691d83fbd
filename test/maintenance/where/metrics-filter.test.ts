import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Value } from '../../../src/iceberg/schema/types.ts'
import { valueToBytes } from '../../../src/iceberg/values/binary.ts'
import { compareValues } from '../../../src/iceberg/values/values.ts'
import { compileWhere } from '../../../src/maintenance/where/file-filter.ts'
import type { FilteredFile } from '../../../src/maintenance/where/file-filter.ts'
import { runs } from '../../support/effort.ts'
import { sampleMetadata } from '../metadata-samples.ts'

const metadata = sampleMetadata({
  schemas: [
    {
      type: 'struct',
      'schema-id': 0,
      fields: [
        { id: 1, name: 'n', required: false, type: 'long' },
        { id: 2, name: 'x', required: false, type: 'double' },
        { id: 3, name: 'not', required: false, type: 'string' },
        {
          id: 4,
          name: 'l',
          required: false,
          type: { type: 'list', 'element-id': 5, 'element-required': false, element: 'int' },
        },
      ],
    },
  ],
})
const TYPES = { n: { kind: 'long' }, x: { kind: 'double' }, s: { kind: 'string' } } as const

interface Row {
  readonly n: bigint | null
  readonly x: number | null
  readonly s: string | null
}

/** A file entry with the metrics of rows. */
function fileOf(rows: readonly Row[]): FilteredFile {
  const lowerBounds = new Map<number, Uint8Array>()
  const upperBounds = new Map<number, Uint8Array>()
  const nullValueCounts = new Map<number, number>()
  for (const [at, name] of (['n', 'x', 's'] as const).entries()) {
    const values = rows.flatMap((row) => row[name] ?? []).filter((value) => !Number.isNaN(value)) as Value[]
    nullValueCounts.set(at + 1, rows.filter((row) => row[name] === null).length)
    const ordered = values.toSorted((a, b) => compareValues(TYPES[name], a, b))
    const [lower, upper] = [ordered[0], ordered.at(-1)]
    if (lower !== undefined) lowerBounds.set(at + 1, valueToBytes(TYPES[name], lower))
    if (upper !== undefined) upperBounds.set(at + 1, valueToBytes(TYPES[name], upper))
  }
  const valueCounts = new Map([1, 2, 3].map((id) => [id, rows.length]))
  const nans = rows.filter(({ x }) => Number.isNaN(x)).length
  return {
    specId: 0,
    partition: [],
    valueCounts,
    nullValueCounts,
    nanValueCounts: new Map([[2, nans]]),
    lowerBounds,
    upperBounds,
  }
}

/** A condition as text, and what SQL says of a row: NULL is unknown. */
interface Condition {
  readonly text: string
  readonly holds: (row: Row) => boolean | null
}

const longs = fc.bigInt({ min: -3n, max: 3n })
const doubles = fc.constantFrom(-Infinity, -1.5, -0, 0, 1.5, Infinity, Number.NaN)
const texts = fc.constantFrom('', 'a', 'aa', 'ab', 'b', '\u{10ffff}', '\uffff')
const rows = fc.array(
  fc.record<Row>({
    n: fc.option(longs, { freq: 3 }),
    x: fc.option(doubles, { freq: 3 }),
    s: fc.option(texts, { freq: 3 }),
  }),
  { minLength: 1, maxLength: 4 },
)

/** NaN is above all numbers, as in the engines. */
const order = (a: bigint | number, b: bigint | number): number => (Number.isNaN(a) ? 1 : a < b ? -1 : a > b ? 1 : 0)

const comparison = fc
  .record({
    operator: fc.constantFrom('=', '!=', '<', '<=', '>', '>='),
    n: longs,
    x: fc.constantFrom(-1.5, 0, 1.5),
    isLong: fc.boolean(),
  })
  .map(({ operator, n, x, isLong }): Condition => {
    const accepts = { '=': [0], '!=': [-1, 1], '<': [-1], '<=': [-1, 0], '>': [1], '>=': [0, 1] }[operator] ?? []
    const [column, bound] = isLong ? (['n', n] as const) : (['x', x] as const)
    return {
      text: `${column} ${operator} ${bound}`,
      holds: (row) => (row[column] === null ? null : accepts.includes(order(row[column], bound))),
    }
  })
const membership = fc
  .record({ values: fc.array(longs, { minLength: 1, maxLength: 3 }), isNegated: fc.boolean() })
  .map(({ values, isNegated }): Condition => ({
    text: `n ${isNegated ? 'NOT ' : ''}IN (${values.join(', ')})`,
    holds: ({ n }) => (n === null ? null : values.includes(n) !== isNegated),
  }))
const beginning = fc
  .record({ prefix: texts.filter((text) => text !== ''), isNegated: fc.boolean() })
  .map(({ prefix, isNegated }): Condition => ({
    text: `"not" ${isNegated ? 'NOT ' : ''}LIKE '${prefix}%'`,
    holds: ({ s }) => (s === null ? null : s.startsWith(prefix) !== isNegated),
  }))
const nullTest = fc.constantFrom<Condition>(
  { text: 'x IS NULL', holds: ({ x }) => x === null },
  { text: '`not` IS NOT NULL', holds: ({ s }) => s !== null },
)

const condition: fc.Arbitrary<Condition> = fc.letrec<{ tree: Condition }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(comparison, membership, beginning, nullTest),
    tie('tree').map(({ text, holds }): Condition => ({
      text: `NOT (${text})`,
      holds: (row) => (holds(row) === null ? null : !holds(row)),
    })),
    fc.tuple(tie('tree'), tie('tree')).map(([a, b]): Condition => ({
      text: `(${a.text}) OR ${b.text}`,
      holds: (row) =>
        a.holds(row) === true || b.holds(row) === true
          ? true
          : a.holds(row) === null || b.holds(row) === null
            ? null
            : false,
    })),
    fc.tuple(tie('tree'), tie('tree')).map(([a, b]): Condition => ({
      text: `(${a.text}) AND (${b.text})`,
      holds: (row) =>
        a.holds(row) === false || b.holds(row) === false
          ? false
          : a.holds(row) === null || b.holds(row) === null
            ? null
            : true,
    })),
  ),
})).tree

const mayMatch = (where: string, given: readonly Row[]): boolean =>
  compileWhere(where, metadata, { by: 'files' }).mayMatch(fileOf(given))

describe('a where text over the metrics of files', () => {
  it('never leaves out a file with a matching row', () => {
    fc.assert(
      fc.property(condition, rows, ({ text, holds }, given) => {
        if (given.some((row) => holds(row) === true)) expect(mayMatch(text, given)).toBe(true)
      }),
      { numRuns: runs(5000, 500) },
    )
  })

  const file: Row[] = [
    { n: 1n, x: 0.5, s: 'mango' },
    { n: 5n, x: 2.5, s: 'peach' },
  ]
  it.each([
    ['n = 0', false],
    ['n > 5 OR x < 0', false],
    ['n BETWEEN 6 AND 9', false],
    ['n NOT BETWEEN 0 AND 9', false],
    ['NOT n <= 5', false],
    ['n IN (0, 6)', false],
    ['x >= 2.6', false],
    ["`not` LIKE 'q%'", false],
    ["`not` LIKE 'mangos%'", true],
    ["`not` LIKE 'peaches%'", false],
    ['x IS NULL', false],
    ['n IN (0, 3)', true],
    ['n = 3 AND x IS NOT NULL', true],
  ])('%s is %s', (where, expected) => {
    expect(mayMatch(where, file)).toBe(expected)
  })

  it('keeps files without metrics, and leaves out those with only NULL', () => {
    const filter = compileWhere('n = 3', metadata, { by: 'files' })
    expect(filter.mayMatch({ specId: 0, partition: [] })).toBe(true)
    expect([...filter.columnIds]).toEqual([1])
    expect(mayMatch('n != 3', [{ n: null, x: null, s: null }])).toBe(false)
  })

  it.each([
    ['l = 1', 'INVALID_ARGUMENT'],
    ['l.element = 1', 'INVALID_ARGUMENT'],
    ['not = 1', 'INVALID_ARGUMENT'],
    ['n = "x"', 'INVALID_ARGUMENT'],
    ['n = x', 'INVALID_ARGUMENT'],
    ['absent = 1', 'NO_SUCH_COLUMN'],
  ])('refuses %s', (where, code) => {
    expect(() => mayMatch(where, file)).toThrow(expect.objectContaining({ code }))
  })
})
