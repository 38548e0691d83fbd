import { afterAll, describe, expect, it } from 'vitest'
import { createDuckDbSandbox } from '../../../src/engines/duckdb/worker/sandbox.ts'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import type { NestedField, Type } from '../../../src/iceberg/schema/types.ts'
import type { SparkBatch } from '../../../src/streaming/sink/batch-query.ts'
import { planGraph } from '../../../src/streaming/graph/graph-plan.ts'
import { createGraphQuery } from '../../../src/streaming/query/graph-query.ts'
import { checkFailureOf } from '../../../src/streaming/spark/check-failure.ts'
import { typeGraph } from '../../../src/streaming/graph/type-graph.ts'
import { ALLOWED, FAILING, REFUSED, VALUES_SCHEMA } from './graph-expressions.ts'

type Nodes = Readonly<Record<string, readonly [type: string, config: Readonly<Record<string, unknown>>]>>
type Column = readonly [name: string, type: Type, more?: Partial<NestedField>]

const LONG: Type = { kind: 'long' }
const INT: Type = { kind: 'int' }
const STRING: Type = { kind: 'string' }
const sandbox = createDuckDbSandbox()
afterAll(() => sandbox.close())

function schema(...columns: readonly Column[]): Schema {
  const fields = columns.map(([name, type, more], at) => ({ id: at + 1, name, required: false, type, ...more }))
  return { schemaId: 0, identifierFieldIds: [], fields }
}

const PEOPLE = schema(['id', LONG], ['Name', STRING])
const source = (table: string) => ['iceberg-source', { table }] as const
const SINK = ['iceberg-sink', { table: 's.sink' }] as const

interface Given {
  /** By table; default for each: `PEOPLE`. */
  readonly tables?: Readonly<Record<string, Schema>>
  /** Default: the columns that reach it. */
  readonly sink?: Schema
  readonly secrets?: Readonly<Record<string, string>>
}

async function translate(nodes: Nodes, edges: readonly string[], given: Given = {}): Promise<SparkBatch> {
  const graph = {
    nodes: Object.entries(nodes).map(([id, [type, config]]) => ({ id, type, config, position: { x: 0, y: 0 } })),
    edges: edges.map((edge) => {
      const [from = '', to = ''] = edge.split('>')
      return { id: edge, source: from, target: to }
    }),
  }
  const { plan, problems } = planGraph(graph)
  if (plan === undefined) throw new Error(JSON.stringify(problems))
  const sources = plan.sources.map((table) => given.tables?.[table] ?? PEOPLE)
  const typed = await typeGraph({ plan, schemas: sources, sandbox })
  expect(typed.problems).toEqual([])
  const columns = (typed.columns ?? []).map(({ name, type }): Column => [name, type ?? STRING])
  const query = createGraphQuery(
    { graph, plan, bound: given.secrets && { plan, secrets: given.secrets, secretNames: [] } },
    sandbox,
  )
  return query.sparkBatch!({ sources, sink: given.sink ?? schema(...columns), known: [] })
}

const single = (node: readonly [string, Readonly<Record<string, unknown>>], given?: Given) =>
  translate({ a: source('s.a'), q: node, z: SINK }, ['a>q', 'q>z'], given)
/** The config of a check, by the members of its expectations. */
function checks(...expectations: readonly (readonly [string, string, string, number?])[]) {
  return {
    expectations: expectations.map(([name, condition, action, ratio]) => ({
      name,
      condition,
      on_failure: action,
      ...(ratio === undefined ? {} : { max_ratio: ratio }),
    })),
  }
}
const values = { tables: { 's.a': VALUES_SCHEMA } }
const expression = (text: string) => single(['select', { columns: [{ name: 'v', expression: text }] }], values)

