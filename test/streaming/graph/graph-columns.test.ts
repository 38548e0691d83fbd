import { afterAll, describe, expect, it } from 'vitest'
import { createDuckDbSandbox } from '../../../src/engines/duckdb/worker/sandbox.ts'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import { graphColumns } from '../../../src/streaming/graph/graph-columns.ts'
import { planGraph } from '../../../src/streaming/graph/graph-plan.ts'

const sandbox = createDuckDbSandbox()
afterAll(() => sandbox.close())

function schema(...names: readonly string[]): Schema {
  const fields = names.map((name, at) => ({ id: at + 1, name, required: false, type: { kind: 'long' } as const }))
  return { schemaId: 0, identifierFieldIds: [], fields }
}

const ORDERS = schema('id', 'Customer', 'amount', 'spare')
const PEOPLE = schema('id', 'age')

type Step = readonly [type: string, config: Readonly<Record<string, unknown>>, ...inputs: string[]]

/** The columns of a graph over `s.orders` (node `o`) and `s.people` (node `p`) into `s.out`, from the node `n`. */
async function columnsOf(steps: Readonly<Record<string, Step>>, sink?: Schema) {
  const all: Readonly<Record<string, Step>> = {
    o: ['iceberg-source', { table: 's.orders' }],
    p: ['iceberg-source', { table: 's.people' }],
    ...steps,
    out: ['iceberg-sink', { table: 's.out' }, 'n'],
  }
  const { plan } = planGraph({
    nodes: Object.entries(all).map(([id, [type, config]]) => ({ id, type, config, position: { x: 0, y: 0 } })),
    edges: Object.entries(all).flatMap(([target, [, , ...inputs]]) =>
      inputs.map((source) => ({ id: `${source}>${target}`, source, target })),
    ),
  })
  expect(plan).toBeDefined()
  const schemas = plan!.sources.map((table) => (table === 's.orders' ? ORDERS : PEOPLE))
  const { reads, writes } = await graphColumns({ plan: plan!, schemas, sink, sandbox })
  const written = writes?.map(({ name, origins }) => {
    const from = origins?.map(({ table, column }) => `${table.slice(2)}.${column}`)
    return `${name} = ${from?.join(' + ') ?? '?'}`
  })
  return { reads: Object.fromEntries(reads), writes: written ?? null }
}

