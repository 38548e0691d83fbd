import { describe, expect, it } from 'vitest'
import { namedTables, quotedName, quotedTable } from '../../frontend/src/features/query/editor/named-tables.ts'

describe('the tables that a query names', () => {
  it.each([
    ['SELECT * FROM demo.orders', [{ table: 'demo.orders', alias: 'orders' }]],
    ['select o. from demo.orders as o', [{ table: 'demo.orders', alias: 'o' }]],
    ['FROM demo.orders WHERE total > 1', [{ table: 'demo.orders', alias: 'orders' }]],
    [
      'FROM a.b x\nJOIN "Two words"."say ""hi""" y ON x.id = y.id',
      [
        { table: 'a.b', alias: 'x' },
        { table: 'Two words.say "hi"', alias: 'y' },
      ],
    ],
    ['SELECT 1 FROM ', []],
    ['SELECT fromage.x', []],
  ])('are found in %j', (sql, tables) => {
    expect(namedTables(sql)).toEqual(tables)
  })

  it('take linear time in a long text', () => {
    const began = performance.now()
    namedTables(`FROM ${'a.'.repeat(50_000)} ${'from '.repeat(20_000)}`)
    expect(performance.now() - began).toBeLessThan(2000)
  })

  it('get quotes where SQL needs them', () => {
    expect(quotedName('order_id')).toBe('order_id')
    expect(quotedName('a "b"')).toBe('"a ""b"""')
    expect(quotedTable('demo.2024-01')).toBe('demo."2024-01"')
  })
})
