import { afterAll, describe, expect, it } from 'vitest'
import { createDuckDbSandbox } from '../../../src/engines/duckdb/worker/sandbox.ts'
import type { PipelineGraph } from '../../../src/domain/graph.ts'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import { nodesUsing } from '../../../src/streaming/graph/column-uses.ts'

type Config = Record<string, unknown>
type Nodes = Record<string, readonly [type: string, config: Config]>

const sandbox = createDuckDbSandbox()
afterAll(() => sandbox.close())

const SCHEMA: Schema = {
  schemaId: 0,
  identifierFieldIds: [],
  fields: [
    { id: 1, name: 'id', required: false, type: { kind: 'long' } },
    { id: 2, name: 'x', required: false, type: { kind: 'string' } },
    {
      id: 3,
      name: 'a',
      required: false,
      type: { kind: 'struct', fields: [{ id: 4, name: 'b', required: false, type: { kind: 'int' } }] },
    },
  ],
}

function graph(nodes: Nodes, ...edges: string[]): PipelineGraph {
  return {
    nodes: Object.entries(nodes).map(([id, [type, config]]) => ({ id, type, config, position: { x: 0, y: 0 } })),
    edges: edges.map((edge) => ({ id: edge, source: edge.split('>')[0] ?? '', target: edge.split('>')[1] ?? '' })),
  }
}

const using = (of: PipelineGraph, path: readonly string[], table = 's.src') =>
  nodesUsing(of, { table, path }, { sandbox, loadSchema: async (name) => (name === 's.src' ? SCHEMA : undefined) })

const IDS: Config = { columns: [{ name: 'id' }] }
/** source → node → select of `id` → sink: any column use comes from the node alone. */
const through = (type: string, config: Config, table = 's.src') =>
  graph(
    {
      in: ['iceberg-source', { table }],
      node: [type, config],
      ids: ['select', IDS],
      out: ['iceberg-sink', { table: 's.out' }],
    },
    'in>node',
    'node>ids',
    'ids>out',
  )

describe('a node uses the column x', () => {
  it.each<[string, string, Config]>([
    ['a filter', 'filter', { condition: 'x > 1' }],
    ['a filter in another case', 'filter', { condition: 'ID > 1 AND X IS NOT NULL' }],
    ['a filter with a quoted name', 'filter', { condition: '"x" = \'1\'' }],
    ['a filter that calls a method of it', 'filter', { condition: 'x.length() > 3' }],
    ['a filter that calls a method of its table', 'filter', { condition: 'lockhouse_node_0.x.length() > 3' }],
    ['a filter by position', 'filter', { condition: '#2 IS NOT NULL' }],
    ['a filter by a whole row', 'filter', { condition: 'lockhouse_node_0 IS NOT NULL' }],
    ['an unparsable filter', 'filter', { condition: 'id >' }],
    ['a filter without a condition', 'filter', {}],
    ['a select', 'select', { columns: [{ name: 'id' }, { name: 'X' }] }],
    ['an expression', 'select', { columns: [{ name: 'id', expression: 'coalesce(id, length(x))' }] }],
    ['a query', 'sql', { query: 'SELECT id FROM input WHERE input.x > 1' }],
    ['a subquery', 'sql', { query: 'SELECT id FROM input WHERE id IN (SELECT max(id) FROM input GROUP BY x)' }],
    ['a window', 'sql', { query: 'SELECT id, row_number() OVER (PARTITION BY x) AS n FROM input' }],
    ['all columns', 'sql', { query: 'SELECT * FROM input' }],
    ['all columns of a relation', 'sql', { query: 'SELECT i.* FROM input i' }],
    ['all but others', 'sql', { query: 'SELECT * EXCLUDE (id) FROM input' }],
    ['no list of columns', 'sql', { query: 'FROM input' }],
    ['columns by a pattern', 'sql', { query: "SELECT COLUMNS('x|id') FROM input" }],
    ['a whole row', 'sql', { query: 'SELECT id, to_json(input) AS j FROM input' }],
    ['a whole row by its alias', 'sql', { query: 'SELECT i.id, I AS j FROM input AS i' }],
    ['a join by name', 'sql', { query: 'SELECT a.id FROM input a JOIN input b USING (x)' }],
    ['a natural join', 'sql', { query: 'SELECT a.id FROM input a NATURAL JOIN input b' }],
    ['columns named by position', 'sql', { query: 'SELECT one FROM input AS i(one, two, three)' }],
    ['an unpivot', 'sql', { query: 'SELECT id FROM (UNPIVOT input ON x)' }],
    ['a node of an unknown type', 'mystery', {}],
  ])('in %s', async (_, type, config) => {
    expect(await using(through(type, config), ['x'])).toEqual(['node'])
  })

  it('after a filter that passes it on, in a union, and at the sink', async () => {
    const kept = graph(
      {
        in: ['iceberg-source', { table: 's.src' }],
        f: ['filter', { condition: 'id > 1' }],
        out: ['iceberg-sink', { table: 's.out' }],
      },
      'in>f',
      'f>out',
    )
    expect(await using(kept, ['x'])).toEqual(['out'])
    const union = graph(
      {
        in: ['iceberg-source', { table: 's.src' }],
        other: ['iceberg-source', { table: 's.other' }],
        u: ['union', {}],
        ids: ['select', IDS],
      },
      'in>u',
      'other>u',
      'u>ids',
    )
    expect(await using(union, ['x'])).toEqual(['u'])
  })

  it('of a table whose name is in another case or quoted, or that a node which cannot run reads', async () => {
    const condition = { condition: 'x > 1' }
    expect(await using(through('filter', condition, 'S.SRC'), ['x'])).toEqual(['node'])
    expect(await using(through('filter', condition, '"s"."src"'), ['x'])).toEqual(['node'])
    expect(await using(through('filter', condition, '`s`.src'), ['x'])).toEqual(['node'])
    expect(await using(graph({ in: ['kafka-source', { table: 's.src' }] }), ['x'])).toEqual(['in'])
  })
})

