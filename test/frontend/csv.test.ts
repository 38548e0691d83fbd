import { expect, test } from 'vitest'
import { csvOf } from '../../frontend/src/components/rows/csv.ts'

const column = (name: string, type: string) => ({ name, type })

test('numbers keep their sign, and a text that looks like a formula begins with an apostrophe', () => {
  const columns = [column('n', 'long'), column('d', 'decimal(9,2)'), column('t', 'string'), column('=x', 'string')]
  const rows = [
    ['-1', '-0.50', '=HYPERLINK("a")', '@sum'],
    ['2', '1.00', 'a-b', '-1'],
  ]
  expect(csvOf({ columns, rows })).toBe(`n,d,t,'=x\r\n-1,-0.50,"'=HYPERLINK(""a"")",'@sum\r\n2,1.00,a-b,'-1\r\n`)
})

test('NULL, an empty text and a nested value differ', () => {
  const columns = [column('a', 'string'), column('b', 'list<int>')]
  expect(
    csvOf({
      columns,
      rows: [
        [null, [1, 2]],
        ['', null],
        ['x\ny', []],
      ],
    }),
  ).toBe('a,b\r\n,"[1,2]"\r\n"",\r\n"x\ny",[]\r\n')
})

test('NULL of a single column is no empty line', () => {
  expect(csvOf({ columns: [column('a', 'string')], rows: [[null], ['b']] })).toBe('a\r\n""\r\nb\r\n')
})