describe('the columns of a graph', () => {
  it('pass a filter, which also reads those of its condition', async () => {
    const steps: Record<string, Step> = {
      f: ['filter', { condition: 'CUSTOMER > 3' }, 'o'],
      n: ['select', { columns: [{ name: 'id' }, { name: 'double', expression: 'amount * 2' }] }, 'f'],
    }
    expect(await columnsOf(steps)).toEqual({
      reads: { 's.orders': ['id', 'Customer', 'amount'] },
      writes: ['id = orders.id', 'double = orders.amount'],
    })
  })

  it('are computed from several, or from none', async () => {
    const columns = [
      { name: 'sum', expression: 'amount + lockhouse_node_0.id' },
      { name: 'one', expression: '1' },
    ]
    expect(await columnsOf({ n: ['select', { columns }, 'o'] })).toEqual({
      reads: { 's.orders': ['id', 'amount'] },
      writes: ['sum = orders.amount + orders.id', 'one = '],
    })
  })

  it('of a query over rows are known one by one, with those of its WHERE', async () => {
    const query = 'WITH t AS (SELECT id AS k, amount FROM input WHERE spare > 0) SELECT k, amount + 1 AS more FROM t'
    expect(await columnsOf({ n: ['sql', { query }, 'o'] })).toEqual({
      reads: { 's.orders': ['id', 'amount', 'spare'] },
      writes: ['k = orders.id', 'more = orders.amount'],
    })
    expect(await columnsOf({ n: ['sql', { query: 'SELECT * EXCLUDE (spare) FROM input' }, 'o'] })).toEqual({
      reads: { 's.orders': ['id', 'Customer', 'amount', 'spare'] }, // without `spare` the query fails
      writes: ['id = orders.id', 'Customer = orders.Customer', 'amount = orders.amount'],
    })
  })

  it.each([
    'row_number() OVER (ORDER BY amount)',
    '[amount][1]',
    "{'x': amount}",
    '(SELECT max(amount) FROM input)',
    'TRY_CAST(amount AS INTEGER)',
  ])('a column in the expression %s is read', async (expression) => {
    const { reads } = await columnsOf({ n: ['sql', { query: `SELECT id, ${expression} AS f FROM input` }, 'o'] })
    expect(reads).toEqual({ 's.orders': ['id', 'amount'] })
  })

  it('a column is read when a query or a node names the column and a later one drops it', async () => {
    const query = 'SELECT id FROM (SELECT id, amount FROM input)'
    expect((await columnsOf({ n: ['sql', { query }, 'o'] })).reads).toEqual({ 's.orders': ['id', 'amount'] })
    const steps: Record<string, Step> = {
      f: ['select', { columns: [{ name: 'id' }, { name: 'amount' }] }, 'o'],
      n: ['select', { columns: [{ name: 'id' }] }, 'f'],
    }
    expect((await columnsOf(steps)).reads).toEqual({ 's.orders': ['id', 'amount'] })
  })

  it('of an aggregate have no known origin, but the columns that it reads are known', async () => {
    const query = 'SELECT customer, sum(amount) AS total FROM input GROUP BY customer ORDER BY total'
    expect(await columnsOf({ n: ['sql', { query }, 'o'] })).toEqual({
      reads: { 's.orders': ['Customer', 'amount'] },
      writes: ['Customer = ?', 'total = ?'],
    })
  })

  it('of a join by alias are every column that it may read', async () => {
    const query = 'SELECT a.amount, b.age FROM o a JOIN p b ON a.customer = b.id'
    const { reads, writes } = await columnsOf({ n: ['sql', { query }, 'o', 'p'] })
    // `b.id` may be the id of either table
    expect(reads).toEqual({ 's.orders': ['id', 'Customer', 'amount'], 's.people': ['id', 'age'] })
    expect(writes).toEqual(['amount = ?', 'age = ?'])
  })

  it('are unknown where a query may read columns that it does not name', async () => {
    const query = 'SELECT o.* FROM o JOIN p ON o.id = p.id'
    const { reads, writes } = await columnsOf({ n: ['sql', { query }, 'o', 'p'] })
    expect(reads).toEqual({ 's.orders': null, 's.people': null })
    expect(writes).toEqual(['id = ?', 'Customer = ?', 'amount = ?', 'spare = ?'])
  })

  it('are unknown when SQL is wrong', async () => {
    const none = { reads: { 's.orders': null }, writes: null }
    expect(await columnsOf({ n: ['filter', { condition: 'no_such > 1' }, 'o'] })).toEqual(none)
    expect(await columnsOf({ n: ['sql', { query: 'SELECT FROM' }, 'o'] })).toEqual(none)
  })

  it('of a union come from each input', async () => {
    const steps: Record<string, Step> = {
      a: ['select', { columns: [{ name: 'id' }] }, 'o'],
      b: ['select', { columns: [{ name: 'ID', expression: 'age' }] }, 'p'],
      n: ['union', {}, 'a', 'b'],
    }
    expect(await columnsOf(steps)).toEqual({
      reads: { 's.orders': ['id'], 's.people': ['age'] },
      writes: ['id = orders.id + people.age'],
    })
  })

  it('have the names of the sink, without those that nothing fills', async () => {
    const sink = schema('ID', 'other')
    const { writes } = await columnsOf({ n: ['select', { columns: [{ name: 'id' }] }, 'o'] }, sink)
    expect(writes).toEqual(['ID = orders.id'])
  })
})
