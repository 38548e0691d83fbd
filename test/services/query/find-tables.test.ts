import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { NamedTable } from '../../../src/engines/sql-sandbox.ts'
import { findTables, type TableLookup } from '../../../src/services/query/find-tables.ts'
import { openLab, type StreamLab } from '../../streaming/support.ts'

let lab: StreamLab
beforeAll(async () => {
  lab = await openLab()
  await lab.createTable('s.orders', [['id', 'long']])
  await lab.createTable('s.customers', [['id', 'long']])
})
afterAll(() => lab.close())

const place = (levels: readonly string[]): NamedTable => ({ levels, start: 0, end: 0, hasAlias: false })

/** The catalog of the service, and how often it was asked. */
function counted(): { readonly lookup: TableLookup; readonly calls: { lists: number; loads: number } } {
  const calls = { lists: 0, loads: 0 }
  const lookup: TableLookup = {
    listTables: (namespace) => {
      calls.lists += 1
      return lab.catalog().listTables(namespace)
    },
    loadTable: (identifier) => {
      calls.loads += 1
      return lab.catalog().loadTable(identifier)
    },
  }
  return { lookup, calls }
}

const never = new AbortController().signal

describe('the tables of a query', () => {
  it('are each loaded once, and the catalog is listed once, when a query repeats their names', async () => {
    const { lookup, calls } = counted()
    const named = Array.from({ length: 100 }, () => [place(['orders']), place(['customers'])]).flat()
    const found = await findTables(lookup, named, never)
    expect(found.map(({ table }) => table.identifier.name)).toEqual(named.map(({ levels }) => levels.at(-1)))
    expect(calls).toEqual({ lists: 1, loads: 2 })
  })

  it.each([
    ['places', Array.from({ length: 201 }, () => place(['orders'])), /at most 200 places/],
    ['names', Array.from({ length: 21 }, (_, at) => place(['s', `t${at}`])), /at most 20 tables/],
  ])('are refused before the catalog is asked when a query has too many %s', async (_, named, why) => {
    const { lookup, calls } = counted()
    await expect(findTables(lookup, named, never)).rejects.toMatchObject({
      code: 'UNPROCESSABLE',
      message: expect.stringMatching(why),
    })
    expect(calls).toEqual({ lists: 0, loads: 0 })
  })

  it('are not looked up when the request was cancelled', async () => {
    const { lookup, calls } = counted()
    await expect(findTables(lookup, [place(['orders'])], AbortSignal.abort())).rejects.toMatchObject({
      code: 'CANCELLED',
    })
    expect(calls).toEqual({ lists: 0, loads: 0 })
  })
})
