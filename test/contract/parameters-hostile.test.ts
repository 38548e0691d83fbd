import { readdir, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DeployLab, openDeployLab } from '../services/deployments/deploy-lab.ts'
import { HOSTILE_NUMBERS, hostileTexts, REFUSED_VALUES } from './hostile-values.ts'
import { LONG, runs, shareOf } from '../support/effort.ts'

/** Values per pipeline. */
const CHUNK = 12

let lab: DeployLab
let texts: readonly string[]
beforeAll(async () => {
  lab = await openDeployLab({ env: { LAKE_KEY: 'a-secret-of-the-server' } })
  const { folder } = lab.lab.service
  texts = hostileTexts(folder)
  await writeFile(`${folder}/canary.csv`, 'secret\ncanary\n')
  await lab.lab.catalog().createNamespace(['other'])
  for (const table of ['s.victim', 'other.secret', 's.texts', 's.numbers']) {
    await lab.lab.createTable(table, [
      ['id', 'long'],
      ['name', table === 's.numbers' ? 'double' : 'string'],
    ])
  }
  await lab.lab.append('s.victim', "SELECT 1::BIGINT AS c1, 'kept' AS c2")
  await lab.lab.append('other.secret', "SELECT 1::BIGINT AS c1, 'secret' AS c2")
  await lab.lab.append('s.texts', rowsOf([...texts, 'admin', 'x', 'OR', '1']))
  const numbers = HOSTILE_NUMBERS.map((text, id) => `SELECT ${id}::BIGINT AS c1, '${text}'::DOUBLE AS c2`)
  await lab.lab.append('s.numbers', [...numbers, 'SELECT 999::BIGINT, 42::DOUBLE'].join(' UNION ALL '))
})
afterAll(() => lab.close())

/** A query of the texts, which has them only as hexadecimal digits. */
function rowsOf(names: readonly string[]): string {
  const hex = (text: string): string => Buffer.from(text, 'utf8').toString('hex')
  const rows = names.map((text, id) => `(${id}::BIGINT, decode(unhex('${hex(text)}')))`)
  return `SELECT * FROM (VALUES ${rows.join(', ')}) t(c1, c2)`
}

/** Sets the parameters of development, given as JSON texts. */
async function configure(parameters: Readonly<Record<string, string>>, writes = ['s.sink_*']) {
  const members = Object.entries(parameters).map(([name, value]) => `${JSON.stringify(name)}:${value}`)
  const text = `{"parameters":{${members.join(',')}},"writes":${JSON.stringify(writes)}}`
  return lab.lab.service.call('PUT', '/api/environments/development', { text })
}

async function mustConfigure(values: readonly string[]): Promise<void> {
  const { status, body } = await configure(Object.fromEntries(values.map((value, at) => [`v${at}`, value])))
  expect(status, JSON.stringify(body)).toBe(200)
}

/** Each value alone in a filter, a SQL node and a selection; the branches are joined. */
function branches(source: string, sink: string, ids: readonly number[], type: 'VARCHAR' | 'DOUBLE') {
  const value = (id: number): string => `CAST(\${v${id}} AS ${type})`
  const nodes = ids.flatMap((id) => [
    { id: `filter${id}`, type: 'filter', config: { condition: `name = \${v${id}}` } },
    {
      id: `sql${id}`,
      type: 'sql',
      config: { query: `SELECT id, name, ${value(id)} AS given FROM input WHERE name = \${v${id}}` },
    },
    {
      id: `select${id}`,
      type: 'select',
      config: {
        columns: [{ name: 'id' }, { name: 'name' }, { name: 'given' }, { name: 'picked', expression: value(id) }],
      },
    },
  ])
  const edges = ids.flatMap((id) => [
    { id: `a${id}`, source: 'in', target: `filter${id}` },
    { id: `b${id}`, source: `filter${id}`, target: `sql${id}` },
    { id: `c${id}`, source: `sql${id}`, target: `select${id}` },
    { id: `d${id}`, source: `select${id}`, target: 'all' },
  ])
  return {
    nodes: [
      { id: 'in', type: 'iceberg-source', config: { table: source } },
      ...nodes,
      { id: 'all', type: 'union', config: {} },
      { id: 'out', type: 'iceberg-sink', config: { table: sink } },
    ],
    edges: [...edges, { id: 'e', source: 'all', target: 'out' }],
  }
}

/** Deploys the branches, waits for the batch, and answers the rows of the sink. */
async function run(kind: 'texts' | 'numbers', ids: readonly number[]): Promise<readonly object[]> {
  const type = kind === 'texts' ? 'string' : 'double'
  const sink = `s.sink_${kind}_${ids[0] ?? 0}`
  await lab.lab.createTable(sink, [
    ['id', 'long'],
    ['name', type],
    ['given', type],
    ['picked', type],
  ])
  const graph = branches(`s.${kind}`, sink, ids, kind === 'texts' ? 'VARCHAR' : 'DOUBLE')
  const place = await lab.users.create(sink, graph)
  const { status, body } = await lab.deploy(place)
  expect(status, JSON.stringify(body)).toBe(200)
  await lab.untilState(place, 'in_sync')
  const rows = (await lab.lab.rows(sink)).map((row) => JSON.parse(row) as { id: string })
  await lab.change('undeploy', place)
  await lab.untilState(place, 'none')
  return rows.sort((a, b) => Number(a.id) - Number(b.id))
}