describe('no node uses the column', () => {
  it.each<[string, string, Config, readonly string[]]>([
    ['that is only in a string literal', 'filter', { condition: "id > 1 AND 'x' <> 'y'" }, ['x']],
    ['whose name is part of another', 'filter', { condition: 'id > 1' }, ['i']],
    ['that is only in a comment', 'sql', { query: 'SELECT id /* x */ FROM input -- * x' }, ['x']],
    [
      'whose name only a result column has',
      'sql',
      { query: 'SELECT id AS x, count(*) AS n FROM input GROUP BY id' },
      ['x'],
    ],
    ['next to the struct field in use', 'sql', { query: 'SELECT a.b AS id FROM input' }, ['a', 'c']],
  ])('%s', async (_, type, config, path) => {
    expect(await using(through(type, config), path)).toEqual([])
  })

  it('of another table', async () => {
    expect(await using(through('filter', { condition: 'x > 1' }), ['x'], 's.src2')).toEqual([])
  })
})

describe('a column in a struct', () => {
  it.each([
    ['SELECT a.b AS id FROM input', true],
    ['SELECT input.a.b AS id FROM input', true],
    ['SELECT a AS id FROM input', true],
    ["SELECT struct_extract(a, 'b') AS id FROM input", true],
    ['SELECT a.c AS id FROM input', false],
    ['SELECT b AS id FROM input', false],
  ])('is used by %s: %s', async (query, isUsed) => {
    expect(await using(through('sql', { query }), ['a', 'b'])).toEqual(isUsed ? ['node'] : [])
  })

  it('is used when the struct that contains it is queried', async () => {
    expect(await using(through('sql', { query: 'SELECT a.b AS id FROM input' }), ['a'])).toEqual(['node'])
  })
})

describe('a column of the sink', () => {
  const writing = (config: Config) =>
    graph(
      {
        in: ['iceberg-source', { table: 's.src' }],
        sel: ['select', config],
        out: ['iceberg-sink', { table: 's.out' }],
      },
      'in>sel',
      'sel>out',
    )
  it('is used when the graph fills it, in any case', async () => {
    expect(await using(writing({ columns: [{ name: 'Total', expression: 'id * 2' }] }), ['total'], 's.out')).toEqual([
      'out',
    ])
    expect(await using(writing({ columns: [{ name: 'Total', expression: 'id * 2' }] }), ['other'], 's.out')).toEqual([])
  })
  it('is used when the written columns are unknown', async () => {
    expect(await using(writing({ columns: [{ name: 'id', expression: 'nope' }] }), ['other'], 's.out')).toEqual(['out'])
    expect(await using(graph({ out: ['iceberg-sink', { table: 's.out' }] }), ['other'], 's.out')).toEqual(['out'])
  })
})
