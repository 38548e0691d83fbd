import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import type { lineage } from '../../../src/schemas/lineage.ts'
import type { Wire } from '../../../src/schemas/wire.ts'
import { type Lifecycle, lifecycle } from '../../support/lifecycle.ts'
import { until } from '../../support/waiting.ts'
import { graphOf } from '../../services/deployments/deploy-lab.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'

type Lineage = Wire<typeof lineage>
type Node = Lineage['nodes'][number]
type Edge = Lineage['edges'][number]

let lab: StreamLab
let life: Lifecycle
beforeAll(async () => {
  lab = await openLab()
  life = await lifecycle(lab.service)
})
afterAll(() => lab.close())

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

let made = 0
/** Names of new tables that exist, such as `s.l1_a`. */
async function tables(...names: readonly string[]): Promise<readonly string[]> {
  made += 1
  const full = names.map((name) => `s.l${made}_${name}`)
  for (const name of full) await lab.createTable(name, COLUMNS)
  return full
}

async function copy(source: string, sink: string): Promise<string> {
  const { status, body } = await life.engineer.call('POST', '/api/pipeline/start', {
    source_table: source,
    sink_table: sink,
    checkpoint_location: `cp/${source}-${sink}`,
    trigger_interval: '100 ms',
  })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.pipeline.id
}

