import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { numbered, openLab, type StreamLab } from '../support.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

type Nodes = Record<string, [string, Record<string, unknown>?]>

let lab: StreamLab
let count = 0
beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())

/** Creates a definition with one version of the graph. */
async function define(nodes: Nodes, ...edges: string[]): Promise<{ def: string; version: string }> {
  const { status, body } = await lab.service.post('/api/pipeline-defs', {
    name: `graph ${(count += 1)}`,
    nodes: Object.entries(nodes).map(([id, [type, config = {}]]) => ({ id, type, config })),
    edges: edges.map((edge) => ({ id: edge, source: edge.split('>')[0], target: edge.split('>')[1] })),
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return { def: body.definition.id, version: body.version.id }
}

async function validate(nodes: Nodes, ...edges: string[]) {
  const { def, version } = await define(nodes, ...edges)
  const { status, body } = await lab.service.post(`/api/pipeline-defs/${def}/versions/${version}/validate`, {})
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

const problems = (body: { problems: { node_id: string; code: string }[] }): string[] =>
  body.problems.map(({ node_id, code }) => `${node_id} ${code}`)

const start = (version: string, more: object = {}) =>
  lab.service.post('/api/pipeline/start', {
    version_id: version,
    checkpoint_location: `cp/graph-${(count += 1)}`,
    trigger_interval: '100 ms',
    ...more,
  })

/** Starts a graph and waits until its sink has this many rows. */
async function run(nodes: Nodes, edges: string[], sink: string, rows: number): Promise<string> {
  const { version } = await define(nodes, ...edges)
  const { status, body } = await start(version)
  expect(status, JSON.stringify(body)).toBe(200)
  await until(async () => {
    const { body: now } = await lab.service.get(`/api/pipeline/${body.pipeline.id}/status`)
    if (now.pipeline.state === 'failed' || now.pipeline.state === 'degraded')
      throw new Error(JSON.stringify(now.pipeline.error))
    return (await lab.rows(sink)).length >= rows
  }, `${rows} rows in ${sink}`)
  return body.pipeline.id
}

const source = (table: string): [string, Record<string, unknown>] => ['iceberg-source', { table }]
const sink = (table: string): [string, Record<string, unknown>] => ['iceberg-sink', { table }]
const idAndName = [
  ['id', 'long'],
  ['name', 'string'],
] as const

describe('the types of nodes', () => {
  it('are listed with JSON Schemas of their configs', async () => {
    const { status, body } = await lab.service.get('/api/node-types')
    expect(status).toBe(200)
    expect(body.node_types.map(({ type }: { type: string }) => type)).toEqual([
      'iceberg-source',
      'filter',
      'select',
      'sql',
      'union',
      'check',
      'lookup',
      'deduplicate',
      'iceberg-sink',
    ])
    for (const { config_schema: schema, type } of body.node_types) {
      expect(schema, type).toMatchObject({ type: 'object', additionalProperties: false })
    }
    const filter = body.node_types.find(({ type }: { type: string }) => type === 'filter')
    expect(filter.config_schema.required).toEqual(['condition'])
    expect(filter.inputs).toEqual({ min: 1, max: 1 })
  })
})

describe('validating a version', () => {
  beforeAll(async () => {
    await lab.createTable('s.v_in', idAndName)
    await lab.createTable('s.v_out', idAndName)
    await lab.createTable('s.v_wide', [...idAndName, ['extra', 'double']])
    await lab.createTable('s.v_int', [
      ['id', 'int'],
      ['name', 'string'],
    ])
  })

  it('finds no problem in a graph that can run', async () => {
    const body = await validate(
      { a: source('s.v_in'), f: ['filter', { condition: 'id > 1' }], z: sink('s.v_out') },
      'a>f',
      'f>z',
    )
    expect(body).toMatchObject({
      success: true,
      runnable: true,
      problems: [],
      source_tables: ['s.v_in'],
      sink_table: 's.v_out',
    })
  })

  it.each<[string, [string, Record<string, unknown>], string, string]>([
    ['an unknown column', ['filter', { condition: 'nope > 1' }], 'q INVALID_SQL', 'nope'],
    ['no SQL', ['filter', { condition: 'id >' }], 'q INVALID_SQL', 'syntax'],
    ['another table', ['filter', { condition: 'id IN (SELECT id FROM other)' }], 'q INVALID_SQL', 'other'],
    ['a file', ['sql', { query: "SELECT * FROM read_csv('/etc/passwd')" }], 'q INVALID_SQL', 'read_csv'],
    ['two statements', ['sql', { query: 'SELECT * FROM input; DROP TABLE x' }], 'q INVALID_SQL', 'SELECT'],
    ['an unknown input', ['sql', { query: 'SELECT * FROM a', inputs: { a: 'other' } }], 'q INVALID_CONFIG', 'other'],
    ['a duplicate column', ['sql', { query: 'SELECT id, name, id AS "ID" FROM input' }], 'q DUPLICATE_COLUMN', 'ID'],
    ['a column that the sink lacks', ['sql', { query: 'SELECT *, 1 AS more FROM input' }], 'z COLUMN_MISMATCH', 'more'],
    [
      'an incompatible type',
      ['select', { columns: [{ name: 'id', expression: 'id * 1.5' }, { name: 'name' }] }],
      'z TYPE_MISMATCH',
      'decimal',
    ],
    [
      'a type that no table supports',
      ['sql', { query: 'SELECT sum(id) AS id, max(name) AS name FROM input' }],
      'z TYPE_MISMATCH',
      'CAST(id AS BIGINT)',
    ],
    [
      'an aggregate in a select',
      ['select', { columns: [{ name: 'id', expression: 'max(id)' }] }],
      'q INVALID_SQL',
      'sql node',
    ],
  ])('reports %s at its node', async (_, node, expected, words) => {
    const body = await validate({ a: source('s.v_in'), q: node, z: sink('s.v_out') }, 'a>q', 'q>z')
    expect(body.runnable).toBe(false)
    expect(problems(body), JSON.stringify(body.problems)).toEqual([expected])
    expect(body.problems[0].message).toContain(words)
  })

  it('reports missing tables, and all problems at once', async () => {
    const body = await validate(
      {
        a: source('s.v_in'),
        b: source('s.nowhere'),
        f: ['filter', { condition: 'oops' }],
        u: ['union'],
        z: sink('no.where'),
        x: ['todo'],
      },
      'a>f',
      'f>u',
      'b>u',
      'u>z',
    )
    expect(problems(body).sort()).toEqual(['b NO_SUCH_TABLE', 'f INVALID_SQL', 'x UNUSED_NODE', 'z NO_SUCH_TABLE'])
  })

  it('reports unions whose inputs differ', async () => {
    const nodes = { a: source('s.v_in'), b: source('s.v_wide'), z: sink('s.v_wide') } as const
    const strict = await validate(
      { ...nodes, b: source('s.v_wide'), u: ['union'], z: sink('s.v_out') },
      'a>u',
      'b>u',
      'u>z',
    )
    expect(problems(strict)).toEqual(['u COLUMN_MISMATCH'])
    const lax = await validate(
      { a: source('s.v_in'), b: source('s.v_int'), u: ['union', { missing_columns: 'null' }], z: sink('s.v_out') },
      'a>u',
      'b>u',
      'u>z',
    )
    expect(lax).toMatchObject({ runnable: true, problems: [] })
  })

  it('refuses a table that writes into itself', async () => {
    const body = await validate({ a: source('s.v_in'), z: sink('s.v_in') }, 'a>z')
    expect(problems(body)).toEqual(['z INVALID_CONFIG'])
  })

  it('answers 404 for unknown definitions and versions', async () => {
    const { def } = await define({})
    expect((await lab.service.post(`/api/pipeline-defs/${def}/versions/ver-none/validate`, {})).status).toBe(404)
    expect((await lab.service.post('/api/pipeline-defs/def-none/versions/ver-none/validate', {})).status).toBe(404)
  })
})

describe('running a version', () => {
  it('filters, computes and writes batch after batch, also after a restart', LONG, async () => {
    await lab.createTable('s.r1', idAndName)
    await lab.createTable('s.r1_out', [
      ['name', 'string'],
      ['double_id', 'long'],
      ['comment', 'string'],
    ])
    await lab.append('s.r1', numbered(0, 10))
    const nodes: Nodes = {
      in: source('s.r1'),
      even: ['filter', { condition: 'id % 2 = 0 -- even ones' }],
      shape: [
        'select',
        {
          columns: [
            { name: 'double_id', expression: 'id * 2' },
            { name: 'name', expression: "upper(name) || '!'" },
          ],
        },
      ],
      out: sink('s.r1_out'),
    }
    const id = await run(nodes, ['in>even', 'even>shape', 'shape>out'], 's.r1_out', 5)
    expect(await lab.rows('s.r1_out')).toEqual(
      [0, 2, 4, 6, 8].map((i) => JSON.stringify({ name: `N${i}!`, double_id: String(i * 2), comment: null })),
    )
    await lab.append('s.r1', numbered(10, 12))
    await until(async () => (await lab.rows('s.r1_out')).length === 6)
    const { body } = await lab.service.get(`/api/pipeline/${id}/status`)
    expect(body.pipeline).toMatchObject({
      state: 'running',
      source_tables: ['s.r1'],
      sink_table: 's.r1_out',
      version_id: expect.stringMatching(/^ver-/),
      definition_id: expect.stringMatching(/^def-/),
    })
    await lab.service.restart()
    lab.service.context.startBackground()
    await lab.append('s.r1', numbered(12, 20))
    await until(async () => (await lab.rows('s.r1_out')).length === 10)
    await lab.service.post(`/api/pipeline/${id}/stop`, {})
  })

  it('unites two sources, with each row once', async () => {
    await lab.createTable('s.u1', idAndName)
    await lab.createTable('s.u2', [
      ['name', 'string'],
      ['id', 'int'],
    ])
    await lab.createTable('s.u_out', idAndName)
    await lab.append('s.u1', numbered(0, 5))
    await lab.append('s.u2', "SELECT 'm' || i AS c1, i::INTEGER AS c2 FROM range(5) t(i)")
    await run(
      { a: source('s.u1'), b: source('s.u2'), u: ['union'], z: sink('s.u_out') },
      ['a>u', 'b>u', 'u>z'],
      's.u_out',
      10,
    )
    await lab.append('s.u2', "SELECT 'm' || i AS c1, i::INTEGER AS c2 FROM range(5, 8) t(i)")
    await until(async () => (await lab.rows('s.u_out')).length === 13)
    await lab.append('s.u1', numbered(5, 7))
    await until(async () => (await lab.rows('s.u_out')).length === 15)
    expect(new Set(await lab.rows('s.u_out')).size).toBe(15)
  })

  it('reads one table through two branches, into partitions', async () => {
    await lab.createTable('s.d1', idAndName)
    const spec = {
      specId: 0,
      fields: [{ fieldId: 1000, sourceId: 2, name: 'kind', transform: { kind: 'identity' } }],
    } as const
    await lab.createTable(
      's.d_out',
      [
        ['id', 'long'],
        ['kind', 'string'],
      ],
      { spec },
    )
    await lab.append('s.d1', numbered(0, 100))
    const nodes: Nodes = {
      a: source('s.d1'),
      small: ['sql', { query: "SELECT id, 'small' AS kind FROM input WHERE id < 50" }],
      big: [
        'sql',
        {
          query: "WITH x AS (SELECT id FROM rows) SELECT id, 'big' AS kind FROM x WHERE id >= 50;",
          inputs: { rows: 'a' },
        },
      ],
      u: ['union'],
      z: sink('s.d_out'),
    }
    await run(nodes, ['a>small', 'a>big', 'small>u', 'big>u', 'u>z'], 's.d_out', 100)
    const rows = (await lab.rows('s.d_out')).map((row) => JSON.parse(row))
    expect(rows.filter(({ kind }) => kind === 'big')).toHaveLength(50)
    const { body } = await lab.service.get('/api/table/s.d_out/partitions')
    expect(body.partitions).toHaveLength(2)
  })

  it('refuses a graph that cannot run, with the node', async () => {
    const { version } = await define(
      { a: source('s.v_in'), f: ['filter', { condition: 'nope' }], z: sink('s.v_out') },
      'a>f',
      'f>z',
    )
    const { status, body } = await start(version)
    expect(status).toBe(422)
    expect(body.errors).toMatchObject([{ path: 'nodes.1' }])
    expect((await start('ver-none')).status).toBe(404)
  })

  it('refuses another sink, a source, or a request to create the sink', async () => {
    const { version } = await define({ a: source('s.v_in'), z: sink('s.v_out') }, 'a>z')
    for (const [field, more] of [
      ['sink_table', { sink_table: 's.v_wide' }],
      ['version_id', { source_table: 's.v_in' }],
      ['create_sink_table', { create_sink_table: true }],
    ] as const) {
      const { status, body } = await start(version, more)
      expect([field, status]).toEqual([field, 400])
      expect(body.errors[0].path).toBe(field)
    }
  })

  it('continues when the source gets a column, and reports when it loses a column in use', LONG, async () => {
    await lab.createTable('s.e1', idAndName)
    await lab.createTable('s.e_out', idAndName)
    await lab.append('s.e1', numbered(0, 3))
    const nodes: Nodes = {
      a: source('s.e1'),
      q: ['select', { columns: [{ name: 'id' }, { name: 'name', expression: 'lower(name)' }] }],
      z: sink('s.e_out'),
    }
    const id = await run(nodes, ['a>q', 'q>z'], 's.e_out', 3)
    const added = await lab.service.post('/api/evolve/add-column', { table: 's.e1', name: 'more', type: 'string' })
    expect(added.status).toBe(200)
    await lab.append('s.e1', "SELECT 3 AS c1, 'n3' AS c2, 'x' AS c3")
    await until(async () => (await lab.rows('s.e_out')).length === 4)
    const dropped = await lab.service.post('/api/evolve/drop-column', { table: 's.e1', name: 'name' })
    expect(dropped.status).toBe(409)
    expect(JSON.stringify(dropped.body)).toContain(id)
    const unused = await lab.service.post('/api/evolve/drop-column', { table: 's.e1', name: 'more' })
    expect(unused.status, JSON.stringify(unused.body)).toBe(200)
  })

  it('waits, with the reason, while a value cannot be processed', async () => {
    await lab.createTable('s.b1', idAndName)
    await lab.createTable('s.b_out', [['id', 'long']])
    await lab.append('s.b1', "SELECT 1 AS c1, 'not a number' AS c2")
    const { version } = await define(
      {
        a: source('s.b1'),
        q: ['select', { columns: [{ name: 'id', expression: 'name::BIGINT' }] }],
        z: sink('s.b_out'),
      },
      'a>q',
      'q>z',
    )
    const { body } = await start(version)
    const pipeline = await until(async () => {
      const { body: now } = await lab.service.get(`/api/pipeline/${body.pipeline.id}/status`)
      return now.pipeline.state === 'degraded' && now.pipeline
    })
    expect(pipeline.error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('not a number') })
    expect(await lab.rows('s.b_out')).toEqual([])
    await lab.service.post(`/api/pipeline/${body.pipeline.id}/stop`, { mode: 'immediate' })
  })
})