/** All tables except the sinks, with their snapshots and rows. */
async function untouched(): Promise<unknown> {
  const { body } = await lab.lab.service.get('/api/tables?page_size=500')
  const names: string[] = body.tables.map(({ name, table }: Record<string, string>) => table ?? name)
  const states: Record<string, unknown> = {}
  for (const name of names) {
    if (name.startsWith('s.sink_')) continue
    const { metadata } = await lab.lab.load(name)
    const snapshots = metadata.snapshots.map(({ snapshotId }) => String(snapshotId))
    states[name] = { current: String(metadata.currentSnapshotId), snapshots, rows: await lab.lab.rows(name) }
  }
  return states
}

/** Everything in the service's folder except what the service itself writes: state, audit, tables, checkpoints, scratch. */
async function strangers(): Promise<readonly string[]> {
  const { folder } = lab.lab.service
  const all = await readdir(folder, { recursive: true })
  const own = /^(home\/(warehouse|state\.db|catalog\.db|lock\.db|audit|scratch|checkpoints)|lab-scratch)/
  return all.filter((path) => !own.test(path)).sort()
}

/** Runs something, after which all tables but the sinks and all files outside of the warehouse are as before. */
async function leavesAlone<T>(work: () => Promise<T>): Promise<T> {
  const before = { tables: await untouched(), files: await strangers(), here: (await readdir('.')).sort() }
  expect(Object.keys(Object(before.tables))).toEqual(expect.arrayContaining(['s.victim', 'other.secret', 's.texts']))
  const done = await work()
  expect({ tables: await untouched(), files: await strangers(), here: (await readdir('.')).sort() }).toEqual(before)
  return done
}

const inChunks = (length: number): readonly (readonly number[])[] => {
  const ids = Array.from({ length }, (_, id) => id)
  return Array.from({ length: Math.ceil(length / CHUNK) }, (_, at) => ids.slice(at * CHUNK, (at + 1) * CHUNK))
}

/** In CI, each value is tried in one of four places; otherwise in all of them. */
const PLACES = runs(4, 1) === 4 ? 1 : 4

// On Bun only, which runs the service: the values reach DuckDB, whatever the runtime, and the tests take minutes.
describe.skipIf(!('Bun' in globalThis))('hostile values of parameters', { ...LONG, timeout: 900_000 }, () => {
  it('are at least 60, and all different', () => {
    expect(new Set(texts).size).toBe(texts.length)
    expect(texts.length).toBeGreaterThanOrEqual(60)
  })

  it('are only values in filters, SQL and selections of deployed pipelines', async () => {
    await mustConfigure(texts.map((text) => JSON.stringify(text)))
    await leavesAlone(async () => {
      for (const ids of shareOf(inChunks(texts.length))) {
        const expected = ids.map((id) => ({ id: String(id), name: texts[id], given: texts[id], picked: texts[id] }))
        expect(await run('texts', ids)).toEqual(expected)
      }
    })
  })

  it('are only values when they are numbers', async () => {
    await mustConfigure(HOSTILE_NUMBERS)
    await leavesAlone(async () => {
      const rows = await run('numbers', [...HOSTILE_NUMBERS.keys()])
      const expected = HOSTILE_NUMBERS.map((text, id) => {
        const value = Number(text) + 0
        return { id: String(id), name: value, given: value, picked: value }
      })
      expect(rows).toEqual(expected)
    })
  })

  it.each([
    ['a source', '${v}', 's.sink_texts_0', 0],
    ['a source in a schema', 's.${v}', 's.sink_texts_0', 1],
    ['a sink', 's.texts', '${v}', 2],
    ['a sink in a schema', 's.texts', 's.${v}', 3],
  ])('are no name of a table: %s', async (_, source, sink, at) => {
    const named = ['s.victim', 'other.secret']
    await mustConfigure(texts.map((text) => JSON.stringify(text)))
    const refused = await leavesAlone(async () => {
      let count = 0
      for (const [id, text] of texts.entries()) {
        if (id % PLACES !== at % PLACES) continue
        // Reading a table by its plain name is what the parameter is for.
        if (source === '${v}' && named.includes(text)) continue
        const graph = branches(
          source.replace('${v}', `\${v${id}}`),
          sink.replace('${v}', `\${v${id}}`),
          [0, 1],
          'VARCHAR',
        )
        const place = await lab.users.create(`name ${id}`, graph)
        const { status, body } = await lab.deploy(place)
        expect({ text, status }, JSON.stringify(body)).toEqual({ text, status: 422 })
        const node = sink.includes('${v}') ? 'nodes.out' : 'nodes.in'
        expect(body.errors[0].path).toContain(node)
        expect((await lab.deploymentOf(place)).pipeline_id).toBe(null)
        count += 1
      }
      return count
    })
    expect(refused).toBeGreaterThanOrEqual(Math.floor(50 / PLACES))
  })

  it.each(REFUSED_VALUES)(
    'are refused when they are no text, number or boolean, or no allowed secret: %s',
    async (value) => {
      await mustConfigure(['1'])
      const { status, body } = await configure({ v0: value })
      expect([400, 422], JSON.stringify(body)).toContain(status)
      const { body: after } = await lab.lab.service.get('/api/environments/development')
      expect(after.parameters).toEqual({ v0: 1 })
    },
  )

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'do not come from objects: ${%s}',
    async (name) => {
      await mustConfigure(['1'])
      const graph = branches('s.texts', 's.sink_texts_0', [0, 1], 'VARCHAR')
      const text = JSON.stringify(graph).replaceAll('${v0}', `\${${name}}`)
      const place = await lab.users.create('object', JSON.parse(text))
      const { body } = await lab.lab.service.post(`${place.version}/validate?environment=development`, {})
      expect(body.problems[0]).toMatchObject({ code: 'UNKNOWN_PARAMETER', parameter: name, node_id: 'filter0' })
    },
  )
})