describe('a graph in SQL of Spark', () => {
  it('names every column itself, and quotes the names of tables', async () => {
    const tables = { 's.a': schema(['id', LONG], ['b`; DROP TABLE x --', STRING]) }
    const { query, problems } = await single(
      ['filter', { condition: `id > 1 -- '\n AND "b\`; DROP TABLE x --" = ''''` }],
      {
        tables,
      },
    )
    expect(problems).toEqual([])
    expect(query).toBe(
      'SELECT r.c0 AS `id`, r.c1 AS `b``; DROP TABLE x --` FROM (SELECT r.`id` AS c0, r.`b``; DROP TABLE x --` AS c1 ' +
        "FROM lockhouse_source_0 AS r WHERE ((r.`id` > CAST(CAST('1' AS INT) AS BIGINT)) AND (r.`b``; DROP TABLE x --` = " +
        "CAST(X'27' AS STRING)))) AS r",
    )
  })

  it('translates every allowed expression', async () => {
    const columns = [...ALLOWED, ...FAILING].map((text, at) => ({ name: `v${at}`, expression: text }))
    const { query, problems } = await single(['select', { columns }], values)
    expect(problems).toEqual([])
    expect(query).toContain(` AS c${columns.length - 1} FROM`)
  })

  it.each(REFUSED)('refuses %s, and names %s', async (text, named) => {
    const { problems } = await expression(text)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(named)
    expect(problems[0]).toMatch(/^node q: column v: .*; use the embedded engine$/)
  })

  it.each<[query: string, named: string]>([
    ['SELECT count(*) AS n FROM input', 'count()'],
    ['SELECT max(id) AS n FROM input', 'max()'],
    ['SELECT id FROM input GROUP BY id', 'GROUP BY'],
    ['SELECT DISTINCT id FROM input', 'DISTINCT'],
    ['SELECT id FROM input ORDER BY id', 'ORDER BY'],
    ['SELECT id FROM input LIMIT 5', 'LIMIT'],
    ['SELECT id FROM input QUALIFY row_number() OVER (ORDER BY id) = 1', 'QUALIFY'],
    ['SELECT row_number() OVER (ORDER BY id) AS id FROM input', 'row_number()'],
    ['SELECT id FROM input UNION SELECT id FROM input', 'UNION'],
    ['SELECT id FROM input EXCEPT ALL SELECT id FROM input', 'EXCEPT ALL'],
    ['SELECT id FROM input UNION ALL BY NAME SELECT id FROM input', 'UNION BY NAME'],
    ['SELECT x.id FROM input AS x, input AS y', 'a join'],
    ['SELECT id FROM input TABLESAMPLE 10%', 'a sample'],
    ['SELECT 1 AS id', 'a SELECT without FROM'],
    ['SELECT col0 AS id FROM (VALUES (1))', 'VALUES'],
    ['SELECT unnest([id]) AS id FROM input', 'unnest()'],
    ['SELECT id FROM input WHERE id IN (SELECT id FROM input)', 'a subquery in an expression'],
    ['SELECT id FROM input UNION ALL SELECT id FROM input', 'input input is read twice'],
    ['WITH c AS (SELECT id FROM input) SELECT id FROM c UNION ALL SELECT id FROM c', 'c is read twice'],
    ['SELECT "Name" AS n, n || n AS m FROM input', 'n is no column'],
    ['SELECT input AS row FROM input', 'input is no column'],
    ['SELECT x FROM (SELECT id + 1, id AS x FROM input)', 'name it with AS'],
    ['SELECT id_1 FROM (SELECT id, id + 1 AS id, id + 2 AS id_1 FROM input)', 'two columns id'],
    ['WITH c AS (SELECT id, id + 1 AS ID, id + 2 AS id_1 FROM input) SELECT id_1 FROM c', 'two columns ID'],
    ['WITH c AS (SELECT id + 1, id AS "(id + 1)" FROM input) SELECT "(id + 1)" AS v FROM c', 'name it with AS'],
    ['SELECT * REPLACE (id + 1 AS id) FROM input', 'REPLACE'],
    ["SELECT COLUMNS('i.*') FROM input", 'COLUMNS'],
    ['SELECT a FROM (SELECT id FROM input) AS t(a)', 'column names after'],
    ['SELECT now() AS n FROM input', 'now()'],
  ])('refuses the query %s, and names %s', async (query, named) => {
    const { problems } = await single(['sql', { query }])
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(named)
    expect(problems[0]).toMatch(/^node q: .*; use the embedded engine$/)
  })

  it('refuses an expression that becomes too long, before it has become long', async () => {
    let nested = 'b'
    for (let level = 0; level < 14; level += 1) nested = `(${nested} BETWEEN b AND b2)`
    expect((await expression(nested)).problems.join()).toContain('more than 200000 characters')
  })

  it.each<[condition: string, named: string]>([
    ['id', 'a condition is long, not boolean'],
    ["upper(Name) = 'A'", 'upper()'],
    ['NOT id', 'a condition is long, not boolean'],
  ])('refuses the condition %s', async (condition, named) => {
    const { problems } = await single(['filter', { condition }])
    expect(problems.join()).toContain(`node q: `)
    expect(problems.join()).toContain(named)
  })

  it('reads the tables in the order of the checkpoint, whatever the order of a query', async () => {
    const query = 'SELECT id FROM b UNION ALL SELECT id FROM a'
    const batch = await translate({ a: source('s.a'), b: source('s.b'), q: ['sql', { query }], z: SINK }, [
      'a>q',
      'b>q',
      'q>z',
    ])
    expect(batch.problems).toEqual([])
    expect(batch.query.match(/lockhouse_source_\d/g)).toEqual(['lockhouse_source_0', 'lockhouse_source_1'])
  })

  it('matches the columns of a union by name, with NULL for absent ones', async () => {
    const tables = {
      's.a': schema(['id', INT], ['Name', STRING]),
      's.b': schema(['NAME', STRING], ['id', LONG], ['x', INT]),
    }
    const nodes = { a: source('s.a'), b: source('s.b'), u: ['union', { missing_columns: 'null' }], z: SINK } as const
    const { query, problems } = await translate(nodes, ['a>u', 'b>u', 'u>z'], { tables })
    expect(problems).toEqual([])
    expect(query).toBe(
      'SELECT r.c0 AS `id`, r.c1 AS `Name`, r.c2 AS `x` FROM (SELECT CAST(r.`id` AS BIGINT) AS c0, r.`Name` AS c1, ' +
        'CAST(NULL AS INT) AS c2 FROM lockhouse_source_0 AS r UNION ALL SELECT r.`id` AS c0, r.`NAME` AS c1, r.`x` AS c2 ' +
        'FROM lockhouse_source_1 AS r) AS r',
    )
  })

  it('refuses an order of tables that no order of the parts gives', async () => {
    const query = 'SELECT id FROM (SELECT id FROM a UNION ALL SELECT id FROM c) UNION ALL SELECT id FROM b'
    const nodes = { a: source('s.a'), b: source('s.b'), c: source('s.c'), q: ['sql', { query }], z: SINK } as const
    const { problems } = await translate(nodes, ['a>q', 'b>q', 'c>q', 'q>z'])
    expect(problems.join()).toContain('in another order than the checkpoint')
  })

  it('refuses to read a table twice', async () => {
    const split = { a: source('s.a'), f: ['filter', { condition: 'id > 1' }], u: ['union', {}], z: SINK } as const
    expect((await translate(split, ['a>f', 'a>u', 'f>u', 'u>z'])).problems.join()).toContain(
      'node a: its rows go to f and u',
    )
    const twice = { a: source('s.a'), b: source('s.a'), u: ['union', {}], z: SINK } as const
    expect((await translate(twice, ['a>u', 'b>u', 'u>z'])).problems.join()).toContain('node b: node a reads s.a too')
  })

  it('refuses an input that a query does not read', async () => {
    const nodes = { a: source('s.a'), b: source('s.b'), q: ['sql', { query: 'SELECT id FROM b' }], z: SINK } as const
    expect((await translate(nodes, ['a>q', 'b>q', 'q>z'])).problems.join()).toContain('node q: its input a is not read')
  })

  it('matches and promotes the columns of the sink as the embedded engine does', async () => {
    const sink = schema(['extra', STRING], ['NAME', STRING], ['id', LONG])
    const tables = { 's.a': schema(['id', INT], ['Name', STRING]) }
    const { query, problems } = await translate({ a: source('s.a'), z: SINK }, ['a>z'], { tables, sink })
    expect(problems).toEqual([])
    expect(query).toBe('SELECT r.`Name` AS `NAME`, CAST(r.`id` AS BIGINT) AS `id` FROM lockhouse_source_0 AS r')
  })

  it.each<[what: string, table: Schema, sink: Schema, named: RegExp]>([
    [
      'a default',
      PEOPLE,
      schema(['id', LONG], ['Name', STRING], ['d', LONG, { writeDefault: 7 }]),
      /column d has a default/,
    ],
    [
      'a required column',
      PEOPLE,
      schema(['id', LONG, { required: true }], ['Name', STRING]),
      /column id of the sink is req/,
    ],
    [
      'a type that Spark lacks',
      schema(['id', LONG], ['t', { kind: 'time' }]),
      schema(['id', LONG]),
      /table s.a: column t is time/,
    ],
    [
      'names that differ in case only',
      schema(['ä', LONG], ['Ä', LONG]),
      schema(['ä', LONG], ['Ä', LONG]),
      /when case is ignored/,
    ],
  ])('refuses %s', async (_, table, sink, named) => {
    const nodes = { a: source('s.a'), z: SINK } as const
    expect((await translate(nodes, ['a>z'], { tables: { 's.a': table }, sink })).problems.join()).toMatch(named)
  })

  it('refuses names that Java takes for the same', async () => {
    const table = schema(['ı', LONG], ['i', LONG])
    const { problems } = await translate({ a: source('s.a'), z: SINK }, ['a>z'], {
      tables: { 's.a': table },
      sink: schema(['x', LONG]),
    })
    expect(problems.join()).toContain('when case is ignored')
  })

  it('fills a required column from one that is required', async () => {
    const table = schema(['id', LONG, { required: true }])
    const { problems } = await single(['filter', { condition: 'id > 1' }], { tables: { 's.a': table }, sink: table })
    expect(problems).toEqual([])
  })

  it.each<[type: string, config: Readonly<Record<string, unknown>>, reason: string]>([
    ['deduplicate', { key: ['id'] }, 'deduplicate compares the rows of each batch'],
    [
      'lookup',
      { table: 's.l', on: [{ column: 'id', lookup_column: 'id' }], columns: [{ column: 'Name', name: 'n' }] },
      'a lookup reads s.l as it is when the batch starts',
    ],
    ['check', checks(['x', 'id > 0', 'drop', 0.5]), 'expectation "x" has max_ratio, a share of one batch'],
    [
      'check',
      { ...checks(['x', 'id > 0', 'divert']), divert_to: 's.bad' },
      'expectation "x" has on_failure "divert", and a query in Spark writes to one table only',
    ],
    ['check', checks(['x', "upper(Name) = 'A'", 'drop']), 'expectation "x": Spark may compute upper() differently'],
  ])('refuses nodes of type %s with %j, and names the reason', async (type, config, reason) => {
    const { problems } = await single([type, config], { sink: PEOPLE })
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(`node q: ${reason}`)
    expect(problems[0]).toMatch(/; use the embedded engine$/)
  })

  it('leaves out the rows that a check drops', async () => {
    const { query, problems } = await single(['check', checks(['x', 'id > 0', 'drop'], ['y', 'id < 9', 'drop', 1])])
    expect(problems).toEqual([])
    expect(query).toContain(
      "FROM lockhouse_source_0 AS r WHERE (r.`id` > CAST(CAST('0' AS INT) AS BIGINT)) AND (r.`id` < CAST(CAST('9' AS INT) AS BIGINT))) AS r",
    )
  })

  it('checks every row for a failure before it drops any', async () => {
    const { query, problems } = await single(['check', checks(['drop', 'id > 0', 'drop'], ["it's", 'id < 9', 'fail'])])
    expect(problems).toEqual([])
    expect(query).toMatch(
      /WHERE CASE WHEN \(r.`id` < .*\) THEN \(\(rand\(0\) >= .*\) AND \(r.`id` > .*\)\) ELSE raise_error\(CAST\(X'.*' AS STRING\)\) END\)/,
    )
    const raised = /raise_error\(CAST\(X'(.*?)'/.exec(query)?.[1] ?? ''
    const failure = checkFailureOf(`in task 1: ${Buffer.from(raised, 'hex').toString()} SQLSTATE: P0001`)
    expect(failure).toMatchObject({ code: 'CHECK_FAILED' })
    expect(failure?.message).toContain('node q: a row of the batch fails "it\'s"')
    expect(checkFailureOf('Job aborted')).toBeUndefined()
  })

  it.each<[type: string, config: Readonly<Record<string, unknown>>]>([
    ['filter', { condition: 'id > 1' }],
    ['check', checks(['x', 'id > 1', 'drop'])],
    ['sql', { query: 'SELECT * FROM input WHERE id > 1' }],
  ])(
    'refuses a %s after a check that stops the pipeline, because Spark may leave out its rows first',
    async (...node) => {
      const nodes = { a: source('s.a'), c: ['check', checks(['y', 'id < 9', 'fail'])], q: node, z: SINK } as const
      const { problems } = await translate(nodes, ['a>c', 'c>q', 'q>z'])
      expect(problems).toHaveLength(1)
      expect(problems[0]).toContain('node q: it leaves out rows after the check c')
    },
  )

  it('refuses secrets, without naming them', async () => {
    const { query, problems } = await single(['filter', { condition: "Name = 'env:LAKE_KEY'" }], {
      secrets: { lockhouse_secret_0: 'hunter2' },
    })
    expect(query).toBe('')
    expect(problems).toEqual([expect.stringContaining('the query contains secrets')])
    expect(problems.join()).not.toContain('hunter2')
  })
})
