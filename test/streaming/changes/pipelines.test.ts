import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { produceSnapshot } from '../../../src/iceberg/update/stage/snapshot-producer.ts'
import { writeAddedFiles } from '../../../src/iceberg/update/stage/stage-append.ts'
import { addColumn } from '../../../src/iceberg/update/apply/schema-update.ts'
import { until } from '../../support/waiting.ts'
import { deleteRow, numbered, openLab, type StreamLab } from '../support.ts'

let lab: StreamLab
beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

const post = (body: object) => lab.service.post('/api/pipeline/start', { trigger_interval: '100 ms', ...body })
const status = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline

async function start(name: string, body: object): Promise<string> {
  const answer = await post({
    source_table: `s.${name}`,
    sink_table: `s.${name}_sink`,
    checkpoint_location: `cp/${name}`,
    create_sink_table: true,
    ...body,
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.pipeline.id
}

const untilRows = (name: string, rows: readonly string[]) =>
  until(async () => {
    const found = await lab.rows(`s.${name}_sink`).catch(() => [])
    return found.join() === rows.join() ? true : undefined
  }, `rows of ${name}`)

const untilFailed = (id: string) =>
  until(async () => {
    const { state, error } = await status(id)
    return state === 'failed' ? error : undefined
  }, `${id} fails`)

/** Replaces the row with this id in one commit, as an update of a copy-on-write table does. */
async function replaceRow(id: number, name: string): Promise<void> {
  const table = await lab.load('s.u')
  const rows = (await lab.rows('s.u')).map((row) => JSON.parse(row))
  const values = rows.map((row) => `(${row.id}::BIGINT, '${Number(row.id) === id ? name : row.name}')`)
  const added = await lab.write('s.u', `SELECT * FROM (VALUES ${values.join(', ')}) t(c1, c2)`)
  await commitTable(lab.catalog(), table.identifier, (fresh) =>
    produceSnapshot(fresh, { operationId: `update-${crypto.randomUUID()}` }, async (producer) => ({
      operation: 'overwrite',
      manifests: await writeAddedFiles(producer, { content: 'data', files: added }),
      summary: {},
      removedDeleteFiles: 0,
    })),
  )
}

const json = (id: number, name: string | null) => JSON.stringify({ id: String(id), name })

const graph = (source: object, sink: object, ...steps: (readonly [string, object])[]) => {
  const nodes = [['iceberg-source', source] as const, ...steps, ['iceberg-sink', sink] as const]
  return {
    name: `graph ${crypto.randomUUID()}`,
    nodes: nodes.map(([type, config], at) => ({ id: `n${at}`, type, config })),
    edges: nodes.slice(1).map((_, at) => ({ id: `e${at}`, source: `n${at}`, target: `n${at + 1}` })),
  }
}

async function validate(body: object) {
  const made = await lab.service.post('/api/pipeline-defs', body)
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const path = `/api/pipeline-defs/${made.body.definition.id}/versions/${made.body.version.id}`
  return { path, version: made.body.version.id, ...(await lab.service.post(`${path}/validate`, {})).body }
}

describe('a pipeline that mirrors changes', () => {
  it('applies inserts, updates and deletes, and says how many', async () => {
    await lab.createTable('s.orders', COLUMNS)
    await lab.append('s.orders', numbered(0, 10))
    const id = await start('orders', { read: 'changes', write: 'mirror', key: ['id'] })
    await untilRows('orders', await lab.rows('s.orders'))
    expect(await status(id)).toMatchObject({ read: 'changes', write: 'mirror', key: ['id'] })
    await deleteRow(lab, 's.orders', 3)
    await untilRows('orders', await lab.rows('s.orders'))
    const deleted = await until(async () => {
      const { sink } = (await status(id)).last_progress
      return sink.num_deleted_rows === 1 ? sink : undefined
    }, 'a deleted row')
    expect(deleted).toMatchObject({ num_output_rows: 0, num_inserted_rows: 0, num_updated_rows: 0 })
    const { metadata } = await lab.load('s.orders_sink')
    expect(metadata.sortOrders.at(-1)?.fields.map(({ sourceId }) => sourceId)).toEqual([1])
  })

  it('stays a mirror when it is started again without saying so', async () => {
    await lab.createTable('s.again', COLUMNS)
    await lab.append('s.again', numbered(0, 3))
    const modes = { read: 'changes', write: 'mirror', key: ['id'] }
    const id = await start('again', modes)
    await untilRows('again', await lab.rows('s.again'))
    await lab.service.post(`/api/pipeline/${id}/stop`, {})
    await deleteRow(lab, 's.again', 1)
    expect(await start('again', {})).toBe(id)
    await untilRows('again', await lab.rows('s.again'))
    expect(await status(id)).toMatchObject(modes)
    const batches = await until(async () => {
      const { progress } = (await lab.service.get(`/api/pipeline/${id}/history`)).body
      const counts = (point: Record<string, number>) =>
        ['inserted', 'updated', 'deleted'].map((kind) => point[`num_${kind}_rows`]).join(' ')
      const found: readonly string[] = progress.map(counts)
      return found.includes('0 0 1') ? found : undefined
    }, 'the deleted row in the history')
    expect(batches[0]).toBe('3 0 0')
  })

  it('reads a table that is a log of changes', async () => {
    await lab.createTable('s.log', [...COLUMNS, ['_change_type', 'string']])
    await lab.createTable('s.log_sink', COLUMNS)
    const rows = `
      SELECT * FROM (VALUES (1, 'a', 'insert'), (2, 'b', NULL), (1, 'c', 'update_after'), (2, 'b', 'delete'), (3, 'd', 'insert'),
        (3, 'd', 'delete'), (3, 'e', 'insert')) t(c1, c2, c3)`
    await lab.append('s.log', rows)
    await start('log', { create_sink_table: false, write: 'mirror', key: ['id'] })
    await untilRows('log', [json(1, 'c'), json(3, 'e')])
  })
})

describe('a pipeline that upserts', () => {
  it('keeps the last row of a key in the order of snapshots, files and rows', async () => {
    await lab.createTable('s.last', COLUMNS)
    const many = (from: string) => `SELECT i % 100 AS c1, '${from}' || i AS c2 FROM range(20000) t(i)`
    await lab.append('s.last', many('a'))
    await lab.append('s.last', many('b'), many('c'))
    await start('last', { write: 'upsert', key: ['id'], max_files_per_batch: 2 })
    await untilRows('last', Array.from({ length: 100 }, (_, at) => json(at, `c${19900 + at}`)).sort())
    await lab.append('s.last', many('d'))
    await untilRows('last', Array.from({ length: 100 }, (_, at) => json(at, `d${19900 + at}`)).sort())
  })

  it('keeps the last row also behind filters and computed columns', async () => {
    await lab.createTable('s.order', COLUMNS)
    await lab.createTable('s.order_sink', COLUMNS)
    const many = (from: string) => `SELECT i % 100 AS c1, '${from}' || i AS c2 FROM range(40000) t(i)`
    await lab.append('s.order', many('a'), many('b'))
    await lab.append('s.order', many('c'))
    const { version } = await validate(
      graph(
        { table: 's.order' },
        { table: 's.order_sink', write: 'upsert', key: ['id'] },
        ['filter', { condition: "name NOT LIKE 'a1%'" }],
        ['select', { columns: [{ name: 'id' }, { name: 'name', expression: 'upper(name)' }] }],
        ['sql', { query: 'SELECT * FROM input WHERE id < 90' }],
      ),
    )
    expect((await post({ version_id: version, checkpoint_location: 'cp/order' })).status).toBe(200)
    await untilRows('order', Array.from({ length: 90 }, (_, at) => json(at, `C${39900 + at}`)).sort())
  })

  it('keeps rows that the source deletes', async () => {
    await lab.createTable('s.kept', COLUMNS)
    await lab.append('s.kept', numbered(0, 3))
    await start('kept', { read: 'changes', write: 'upsert', key: ['id'] })
    await untilRows('kept', await lab.rows('s.kept'))
    await deleteRow(lab, 's.kept', 1)
    await lab.append('s.kept', "SELECT 2::BIGINT AS c1, 'two' AS c2")
    await untilRows('kept', [json(0, 'n0'), json(1, 'n1'), json(2, 'two')])
  })
})

describe('a column that the source gets', () => {
  it.each(['fail', 'ignore', 'add'] as const)('is treated as on_schema_change says (%s)', async (change) => {
    const name = `wide_${change}`
    await lab.createTable(`s.${name}`, COLUMNS)
    await lab.createTable(`s.${name}_sink`, COLUMNS)
    await lab.append(`s.${name}`, numbered(0, 2))
    const id = await start(name, { write: 'upsert', key: ['id'], on_schema_change: change, create_sink_table: false })
    await untilRows(name, [json(0, 'n0'), json(1, 'n1')])
    const table = await lab.load(`s.${name}`)
    await commitTable(lab.catalog(), table.identifier, async ({ metadata }) => ({
      ...addColumn(metadata, { name: 'note', type: { kind: 'string' } }),
      writtenFiles: [],
    }))
    await lab.append(`s.${name}`, "SELECT 1::BIGINT AS c1, 'one' AS c2, 'new' AS c3")
    if (change === 'fail') {
      const error = await until(async () => (await status(id)).error, 'the pipeline waits')
      expect(error).toMatchObject({ code: 'INCOMPATIBLE_SCHEMAS', message: expect.stringContaining('note') })
      return
    }
    const row = { id: '1', name: 'one', ...(change === 'add' ? { note: 'new' } : {}) }
    const others = { id: '0', name: 'n0', ...(change === 'add' ? { note: null } : {}) }
    await untilRows(
      name,
      [others, row].map((one) => JSON.stringify(one)),
    )
  })
})

describe('a pipeline that appends changes', () => {
  it('creates a log of them', async () => {
    await lab.createTable('s.audit', COLUMNS)
    await lab.append('s.audit', numbered(0, 2))
    await start('audit', { read: 'changes', key: ['id'] })
    await until(async () => (await lab.rows('s.audit_sink').catch(() => [])).length === 2, 'the first rows')
    await deleteRow(lab, 's.audit', 1)
    await until(async () => (await lab.rows('s.audit_sink')).length === 3, 'a deleted row')
    const types = (await lab.rows('s.audit_sink'))
      .map((row) => JSON.parse(row))
      .map(({ id, _change_type: type }) => id + type)
    expect(types.sort()).toEqual(['0insert', '1delete', '1insert'])
  })
})

describe('a graph that follows changes', () => {
  it('filters and computes, and mirrors the rest into a sink that it creates', async () => {
    await lab.createTable('s.g', COLUMNS)
    await lab.append('s.g', numbered(0, 10))
    const { path, version, problems } = await validate(
      graph(
        { table: 's.g', read: 'changes', key: ['id'] },
        { table: 's.g_sink', write: 'mirror', key: ['id'] },
        ['filter', { condition: 'id <> 5' }],
        ['sql', { query: 'SELECT id, upper(name) AS name, _change_type, _change_ordinal FROM input' }],
      ),
    )
    expect(problems.map(({ code }: { code: string }) => code)).toEqual(['NO_SUCH_TABLE'])
    const created = await lab.service.post(`${path}/sink-table`, {})
    expect(created.body.columns).toEqual([
      { name: 'id', type: 'long' },
      { name: 'name', type: 'string' },
    ])
    const answer = await post({ version_id: version, checkpoint_location: 'cp/g' })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    const expected = async () => {
      const rows = (await lab.rows('s.g')).map((row) => JSON.parse(row)).filter(({ id }) => id !== '5')
      return rows.map(({ id, name }) => json(id, name.toUpperCase()))
    }
    await untilRows('g', await expected())
    await deleteRow(lab, 's.g', 7)
    await untilRows('g', await expected())
  })

  it('knows the last change of a row behind a union that reverses the order', async () => {
    await lab.createTable('s.u', COLUMNS)
    await lab.createTable('s.u_sink', COLUMNS)
    await lab.append('s.u', numbered(0, 4))
    const nodes = {
      in: ['iceberg-source', { table: 's.u', read: 'changes', key: ['id'] }],
      eu: ['filter', { condition: "name = 'eu'" }],
      others: ['filter', { condition: "name <> 'eu'" }],
      all: ['union', {}],
      out: ['iceberg-sink', { table: 's.u_sink', write: 'mirror', key: ['id'] }],
    } as const
    const edges = ['in>eu', 'in>others', 'eu>all', 'others>all', 'all>out'].map((id) => {
      const [source, target] = id.split('>')
      return { id, source, target }
    })
    const listed = Object.entries(nodes).map(([id, [type, config]]) => ({ id, type, config }))
    const { version } = await validate({ name: 'union', nodes: listed, edges })
    expect((await post({ version_id: version, checkpoint_location: 'cp/u' })).status).toBe(200)
    await untilRows('u', await lab.rows('s.u'))
    await replaceRow(2, 'eu')
    await untilRows('u', await lab.rows('s.u'))
  })

  it('is refused without a key, a kind of change or one way to read', async () => {
    await lab.createTable('s.bad', COLUMNS)
    await lab.createTable('s.bad_sink', COLUMNS)
    const changes = { table: 's.bad', read: 'changes' }
    for (const [source, sink, steps, expected] of [
      [changes, { table: 's.bad_sink', write: 'mirror' }, [], 'key: is required'],
      [changes, { table: 's.bad_sink' }, [], 'set write to upsert or mirror'],
      [
        { table: 's.bad' },
        { table: 's.bad_sink', write: 'mirror', key: ['id'] },
        [],
        'a mirror needs the column _change_type',
      ],
      [changes, { table: 's.bad_sink', write: 'mirror', key: ['none'] }, [], 'no column none'],
      [{ table: 's.bad', key: ['id'] }, { table: 's.bad_sink' }, [], 'only changes have one'],
      [
        changes,
        { table: 's.bad_sink', write: 'mirror', key: ['id'] },
        [['sql', { query: 'SELECT id, name, _change_type FROM input' }]],
        'pass the column _change_ordinal on',
      ],
      [{ ...changes, key: ['none'] }, { table: 's.bad_sink', write: 'mirror', key: ['id'] }, [], 'no column none'],
    ] as const) {
      const { problems } = await validate(graph(source, sink, ...steps))
      expect(problems.map(({ message }: { message: string }) => message).join(), expected).toContain(expected)
    }
  })
})

describe('keys of other types', () => {
  it('are merged, also in batches whose rows are all left out', async () => {
    const columns = [
      ['day', 'date'],
      ['code', 'string'],
      ['at', 'timestamptz'],
      ['uid', 'uuid'],
      ['n', 'int'],
    ] as const
    const types = [...columns, ['_change_type', 'string']] as const
    await lab.createTable('s.typed', types)
    await lab.createTable('s.typed_sink', columns)
    const row = (n: number, change: string) =>
      `SELECT DATE '2026-01-01' AS c1, 'a' AS c2, TIMESTAMPTZ '2026-01-01 00:00:00+00' AS c3,
        '123e4567-e89b-12d3-a456-426614174000'::UUID AS c4, ${n}::INT AS c5, '${change}' AS c6`
    await lab.append('s.typed', row(1, 'insert'))
    await start('typed', { create_sink_table: false, write: 'upsert', key: ['day', 'code', 'at', 'uid'] })
    const numbers = async () => (await lab.rows('s.typed_sink')).map((text) => JSON.parse(text).n)
    await until(async () => (await numbers()).join() === '1', 'the first row')
    await lab.append('s.typed', row(2, 'delete'))
    await lab.append('s.typed', row(3, 'update_after'))
    await until(async () => (await numbers()).join() === '3', 'the last row')
  })
})

describe('what cannot be merged', () => {
  it('stops at a row without a key', async () => {
    await lab.createTable('s.nokey', COLUMNS)
    await lab.append('s.nokey', "SELECT NULL::BIGINT AS c1, 'x' AS c2")
    const error = await untilFailed(await start('nokey', { write: 'upsert', key: ['id'] }))
    expect(error).toMatchObject({ code: 'INVALID_KEY', message: expect.stringContaining('1 of 1 rows') })
  })

  it('stops at an unknown kind of change', async () => {
    await lab.createTable('s.odd', [...COLUMNS, ['_change_type', 'string']])
    await lab.createTable('s.odd_sink', COLUMNS)
    await lab.append('s.odd', "SELECT 1::BIGINT AS c1, 'x' AS c2, 'upsert' AS c3")
    const error = await untilFailed(await start('odd', { create_sink_table: false, write: 'mirror', key: ['id'] }))
    expect(error).toMatchObject({ code: 'INVALID_CHANGE', message: expect.stringContaining('"upsert"') })
  })

  it('is refused before the start', async () => {
    await lab.createTable('s.twice', [...COLUMNS, ['price', 'double']])
    await lab.createTable('s.twice_sink', [...COLUMNS, ['price', 'double']])
    await lab.append('s.twice_sink', "SELECT 7::BIGINT AS c1, 'x' AS c2, 1.5::DOUBLE AS c3 FROM range(2)")
    const place = { source_table: 's.twice', sink_table: 's.twice_sink', checkpoint_location: 'cp/twice' }
    for (const [body, code, text] of [
      [{ write: 'upsert', key: ['id'] }, 422, 'has 2 rows with the key id 7'],
      [{ write: 'upsert', key: ['price'] }, 422, 'cannot identify a row'],
      [{ write: 'upsert', key: ['nothing'] }, 422, 'no column nothing'],
      [{ write: 'upsert', key: ['id', 'ID'] }, 422, 'names a column twice'],
      [{ write: 'upsert' }, 400, 'is required'],
      [{ write: 'mirror', key: ['name'] }, 422, 'which rows are deleted'],
      [{ key: ['id'] }, 400, 'for pipelines that write with'],
      [{ read: 'changes', engine: 'spark', write: 'mirror', key: ['id'] }, 422, ''],
      [{ read: 'changes' }, 422, 'no column _change_type'],
    ] as const) {
      const { status: found, body: answer } = await post({ ...place, ...body })
      expect([found, JSON.stringify(answer)], JSON.stringify(body)).toEqual([code, expect.stringContaining(text)])
    }
  })
})