async function read(table: string | undefined, more = ''): Promise<Lineage> {
  const name = table === undefined ? '' : `table=${encodeURIComponent(table)}&`
  const { status, body } = await lab.service.get(`/api/lineage?${name}${more}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

const tablesIn = ({ nodes }: Lineage): readonly string[] =>
  nodes.flatMap((node) => (node.kind === 'table' ? [node.table] : []))
const edge = ({ edges }: Lineage, kind: Edge['kind'], end: string): Edge | undefined =>
  edges.find((one) => one.kind === kind && (one.from.endsWith(end) || one.to.endsWith(end)))
const node = ({ nodes }: Lineage, id: string): Node | undefined => nodes.find((one) => one.id === id)

/** The lineage once the pipeline has copied everything. */
function whenCopied(table: string, pipelineId: string): Promise<Lineage> {
  return until(async () => {
    const found = await read(table)
    const lag = found.edges.find(({ kind, to }) => kind === 'reads' && to === `pipeline:${pipelineId}`)?.lag
    return lag && lag.snapshots === 0 && found
  })
}

describe('the lineage of a table that a pipeline copies', () => {
  it('has both tables, the pipeline with its state, the lag and the columns', async () => {
    const [from = '', to = ''] = await tables('from', 'to')
    await lab.append(from, numbered(0, 5))
    const id = await copy(from, to)
    const found = await whenCopied(to, id)
    expect(node(found, `pipeline:${id}`)).toMatchObject({
      kind: 'pipeline',
      state: 'running',
      source_tables: [from],
      sink_tables: [to],
      version_id: null,
    })
    expect(tablesIn(found)).toEqual([to, from])
    expect(node(found, `table:${from}`)).toMatchObject({ exists: true, band: 'unknown', score: null })
    expect(edge(found, 'reads', from)).toMatchObject({
      state: 'running',
      columns: ['id', 'name'],
      column_sources: null,
      lag: { snapshots: 0, rows: 0 },
    })
    expect(edge(found, 'writes', to)).toMatchObject({
      columns: ['id', 'name'],
      column_sources: [
        { column: 'id', sources: [{ table: from, column: 'id' }] },
        { column: 'name', sources: [{ table: from, column: 'name' }] },
      ],
      lag: null,
    })
    expect((await read(to, 'columns=false')).edges.map(({ columns }) => columns)).toEqual([null, null])
  })

  it('shows a renamed column under its new name', async () => {
    const [from = '', to = ''] = await tables('from', 'to')
    await lab.append(from, numbered(0, 5))
    const id = await copy(from, to)
    await whenCopied(to, id)
    expect((await life.engineer.call('POST', `/api/pipeline/${id}/stop`)).status).toBe(200)
    const renamed = { table: from, name: 'name', new_name: 'title' }
    const answer = await life.engineer.call('POST', '/api/evolve/rename-column', renamed)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect(edge(await read(to), 'writes', to)?.column_sources?.[1]).toEqual({
      column: 'name',
      sources: [{ table: from, column: 'title' }],
    })
  })

  it('shows no lag of a pipeline that has stopped', async () => {
    const [from = '', to = ''] = await tables('from', 'to')
    await lab.append(from, numbered(0, 5))
    const id = await copy(from, to)
    await whenCopied(to, id)
    await life.engineer.call('POST', `/api/pipeline/${id}/stop`)
    await lab.append(from, numbered(5, 9))
    expect(edge(await read(to), 'reads', from)).toMatchObject({ state: 'stopped', lag: null })
  })

  it('ends in a cycle, which a version that does not run can close', async () => {
    const [a = '', b = ''] = await tables('a', 'b')
    await copy(a, b)
    await life.create('the way back', graphOf([b], a))
    const found = await read(a, 'depth=20')
    expect(tablesIn(found)).toEqual([a, b])
    expect(found.edges.filter(({ kind }) => kind === 'reads' || kind === 'writes')).toHaveLength(4)
  })
})

describe('a table that is gone', () => {
  it('stays in the lineage as long as a pipeline names it', async () => {
    const [from = '', to = ''] = await tables('from', 'to')
    const id = await copy(from, to)
    await lab.catalog().dropTable(parseIdentifier(from))
    const found = await read(from)
    expect(node(found, `table:${from}`)).toMatchObject({ exists: false, score: null })
    expect(edge(found, 'reads', from)).toMatchObject({ columns: null })
    expect(tablesIn(await read(to))).toEqual([to, from])
    await lab.createTable(from, COLUMNS)
    const again = await until(async () => {
      const now = await read(from)
      const pipeline = node(now, `pipeline:${id}`)
      return pipeline?.kind === 'pipeline' && pipeline.error !== null && now
    })
    // the new table has the name of the old one; the pipeline says that it is another
    expect(node(again, `table:${from}`)).toMatchObject({ exists: true })
    expect(node(again, `pipeline:${id}`)).toMatchObject({ state: expect.stringMatching(/failed|degraded/) })
  })

  it('that nothing names is unknown', async () => {
    const { status, body } = await lab.service.get('/api/lineage?table=s.never')
    expect([status, body.code]).toEqual([404, 'NO_SUCH_TABLE'])
    expect((await lab.service.get('/api/lineage?table=other.never')).status).toBe(404)
  })
})

describe('names', () => {
  it('that differ only in case are different tables, which the answer names', async () => {
    const [lower = '', out = ''] = await tables('case', 'out')
    const upper = lower.replace('case', 'CASE')
    await lab.createTable(upper, COLUMNS)
    await copy(upper, out)
    const found = await read(lower)
    expect(tablesIn(found)).toEqual([lower])
    expect(found.similar_tables).toEqual([upper])
    expect(tablesIn(await read(upper))).toEqual([upper, out])
  })

  it('with characters that are not visible come back as they are', async () => {
    const odd = `s.${['a', 'b', '\u200b', '\u202e', '"', "'"].join('')}z`
    await lab.createTable(odd, COLUMNS)
    const [out = ''] = await tables('out')
    await copy(odd, out)
    expect(tablesIn(await read(odd))).toEqual([odd, out])
    const ids = (await read(out)).nodes.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('versions', () => {
  it('that no pipeline runs are part of the lineage, with the parameters of their environment', async () => {
    const [from = '', to = ''] = await tables('from', 'to')
    const parameters = { lake: 's', secret: 'env:LAKE_SECRET' }
    const put = await lab.service.call('PUT', '/api/environments/qa', { body: { parameters } })
    expect(put.status, JSON.stringify(put.body)).toBe(200)
    const graph = graphOf([from.replace('s.', '${lake}.')], to, 'name <> ${secret}')
    const place = await life.create('by parameter', graph)
    await life.bring(place, 'qa')
    const found = await read(from)
    expect(node(found, `version:${place.versionId}`)).toMatchObject({
      definition_name: 'by parameter',
      version: 1,
      environment: 'qa',
      source_tables: [from],
      sink_tables: [to],
    })
    expect(edge(found, 'belongs_to', place.versionId)?.to).toBe('environment:qa')
    expect(edge(found, 'writes', to)).toMatchObject({ state: null, lag: null, columns: ['id', 'name'] })
    expect(JSON.stringify(found)).not.toContain('SECRET')
  })

  it('with a problem count with the tables that they name; older and retired ones do not count', async () => {
    const [from = '', older = '', to = ''] = await tables('from', 'older', 'to')
    const first = await life.create('changing', graphOf([older], to))
    await life.addVersion(
      first.definitionId,
      graphOf([from, '${unknown}.table', 'no-namespace', 'x'.repeat(2000)], to, 'no_such_column > 1'),
    )
    const found = await read(to)
    expect(tablesIn(found)).toEqual([to, from])
    expect(edge(found, 'reads', from)?.columns).toBeNull()
    expect((await read(older)).edges).toEqual([])
  })

  it('that a pipeline runs lead to the pipeline', async () => {
    const [from = '', to = ''] = await tables('from', 'to')
    const place = await life.create('running', graphOf([from], to, 'id > 3'))
    const started = await life.engineer.call('POST', '/api/pipeline/start', {
      version_id: place.versionId,
      checkpoint_location: `cp/${to}`,
      trigger_interval: '100 ms',
    })
    expect(started.status, JSON.stringify(started.body)).toBe(200)
    const found = await read(to)
    const id = `pipeline:${started.body.pipeline.id}`
    expect(edge(found, 'runs', place.versionId)).toMatchObject({ from: `version:${place.versionId}`, to: id })
    expect(node(found, id)).toMatchObject({ environment: 'development', definition_id: place.definitionId })
    expect(edge(found, 'reads', from)?.columns).toEqual(['id', 'name'])
    expect(found.edges.filter(({ kind }) => kind === 'writes')).toHaveLength(1)
    await life.engineer.call('POST', `/api/pipeline/${started.body.pipeline.id}/stop`)
    await life.engineer.call('DELETE', `/api/pipeline/${started.body.pipeline.id}`)
    expect(edge(await read(to), 'writes', to)).toMatchObject({ from: `version:${place.versionId}`, state: null })
  })
})

describe('a version that a pipeline ran in an earlier environment', () => {
  it('has the tables of its own environment', async () => {
    const [from = '', to = ''] = await tables('from', 'to')
    const [there = ''] = await tables('from')
    for (const [environment, source] of [
      ['development', from],
      ['qa', there],
    ] as const) {
      const put = await lab.service.call('PUT', `/api/environments/${environment}`, {
        body: { parameters: { source } },
      })
      expect(put.status, JSON.stringify(put.body)).toBe(200)
    }
    const place = await life.create('promoted', graphOf(['${source}'], to))
    const started = await life.engineer.call('POST', '/api/pipeline/start', {
      version_id: place.versionId,
      checkpoint_location: `cp/${to}`,
      trigger_interval: '100 ms',
    })
    expect(started.status, JSON.stringify(started.body)).toBe(200)
    await life.engineer.call('POST', `/api/pipeline/${started.body.pipeline.id}/stop`)
    await life.bring(place, 'qa')
    const found = await read(to)
    expect(node(found, `version:${place.versionId}`)).toMatchObject({ environment: 'qa', source_tables: [there] })
    expect(node(found, `pipeline:${started.body.pipeline.id}`)).toMatchObject({ source_tables: [from] })
  })
})

describe('the lineage of the lake', () => {
  it('has every pipeline and version, up to the limit', async () => {
    const all = await read(undefined)
    expect(all.table).toBeNull()
    expect(all.truncated).toBe(false)
    expect(all.edges.every(({ columns }) => columns === null)).toBe(true)
    const few = await read(undefined, 'limit=3')
    expect(few.truncated).toBe(true)
    expect(few.nodes.filter(({ kind }) => kind === 'table' || kind === 'pipeline')).toHaveLength(3)
  })

  it('is readable by an Auditor, and refuses limits out of range', async () => {
    expect((await life.auditor.call('GET', '/api/lineage')).status).toBe(200)
    for (const query of ['limit=0', 'limit=2001', 'depth=21', 'direction=sideways', 'table=x', 'tabel=s.a']) {
      expect((await lab.service.get(`/api/lineage?${query}`)).status, query).toBe(400)
    }
  })
})
