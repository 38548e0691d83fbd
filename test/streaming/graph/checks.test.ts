import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../support/waiting.ts'
import { HOSTILE } from '../../engines/duckdb/sandbox/hostile-sql.ts'
import { deleteRow, openLab, orphansOf, type StreamLab } from '../support.ts'

type Nodes = Record<string, [string, Record<string, unknown>?]>

let lab: StreamLab
let count = 0
beforeAll(async () => {
  lab = await openLab({ env: { LAKE_KEY: 'opensesame-zulu' } })
})
afterAll(() => lab.close())

const columns = [
  ['id', 'long'],
  ['name', 'string'],
  ['amount', 'double'],
] as const

const divertColumns = [
  ['_reason', 'string'],
  ['_batch_id', 'long'],
  ['_pipeline', 'string'],
  ['_diverted_at', 'timestamptz'],
] as const
/** The rows of a table of diverted rows without their stamps. */
const noStamp: [string, Record<string, unknown>] = ['select', { columns: columns.map(([name]) => ({ name })) }]

const source = (table: string): [string, Record<string, unknown>] => ['iceberg-source', { table }]
const sink = (table: string): [string, Record<string, unknown>] => ['iceberg-sink', { table }]

/** Creates a definition with one version of a graph whose nodes follow each other. */
async function define(nodes: Nodes): Promise<{ def: string; version: string }> {
  const ids = Object.keys(nodes)
  const { status, body } = await lab.service.post('/api/pipeline-defs', {
    name: `checks ${(count += 1)}`,
    nodes: Object.entries(nodes).map(([id, [type, config = {}]]) => ({ id, type, config })),
    edges: ids.slice(1).map((id, at) => ({ id: `e${at}`, source: ids[at], target: id })),
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return { def: body.definition.id, version: body.version.id }
}

async function validate(nodes: Nodes) {
  const { def, version } = await define(nodes)
  const { body } = await lab.service.post(`/api/pipeline-defs/${def}/versions/${version}/validate`, {})
  return body.problems.map((problem: { node_id: string; code: string; message: string }) => ({
    at: `${problem.node_id} ${problem.code}`,
    message: problem.message,
  }))
}

const start = (version: string, checkpoint = `cp/checks-${(count += 1)}`) =>
  lab.service.post('/api/pipeline/start', {
    version_id: version,
    checkpoint_location: checkpoint,
    trigger_interval: '100 ms',
  })

const pipelineOf = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline

/** Starts a graph; resolves when it has done a batch, or has failed or degraded. */
async function run(nodes: Nodes) {
  const { version } = await define(nodes)
  const { status, body } = await start(version)
  expect(status, JSON.stringify(body)).toBe(200)
  return settled(body.pipeline.id)
}

async function settled(id: string) {
  await until(async () => {
    const { state, last_progress: progress } = await pipelineOf(id)
    return state === 'failed' || state === 'degraded' || progress !== null
  }, 'a batch')
  return pipelineOf(id)
}

async function parsed(table: string): Promise<Record<string, unknown>[]> {
  return (await lab.rows(table)).map((text) => JSON.parse(text))
}

const ROWS = `SELECT * FROM (VALUES (1::BIGINT, 'a', 1.0::DOUBLE), (2, NULL, 2.0), (3, 'c', -3.0), (4, NULL, -4.0), (5, 'e', NULL)) t(c1, c2, c3)`

async function makeTables(name: string): Promise<void> {
  await lab.createTable(`s.${name}`, columns)
  await lab.createTable(`s.${name}_out`, columns)
  await lab.append(`s.${name}`, ROWS)
}

const expectation = (name: string, condition: string, action: string, more: object = {}) => ({
  name,
  condition,
  on_failure: action,
  ...more,
})

describe('a check node', () => {
  it('drops and diverts rows that fail, and counts them', async () => {
    await makeTables('mixed')
    const nodes: Nodes = {
      a: source('s.mixed'),
      c: [
        'check',
        {
          expectations: [
            expectation('has a name', 'name IS NOT NULL', 'drop'),
            expectation("it's positive", 'amount > 0', 'divert'),
            expectation('always', '1 = 1', 'fail'),
          ],
          divert_to: 's.mixed_bad',
        },
      ],
      z: sink('s.mixed_out'),
    }
    expect(await validate(nodes)).toMatchObject([{ at: 'c NO_SUCH_TABLE' }])
    const { def, version } = await define(nodes)
    const created = await lab.service.post(`/api/pipeline-defs/${def}/versions/${version}/sink-table`, {})
    expect(created.status, JSON.stringify(created.body)).toBe(201)
    expect(created.body.tables.map(({ table }: { table: string }) => table)).toEqual(['s.mixed_bad'])
    expect(await validate(nodes)).toEqual([])
    const pipeline = await run(nodes)
    expect(pipeline.error).toBeNull()
    expect(await parsed('s.mixed_out')).toEqual([{ id: '1', name: 'a', amount: 1 }])
    const bad = await parsed('s.mixed_bad')
    expect(bad.map(({ id, _reason: reason, _batch_id: batch, _pipeline: by }) => [id, reason, batch, by])).toEqual([
      ['3', "it's positive", '0', pipeline.id],
      ['4', "has a name, it's positive", '0', pipeline.id],
      ['5', "it's positive", '0', pipeline.id],
    ])
    expect(Date.now() - Date.parse(String(bad[0]?.['_diverted_at']))).toBeLessThan(60_000)
    expect(pipeline).toMatchObject({ divert_tables: ['s.mixed_bad'], lookup_tables: [] })
    expect(pipeline.last_progress).toMatchObject({
      num_input_rows: 5,
      rows_diverted: 3,
      rows_dropped: 1,
      checks: [
        { node_id: 'c', name: 'has a name', failed: 2, total: 5 },
        { node_id: 'c', name: "it's positive", failed: 3, total: 5 },
        { node_id: 'c', name: 'always', failed: 0, total: 5 },
      ],
    })
  })

  it('stops the pipeline before anything is committed if a row fails an expectation that allows none', async () => {
    await makeTables('strict')
    await lab.createTable('s.strict_bad', [...columns, ...divertColumns])
    const failed = await run({
      a: source('s.strict'),
      c: [
        'check',
        {
          expectations: [
            expectation('named', 'name <> $$x$$', 'fail'),
            expectation('positive', 'amount > 0', 'divert'),
          ],
          divert_to: 's.strict_bad',
        },
      ],
      z: sink('s.strict_out'),
    })
    expect(failed).toMatchObject({ state: 'failed', error: { code: 'CHECK_FAILED' }, last_progress: null })
    expect(failed.error.message).toMatch(/^node c: 2 of 5 rows of the batch fail "named", such as \{.*'name': NULL/)
    expect(await lab.rows('s.strict_out')).toEqual([])
    expect(await lab.rows('s.strict_bad')).toEqual([])
    expect(await orphansOf(await lab.load('s.strict_bad'))).toEqual([])
  })

  it.each([
    [0.5, 'failed', 0],
    [0.6, 'running', 2],
  ])('allows a share of %d of the rows to fail', async (ratio, state, rows) => {
    const name = `ratio${ratio * 10}`
    await makeTables(name)
    const ended = await run({
      a: source(`s.${name}`),
      c: ['check', { expectations: [expectation('positive', 'amount > 0', 'drop', { max_ratio: ratio })] }],
      z: sink(`s.${name}_out`),
    })
    expect(ended.state).toBe(state)
    expect(ended.error?.message ?? '').toContain(rows === 0 ? 'more than the allowed share of 0.5' : '')
    expect(await lab.rows(`s.${name}_out`)).toHaveLength(rows)
  })

  it('diverts every row, batch after batch, if its condition never holds', async () => {
    await makeTables('never')
    await lab.createTable('s.never_bad', [...columns, ...divertColumns], {
      spec: { specId: 0, fields: [{ fieldId: 1000, sourceId: 2, name: 'name', transform: { kind: 'identity' } }] },
    })
    const nodes: Nodes = {
      a: source('s.never'),
      c: ['check', { expectations: [expectation('never', 'NULL', 'divert')], divert_to: 's.never_bad' }],
      z: sink('s.never_out'),
    }
    const { id } = await run(nodes)
    await lab.append('s.never', ROWS, ROWS)
    await until(async () => (await lab.rows('s.never_bad')).length === 15, '15 diverted rows')
    const batches = new Set((await parsed('s.never_bad')).map(({ _batch_id: batch }) => batch))
    expect([...batches].toSorted()).toEqual(['0', '1'])
    expect(await lab.rows('s.never_out')).toEqual([])
    expect((await pipelineOf(id)).last_progress.rows_diverted).toBe(10)
    const { body } = await lab.service.get('/api/events?type=pipeline.diverted')
    const told = body.events.filter((event: { object_id: string }) => event.object_id === id)
    expect(told).toMatchObject([{ data: { divert_tables: ['s.never_bad'], batch_id: 0, rows_diverted: 5 } }])
  })

  it('computes a row that passes and a row that fails once, although the query is random', async () => {
    await makeTables('dice')
    await lab.append('s.dice', 'SELECT i AS c1, NULL::VARCHAR AS c2, NULL::DOUBLE AS c3 FROM range(100, 3000) t(i)')
    await lab.createTable('s.dice_bad', [...columns, ...divertColumns])
    await run({
      a: source('s.dice'),
      r: ['select', { columns: [{ name: 'id' }, { name: 'name' }, { name: 'amount', expression: 'random()' }] }],
      c: [
        'check',
        { expectations: [expectation('high', 'amount > 0.5 AND random() > 0.1', 'divert')], divert_to: 's.dice_bad' },
      ],
      z: sink('s.dice_out'),
    })
    const ids = [...(await parsed('s.dice_out')), ...(await parsed('s.dice_bad'))].map(({ id }) => id)
    expect(ids.length).toBe(2905)
    expect(new Set(ids).size).toBe(2905)
  })

  it('shares its table of diverted rows with another check of the version', async () => {
    await makeTables('pair')
    await lab.createTable('s.pair_bad', [...columns, ...divertColumns])
    const { last_progress: progress } = await run({
      a: source('s.pair'),
      c: ['check', { expectations: [expectation('named', 'name IS NOT NULL', 'divert')], divert_to: 's.pair_bad' }],
      d: ['check', { expectations: [expectation('paid', 'amount > 0', 'divert')], divert_to: 's.pair_bad' }],
      z: sink('s.pair_out'),
    })
    expect(progress).toMatchObject({ rows_diverted: 4, sink: { num_output_rows: 1 } })
    const reasons = (await parsed('s.pair_bad')).map(({ id, _reason: reason }) => `${String(id)} ${String(reason)}`)
    expect(reasons.toSorted()).toEqual(['2 named', '3 paid', '4 named', '5 paid'])
  })

  it('is refused where its tables or its config cannot work', async () => {
    await makeTables('refused')
    await lab.createTable('s.refused_narrow', divertColumns)
    await lab.createTable('s.refused_bad', [...columns, ...divertColumns])
    const at = (config: object) =>
      validate({ a: source('s.refused'), c: ['check', { ...config }], z: sink('s.refused_out') })
    const divert = expectation('x', 'id > 0', 'divert')
    for (const [config, code, words] of [
      [{ expectations: [divert], divert_to: 's.refused_out' }, 'c INVALID_CONFIG', 'is the sink'],
      [{ expectations: [divert], divert_to: 's.REFUSED' }, 'c INVALID_CONFIG', 'is a source'],
      [{ expectations: [divert], divert_to: 's.refused_narrow' }, 'c COLUMN_MISMATCH', 'no column id'],
      [{ expectations: [divert] }, 'c INVALID_CONFIG', 'divert_to'],
      [
        { expectations: [expectation('x', 'id > 0', 'drop')], divert_to: 's.refused_bad' },
        'c INVALID_CONFIG',
        'divert_to',
      ],
      [{ expectations: [divert, divert], divert_to: 's.refused_bad' }, 'c INVALID_CONFIG', 'different names'],
      [{ expectations: [expectation('x', 'id > 0', 'fail', { max_ratio: 0.1 })] }, 'c INVALID_CONFIG', 'max_ratio'],
      [{ expectations: [expectation('x', 'nope > 0', 'drop')] }, 'c INVALID_SQL', 'nope'],
      [{ expectations: [expectation('x', 'COLUMNS(*) IS NOT NULL', 'drop')] }, 'c INVALID_SQL', 'one value'],
      [{ expectations: [expectation('x', 'max(id) > 0', 'drop')] }, 'c INVALID_SQL', 'expectation x'],
      [{ expectations: [expectation('x', 'true), (true', 'drop')] }, 'c INVALID_SQL', 'expectation x'],
      [{ expectations: [expectation('x', 'true) THEN true ELSE (true', 'drop')] }, 'c INVALID_SQL', 'expectation x'],
      [{ expectations: [expectation('x', 'lockhouse_verdict IS NULL', 'drop')] }, 'c INVALID_SQL', 'lockhouse_verdict'],
      [{ expectations: [expectation('x', 'id IN (FROM lockhouse_source_0)', 'drop')] }, 'c INVALID_SQL', 'no table'],
    ] as const) {
      const [problem] = await at(config)
      expect(problem, JSON.stringify(config)).toMatchObject({ at: code })
      expect(problem.message).toContain(words)
    }
  })

  it('refuses every hostile text as a condition', async () => {
    await makeTables('hostile')
    // a single word is the name of a column, and the API refuses NUL
    const texts = HOSTILE.filter((text) => text.includes(' ') && !text.includes('\0')).map((text) =>
      text.replaceAll('$F', '/tmp').replaceAll('$P', '1'),
    )
    const checks = texts.map((text, at) => [`c${at}`, ['check', { expectations: [expectation('x', text, 'drop')] }]])
    const found = await validate({ a: source('s.hostile'), ...Object.fromEntries(checks), z: sink('s.hostile_out') })
    expect(texts.length).toBeGreaterThan(100)
    expect(found.map(({ at }: { at: string }) => at)).toEqual(texts.map((_, at) => `c${at} INVALID_SQL`))
  })

  it('diverts rows of a batch that is merged into a sink by key', async () => {
    await makeTables('merging')
    await lab.append('s.merging_out', "SELECT 2::BIGINT AS c1, 'old' AS c2, 0.5::DOUBLE AS c3")
    await lab.createTable('s.merging_bad', [...columns, ...divertColumns])
    const nodes = (write: object): Nodes => ({
      a: source('s.merging'),
      c: ['check', { expectations: [expectation('positive', 'amount > 0', 'divert')], divert_to: 's.merging_bad' }],
      d: ['deduplicate', { key: ['id'], order_by: ['amount'], keep: 'last', ...write }],
      z: ['iceberg-sink', { table: 's.merging_out', write: 'upsert', key: ['id'] }],
    })
    expect(await validate(nodes({ against_sink: true }))).toMatchObject([{ at: 'd INVALID_CONFIG' }])
    await lab.append('s.merging', "SELECT 2::BIGINT AS c1, 'newer' AS c2, 9.0::DOUBLE AS c3")
    const { id, last_progress: progress } = await run(nodes({}))
    expect(await parsed('s.merging_out')).toEqual([
      { id: '1', name: 'a', amount: 1 },
      { id: '2', name: 'newer', amount: 9 },
    ])
    expect((await parsed('s.merging_bad')).map((row) => row['id'])).toEqual(['3', '4', '5'])
    expect(progress).toMatchObject({
      rows_diverted: 3,
      rows_dropped: 1,
      sink: { num_output_rows: 2, num_inserted_rows: 1, num_updated_rows: 1 },
    })
    await lab.createTable('s.merging_wrong', [...columns, ...divertColumns])
    await lab.service.post(`/api/pipeline/${id}/stop`, {})
    const wrong = await run({
      a: source('s.merging'),
      c: ['check', { expectations: [expectation('small', 'amount < 5', 'divert')], divert_to: 's.merging_wrong' }],
      z: ['iceberg-sink', { table: 's.merging_out', write: 'upsert', key: ['name'] }],
    })
    expect(wrong).toMatchObject({ state: 'failed', error: { code: 'INVALID_KEY' } })
    expect(await orphansOf(await lab.load('s.merging_wrong'))).toEqual([])
    expect(await lab.rows('s.merging_wrong')).toEqual([])
  })

  it('names neither a secret nor a row of a condition with a secret', async () => {
    await makeTables('secret')
    await lab.service.call('PUT', '/api/environments/development', { body: { parameters: { limit: 'env:LAKE_KEY' } } })
    const ended = await run({
      a: source('s.secret'),
      c: ['check', { expectations: [expectation('known', 'name = ${limit}', 'fail')] }],
      z: sink('s.secret_out'),
    })
    expect(ended.error).toEqual({
      code: 'CHECK_FAILED',
      message: 'node c: 5 of 5 rows of the batch fail "known". Nothing of the batch was committed',
    })
    await lab.service.call('PUT', '/api/environments/development', { body: { parameters: {} } })
  })

  it('shares its table of diverted rows with other pipelines, but with none as their sink', async () => {
    await makeTables('first')
    await makeTables('second')
    await lab.createTable('s.shared_bad', [...columns, ...divertColumns])
    const diverting = (name: string, to = 's.shared_bad'): Nodes => ({
      a: source(`s.${name}`),
      c: ['check', { expectations: [expectation('positive', 'amount > 0', 'divert')], divert_to: to }],
      z: sink(`s.${name}_out`),
    })
    await run(diverting('first'))
    const { id } = await run(diverting('second'))
    expect(await lab.rows('s.shared_bad')).toHaveLength(6)
    await makeTables('third')
    await lab.createTable('s.bad_copy', [...columns, ...divertColumns])
    await run({ a: source('s.shared_bad'), z: sink('s.bad_copy') })
    const conflicts = [
      await define({ a: source('s.third'), z: sink('s.shared_bad') }),
      await define(diverting('third', 's.bad_copy')),
    ]
    for (const { version } of conflicts) {
      const refused = await start(version)
      expect(refused.status, JSON.stringify(refused.body)).toBe(409)
      expect(refused.body.detail).toMatch(/diverts rows into the sink|of diverted rows is the sink of pipeline/)
    }
    const circular = await define({ a: source('s.shared_bad'), q: noStamp, z: sink('s.second') })
    expect((await start(circular.version)).body.detail).toContain(id)
    const lineage = await lab.service.get('/api/lineage?table=s.shared_bad&direction=upstream')
    expect(lineage.body.nodes.map((node: { table?: string }) => node.table)).toContain('s.second')
  })
})

describe('a deduplicate node', () => {
  it('keeps one row of each key, and takes NULL keys as equal', async () => {
    await makeTables('twice')
    await lab.append(
      's.twice',
      ROWS.replaceAll(/(\d)::BIGINT|\((\d),/g, (text) => text.replace(/\d/, '9')),
    )
    const nodes = (keep: object): Nodes => ({
      a: source('s.twice'),
      d: ['deduplicate', { key: ['name'], ...keep }],
      z: sink('s.twice_out'),
    })
    expect(await validate(nodes({ keep: 'last' }))).toMatchObject([{ at: 'd INVALID_CONFIG' }])
    expect(await validate(nodes({ key: ['nope'] }))).toMatchObject([{ at: 'd INVALID_SQL' }])
    const { last_progress: progress } = await run(nodes({ keep: 'last', order_by: ['id', 'amount'] }))
    expect(await parsed('s.twice_out')).toEqual([
      { id: '9', name: 'a', amount: 1 },
      { id: '9', name: 'c', amount: -3 },
      { id: '9', name: 'e', amount: null },
      { id: '9', name: null, amount: 2 },
    ])
    expect(progress).toMatchObject({ num_input_rows: 10, rows_dropped: 6, rows_diverted: 0, checks: [] })
  })

  it('is refused where it would leave out changes of a mirror, as a lookup that drops rows is', async () => {
    await makeTables('followed')
    const refused: Nodes[string][] = [
      ['deduplicate', { key: ['id'] }],
      [
        'lookup',
        {
          table: 's.followed_out',
          on: [{ column: 'id', lookup_column: 'id' }],
          columns: [{ column: 'name', name: 'other' }],
          kind: 'inner',
        },
      ],
    ]
    for (const node of refused) {
      const nodes: Nodes = {
        a: ['iceberg-source', { table: 's.followed', read: 'changes' }],
        d: node,
        z: ['iceberg-sink', { table: 's.followed_out', write: 'mirror', key: ['id'] }],
      }
      const [problem] = await validate(nodes)
      expect(problem).toMatchObject({ at: 'd INVALID_CONFIG' })
    }
  })

  it('leaves out rows whose key is in the sink, if asked', async () => {
    await makeTables('again')
    await lab.append(
      's.again_out',
      "SELECT 7::BIGINT AS c1, 'a' AS c2, NULL::DOUBLE AS c3 UNION ALL SELECT 8, NULL, NULL",
    )
    await deleteRow(lab, 's.again_out', 7)
    const nodes = (key: string, to = 's.again_out'): Nodes => ({
      a: source('s.again'),
      d: ['deduplicate', { key: [key], order_by: ['id'], against_sink: true }],
      z: sink(to),
    })
    await lab.createTable('s.again_text', [['id', 'string']])
    expect((await validate(nodes('id', 's.again_text')))[0]).toMatchObject({ at: 'd TYPE_MISMATCH' })
    expect((await validate(nodes('name', 's.again_text')))[0]).toMatchObject({ at: 'd INVALID_CONFIG' })
    const { id, last_progress: progress } = await run(nodes('name'))
    expect(progress).toMatchObject({ num_input_rows: 5, rows_dropped: 2, sink: { num_output_rows: 3 } })
    await lab.append('s.again', `${ROWS} UNION ALL SELECT 6, 'new', 6.0`)
    await until(async () => (await pipelineOf(id)).last_progress.batch_id === 1, 'the second batch')
    expect((await parsed('s.again_out')).map((row) => [row['id'], row['name']])).toEqual([
      ['1', 'a'],
      ['3', 'c'],
      ['5', 'e'],
      ['6', 'new'],
      ['8', null],
    ])
  })
})

describe('a lookup node', () => {
  const lookup = (more: object = {}): [string, Record<string, unknown>] => [
    'lookup',
    {
      table: 's.names',
      on: [{ column: 'id', lookup_column: 'id' }],
      columns: [{ column: 'name', name: 'found' }],
      ...more,
    },
  ]
  const output = [...columns, ['found', 'string']] as const

  it('joins the rows of a table as they are when the batch starts', async () => {
    await makeTables('seeking')
    await lab.createTable('s.names', [
      ['id', 'int'],
      ['name', 'string'],
    ])
    await lab.append('s.names', "SELECT i::INTEGER AS c1, 'n' || i AS c2 FROM range(1, 4) t(i)")
    await deleteRow(lab, 's.names', 2)
    await lab.createTable('s.seeking_left', output)
    const nodes = (more: object, to: string): Nodes => ({ a: source('s.seeking'), l: lookup(more), z: sink(to) })
    const left = await run(nodes({}, 's.seeking_left'))
    expect((await parsed('s.seeking_left')).map(({ id, found }) => [id, found])).toEqual([
      ['1', 'n1'],
      ['2', null],
      ['3', 'n3'],
      ['4', null],
      ['5', null],
    ])
    expect(left).toMatchObject({ source_tables: ['s.seeking'], lookup_tables: ['s.names'] })
    expect(left.last_progress).toMatchObject({ num_input_rows: 5, rows_dropped: 0 })
    await lab.append('s.names', "SELECT 4::INTEGER AS c1, 'four' AS c2")
    await lab.append('s.seeking', "SELECT 4::BIGINT AS c1, 'later' AS c2, 0.0::DOUBLE AS c3")
    await until(async () => (await parsed('s.seeking_left')).some(({ found }) => found === 'four'), 'the later row')
    const blocked = await lab.service.post('/api/evolve-schema', {
      table_name: 's.names',
      changes: [{ operation: 'drop_column', name: 'name' }],
    })
    expect(blocked.status, JSON.stringify(blocked.body)).not.toBe(200)
    const shown = await lab.service.get('/api/lineage?table=s.names&direction=downstream')
    const edge = shown.body.edges.find(
      ({ kind, from }: { kind: string; from: string }) => kind === 'reads' && from === 'table:s.names',
    )
    expect(edge.columns).toEqual(['id', 'name'])
  })

  it('refuses a table that has a key twice, unless any row may be taken', async () => {
    await makeTables('doubtful')
    await lab.append(
      's.names',
      "SELECT NULL::INTEGER AS c1, 'x' AS c2 UNION ALL SELECT NULL, 'y' UNION ALL SELECT 1, 'one'",
    )
    await lab.createTable('s.doubtful_inner', output)
    const nodes = (more: object, to: string): Nodes => ({ a: source('s.doubtful'), l: lookup(more), z: sink(to) })
    const waiting = await run(nodes({}, 's.doubtful_inner'))
    expect(waiting).toMatchObject({ state: 'degraded', error: { code: 'INVALID_ARGUMENT' } })
    expect(waiting.error.message).toContain("the lookup table s.names has 1 key more than once, such as {'id': 1}")
    await lab.service.post(`/api/pipeline/${waiting.id}/stop`, {})
    await run(nodes({ kind: 'inner', on_duplicate: 'any' }, 's.doubtful_inner'))
    expect((await parsed('s.doubtful_inner')).map(({ id }) => id)).toEqual(['1', '3', '4'])
  })

  it('is refused where its table or its keys do not fit', async () => {
    await makeTables('misfit')
    const at = async (more: object) =>
      (await validate({ a: source('s.misfit'), l: lookup(more), z: sink('s.seeking_left') }))[0]
    expect(await at({ table: 's.nowhere' })).toMatchObject({ at: 'l NO_SUCH_TABLE' })
    expect(await at({ on: [{ column: 'name', lookup_column: 'id' }] })).toMatchObject({ at: 'l TYPE_MISMATCH' })
    expect(await at({ on: [{ column: 'id', lookup_column: 'nope' }] })).toMatchObject({ at: 'l INVALID_CONFIG' })
    expect(await at({ columns: [{ column: 'nope' }] })).toMatchObject({ at: 'l INVALID_SQL' })
    expect(await at({ columns: [{ column: 'name' }] })).toMatchObject({ at: 'l DUPLICATE_COLUMN' })
  })
})
