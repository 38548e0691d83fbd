import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allRoutes } from '../../src/routes/all-routes.ts'
import { openLab, type StreamLab } from '../streaming/support.ts'
import { actor, type Actor } from '../support/lifecycle.ts'
import type { Answer } from '../support/service.ts'
import { callTool } from '../support/mcp-call.ts'
import { until } from '../support/waiting.ts'
import { concretePath, PATH_VALUES } from './route-probes.ts'

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const
/** A word that no other text contains. */
const SECRET = /qzhid/i
const HIDDEN = 'qzhid.qzhidden'
const NOTHING = 'qznot.qznothing'
/** The same in another catalog, whose name is no secret. */
const ELSEWHERE = `lake:${HIDDEN}`

let lab: StreamLab
let eve: Actor
let otto: Actor
let nora: Actor
let lead: Actor
const ids: Record<string, string> = {}

function graph(source: string, sink: string) {
  const position = { x: 0, y: 0 }
  return {
    nodes: [
      { id: 'read', type: 'iceberg-source', config: { table: source }, position },
      { id: 'write', type: 'iceberg-sink', config: { table: sink }, position },
    ],
    edges: [{ id: 'flow', source: 'read', target: 'write' }],
  }
}

async function ok(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answer
  expect(status, JSON.stringify(body)).toBeLessThan(300)
  return body
}

/** Adds a catalog with the namespace of hidden tables. */
async function addCatalog(): Promise<void> {
  const { folder } = lab.service
  await ok(
    lab.service.post('/api/catalogs', {
      catalog_type: 'sql',
      catalog_name: 'lake',
      warehouse: `${folder}/lake`,
      uri: `sqlite:///${folder}/lake.db`,
      create: true,
    }),
  )
  await lab.catalog().member?.('lake').createNamespace(['qzhid'])
}

beforeAll(async () => {
  lab = await openLab({ overrides: { automation: { isPaused: false } } })
  await addCatalog()
  await lab.catalog().createNamespace(['qzhid'])
  for (const name of ['s.open', 's.copy', 's.mixed', 's.other', HIDDEN, ELSEWHERE, 'qzhid.qzhidcopy']) {
    await lab.createTable(name, COLUMNS)
  }
  await lab.append(HIDDEN, `SELECT 1 AS c1, 'value' AS c2`)
  await lab.append('s.open', `SELECT 1 AS c1, 'one' AS c2`)
  eve = await actor(lab.service, 'eve', 'DataEngineer')
  otto = await actor(lab.service, 'otto', 'Auditor')
  nora = await actor(lab.service, 'nora', 'DataEngineer')
  lead = await actor(lab.service, 'lea', 'LeadDataEngineer')
  const start = (source_table: string, sink_table: string) =>
    ok(
      lead.call('POST', '/api/pipeline/start', {
        source_table,
        sink_table,
        checkpoint_location: `checkpoints/${source_table}-${sink_table}`.replaceAll('qzhid', 'x'),
        trigger_interval: '500 ms',
      }),
    )
  ids['pipeline'] = (await start(HIDDEN, 's.mixed')).pipeline.id
  ids['openPipeline'] = (await start('s.open', 's.copy')).pipeline.id
  const made = await ok(
    lead.call('POST', '/api/pipeline-defs', { name: 'secret', description: '', ...graph(HIDDEN, 's.other') }),
  )
  ids['definition'] = made.definition.id
  ids['version'] = made.version.id
  const open = await ok(
    lead.call('POST', '/api/pipeline-defs', { name: 'open', description: '', ...graph('s.open', 's.copy') }),
  )
  ids['openDefinition'] = open.definition.id
  ids['openVersion'] = open.version.id
  const path = `/api/pipeline-defs/${ids['definition']}/versions/${ids['version']}/promote`
  await ok(lead.call('POST', path, {}))
  ids['approval'] = (await ok(lead.call('POST', path, {}))).id
  await ok(lead.call('POST', '/api/compact', { table: HIDDEN }))
  ids['operation'] = (await ok(lead.call('GET', `/api/operations?table=${HIDDEN}`))).operations[0].id
  await ok(lead.call('PUT', '/api/environments/qa', { parameters: { place: HIDDEN }, writes: ['*', HIDDEN] }))
  await ok(
    lead.call('POST', '/api/policies', {
      name: 'qzhidpolicy',
      tables: [HIDDEN],
      operations: [{ operation: 'compact' }],
      when: { small_files_over: 5 },
      mode: 'shadow',
    }),
  )
  await ok(lead.call('POST', '/api/compact', { table: ELSEWHERE }))
  await until(async () => (await lead.call('GET', '/api/health-index')).body.tables.length >= 7)
  // with the first batch, the sink names its source in a property
  await until(async () => SECRET.test(JSON.stringify((await lead.call('GET', '/api/table/s.mixed')).body)))
  await ok(
    lead.call('PUT', '/api/grants', [
      { principal: 'user:eve', role: 'DataEngineer', tables: ['s.*'] },
      { principal: 'user:otto', role: 'DataEngineer', tables: ['s.*'] },
    ]),
  )
})
afterAll(() => lab.close())

const HIDDEN_VALUES = (): Record<string, string> => ({
  ...PATH_VALUES,
  pipeline_id: ids['pipeline'] ?? '',
  def_id: ids['definition'] ?? '',
  ver_id: ids['version'] ?? '',
  a: ids['version'] ?? '',
  b: ids['version'] ?? '',
  operation_id: ids['operation'] ?? '',
  req_id: ids['approval'] ?? '',
})
const OPEN_VALUES = (): Record<string, string> => ({
  ...PATH_VALUES,
  table_name: 's.open',
  pipeline_id: ids['openPipeline'] ?? '',
  def_id: ids['openDefinition'] ?? '',
  ver_id: ids['openVersion'] ?? '',
  a: ids['openVersion'] ?? '',
  b: ids['openVersion'] ?? '',
})

function filled(path: string, values: Record<string, string>): string {
  concretePath(path)
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '')
}

/** Queries that routes need. */
const QUERIES: Readonly<Record<string, string>> = { '/api/recovery-points': '?table=s.open' }
const CHANGING = /\/(stop|promote|deploy|undeploy|rollback|retire|demote|rehearse|sink-table)$|^\/api\/(auth|notebook)/

async function bytesOf(user: Actor, method: string, path: string, body?: unknown): Promise<string> {
  const { status, headers, body: answer } = await user.call(method, path, body)
  return `${status} ${JSON.stringify([...headers])} ${JSON.stringify(answer)}`
}

describe('a table without a grant', () => {
  it('is in no answer of any route, and a lead sees it in many', async () => {
    let seen = 0
    const routes = allRoutes(lab.service.context.app).filter(({ unavailable }) => unavailable?.() === undefined)
    for (const { method, path: pattern } of routes) {
      if (method === 'delete' || CHANGING.test(pattern) || pattern === '/api/pipeline/monitor') continue
      const verb = method.toUpperCase()
      const bodies = verb === 'GET' ? [undefined] : [{}]
      for (const values of [HIDDEN_VALUES(), OPEN_VALUES(), { ...OPEN_VALUES(), table_name: 's.mixed' }]) {
        if (values['table_name'] === 's.mixed' && !pattern.includes('{table_name}')) continue
        const path = filled(pattern, values) + (QUERIES[pattern] ?? '')
        for (const body of bodies) {
          for (const user of [eve, otto, nora]) {
            expect(await bytesOf(user, verb, path, body), `${verb} ${path} as ${user.user}`).not.toMatch(SECRET)
          }
          if (verb === 'GET' && SECRET.test(await bytesOf(lead, verb, path))) seen += 1
        }
      }
    }
    expect(seen).toBeGreaterThan(20)
  }, 400_000)

  const namespaceIn = (table: string): string => table.replace(/^lake:/, '').split('.')[0] ?? ''

  it('answers every request that names it as a table that does not exist', async () => {
    const requests = (table: string): [string, string, unknown?][] => [
      ...['', '/schema', '/health', '/snapshots', '/files', '/rows', '/changes', '/readers', '/health/history'].map(
        (view): [string, string] => ['GET', `/api/table/${table}${view}`],
      ),
      ['GET', `/api/lineage?table=${table}`],
      ['GET', `/api/recovery-points?table=${table}`],
      ['GET', `/api/operations?table=${table}`],
      ['GET', `/api/quarantine?table=${table}`],
      ['GET', `/api/tables?namespace=${table.split('.')[0]}`],
      ['POST', '/api/compact', { table }],
      ['POST', '/api/expire', { table }],
      ['POST', '/api/evolve/add-column', { table, name: 'x', type: 'STRING' }],
      ['POST', '/api/query', { sql: `SELECT * FROM ${table}` }],
      ['POST', '/api/query', { sql: `SELECT * FROM s.open WHERE id IN (SELECT id FROM ${table})` }],
      ['POST', '/api/query', { sql: `SELECT * FROM ${table.split('.')[1]}` }],
      ['POST', '/api/pipeline-defs/validate', graph(table, 's.copy')],
      ['POST', '/api/pipeline-defs', { name: 'n', description: '', ...graph('s.open', table) }],
      [
        'POST',
        '/api/pipeline/start',
        { source_table: table, sink_table: 's.other', checkpoint_location: 'checkpoints/e', trigger_interval: '5 s' },
      ],
      ['GET', `/iceberg/v1/namespaces/${table.split('.')[0]}`],
      ['GET', `/iceberg/v1/namespaces/${table.split('.')[0]}/tables`],
      ['GET', `/iceberg/v1/namespaces/${table.split('.')[0]}/tables/${table.split('.')[1]}`],
      ['DELETE', `/iceberg/v1/namespaces/${table.split('.')[0]}/tables/${table.split('.')[1]}`],
      ['GET', `/iceberg/v1/lake/namespaces/${namespaceIn(table)}`],
      ['GET', `/iceberg/v1/lake/namespaces/${namespaceIn(table)}/tables`],
      ['GET', `/iceberg/v1/lake/namespaces/${namespaceIn(table)}/tables/${table.split('.')[1]}`],
      ['DELETE', `/iceberg/v1/lake/namespaces/${namespaceIn(table)}/tables/${table.split('.')[1]}`],
      ['POST', '/api/query', { sql: `SELECT * FROM "lake:${namespaceIn(table)}".${table.split('.')[1]}` }],
    ]
    const neutral = (text: string, table: string): string => {
      const [namespace = '', name = ''] = table.split('.')
      return text
        .replaceAll(namespace, 'NS')
        .replaceAll(name.replace(namespace, 'NS'), 'T')
        .replaceAll(/req-[0-9a-z]+|"etag","[^"]*"|ms":\d+/g, '')
    }
    const compare = async (table: string, absent: string) => {
      const asked = requests(table)
      for (const [at, [method, path, body]] of requests(absent).entries()) {
        const hidden = asked[at] ?? ['', '']
        for (const user of [eve, nora]) {
          const real = neutral(await bytesOf(user, hidden[0], hidden[1], hidden[2]), HIDDEN)
          const none = neutral(await bytesOf(user, method, path, body), NOTHING)
          expect(real, `${method} ${path} as ${user.user}`).toBe(none)
        }
      }
    }
    await compare(HIDDEN, NOTHING)
    await compare(ELSEWHERE, `lake:${NOTHING}`)
  }, 300_000)

  it('is in no preview of a change of a table that its pipeline writes', async () => {
    const path = '/api/evolve/drop-column'
    const body = { table: 's.mixed', name: 'name', dry_run: true }
    expect(await bytesOf(lead, 'POST', path, body)).toContain(ids['pipeline'])
    const shown = await bytesOf(eve, 'POST', path, body)
    expect(shown).not.toMatch(SECRET)
  })

  it('is in no list', async () => {
    const tables = await ok(eve.call('GET', '/api/tables'))
    expect(tables.tables.map(({ table }: { table: string }) => table)).toEqual([
      's.copy',
      's.mixed',
      's.open',
      's.other',
    ])
    expect((await ok(nora.call('GET', '/api/tables'))).tables).toEqual([])
    const index = await ok(eve.call('GET', '/api/health-index?sort=name&page_size=3'))
    expect(index.totals.tables).toBe(4)
    expect(Buffer.from(index.next_page_token, 'base64').toString()).not.toMatch(SECRET)
    const pipelines = await ok(eve.call('GET', '/api/pipelines'))
    expect(pipelines.pipelines.map(({ id }: { id: string }) => id)).toEqual([ids['openPipeline']])
    const definitions = await ok(otto.call('GET', '/api/pipeline-defs'))
    expect(definitions.map(({ id }: { id: string }) => id)).toEqual([ids['openDefinition']])
    const board = await ok(otto.call('GET', '/api/pipeline-board?page_size=1'))
    expect(board.definitions.map(({ id }: { id: string }) => id)).toEqual([ids['openDefinition']])
  })

  it('is in no event and in no frame of the monitor', async () => {
    const { events } = await ok(eve.call('GET', '/api/events?since=0&limit=1000'))
    expect(events.length).toBeGreaterThan(3)
    expect(JSON.stringify(events)).not.toMatch(SECRET)
    expect(JSON.stringify(events)).not.toContain(ids['pipeline'])
    expect(JSON.stringify((await ok(lead.call('GET', '/api/events?since=0&limit=1000'))).events)).toMatch(SECRET)

    const { monitor, identity } = lab.service.context.app
    const frames = async (token: string): Promise<string> => {
      const caller = await identity.recheckToken(token)
      const ending = new AbortController()
      let text = ''
      const request = { caller, pipelineId: undefined, checkCaller: async () => caller }
      for await (const batch of monitor.watch(request, ending.signal)) {
        text += batch.join('')
        if (text.includes('"progress"')) ending.abort()
        else await lab.append('s.open', `SELECT 2 AS c1, 'two' AS c2`)
        await lab.append(HIDDEN, `SELECT 2 AS c1, 'two' AS c2`)
      }
      return text
    }
    const seen = await frames(eve.token)
    expect(seen).not.toMatch(SECRET)
    expect(seen).not.toContain(ids['pipeline'])
    expect(await frames(lead.token)).toContain(ids['pipeline'])
  }, 120_000)

  it('is in no answer of a tool, of the assistant or over MCP', async () => {
    const send = (path: string, init: RequestInit) => lab.service.app.request(path, init)
    const call = (user: Actor, name: string, args: object) =>
      callTool(send, user.token, { name, arguments: args }).then(({ result }) => JSON.stringify(result))
    for (const [name, args] of [
      ['list_tables', {}],
      ['list_tables', { matching: 'qzhidden' }],
      ['tables_needing_care', {}],
      ['list_pipelines', {}],
      ['pipeline_status', { pipeline_id: ids['pipeline'] }],
      ['table_lineage', { table: 's.mixed' }],
      ['list_definitions', {}],
      ['get_version', { definition_id: ids['definition'], version_id: ids['version'] }],
      ['list_operations', {}],
      ['list_deployments', {}],
      ['list_environments', {}],
    ] as const) {
      expect(await call(eve, name, args), name).not.toMatch(SECRET)
    }
    expect(await call(lead, 'list_tables', {})).toMatch(SECRET)
    expect(await call(lead, 'table_lineage', { table: 's.mixed' })).toMatch(SECRET)
    for (const tool of ['get_schema', 'table_health', 'list_snapshots', 'query_table']) {
      const args = tool === 'query_table' ? { sql: 'SELECT 1' } : {}
      const hidden = await call(eve, tool, { table: HIDDEN, ...args })
      const none = await call(eve, tool, { table: NOTHING, ...args })
      expect(hidden.replaceAll(HIDDEN, 'T'), tool).toBe(none.replaceAll(NOTHING, 'T'))
      expect(hidden, tool).toContain('does not exist')
    }
    for (const prompt of ['list all tables', 'which pipelines are running?', 'what is the lineage of s.mixed?']) {
      const answer = await ok(eve.call('POST', '/api/agent/chat', { prompt, provider: 'builtin', model: 'builtin' }))
      expect(JSON.stringify(answer), prompt).not.toMatch(SECRET)
    }
  }, 200_000)

  it('is not in the served catalog', async () => {
    expect(JSON.stringify((await eve.call('GET', '/iceberg/v1/namespaces')).body)).not.toMatch(SECRET)
    expect(JSON.stringify((await lead.call('GET', '/iceberg/v1/namespaces')).body)).toMatch(SECRET)
    const rename = {
      source: { namespace: ['qzhid'], name: 'qzhidden' },
      destination: { namespace: ['s'], name: 'mine' },
    }
    expect((await eve.call('POST', '/iceberg/v1/tables/rename', rename)).status).toBe(404)
    const commit = {
      'table-changes': [{ identifier: rename.source, requirements: [], updates: [] }],
    }
    expect((await eve.call('POST', '/iceberg/v1/transactions/commit', commit)).status).toBe(404)
    expect((await eve.call('GET', '/iceberg/v1/namespaces/s/tables/open')).status).toBe(200)
    const mixed = '/iceberg/v1/namespaces/s/tables/mixed'
    expect(JSON.stringify((await lead.call('GET', mixed)).body)).toMatch(SECRET)
    expect(JSON.stringify((await eve.call('GET', mixed)).body)).not.toMatch(SECRET)
  })
})

describe('a role on a table', () => {
  it('is never higher than the own role', async () => {
    expect((await otto.call('GET', '/api/table/s.open')).status).toBe(200)
    expect((await otto.call('POST', '/api/compact', { table: 's.open' })).status).toBe(403)
  })

  it('that is lower than a route needs is refused with the table', async () => {
    const before = await lead.call('GET', '/api/grants')
    await ok(
      lead.call('PUT', '/api/grants', [
        ...before.body,
        { principal: 'user:nora', role: 'Auditor', tables: ['s.open'] },
      ]),
    )
    expect((await nora.call('GET', '/api/table/s.open')).status).toBe(200)
    for (const [path, body] of [
      ['/api/compact', { table: 's.open' }],
      ['/api/query', { sql: 'SELECT * FROM s.open' }],
    ] as const) {
      const { status, body: problem } = await nora.call('POST', path, body)
      expect(status, path).toBe(403)
      expect(problem.detail).toContain('s.open')
    }
    expect((await nora.call('GET', '/api/table/s.open/rows')).status).toBe(403)
    await ok(lead.call('PUT', '/api/grants', before.body))
    expect((await nora.call('GET', '/api/table/s.open')).status).toBe(404)
  })
})

describe('grants', () => {
  it('have an entity tag, and a change leaves before and after in the audit log', async () => {
    const { headers, body } = await lead.call('GET', '/api/grants')
    const tag = headers.get('etag') ?? ''
    expect((await lead.call('PUT', '/api/grants', body, { 'If-Match': '"0"' })).status).toBe(412)
    const changed = await lead.call('PUT', '/api/grants', body, { 'If-Match': tag })
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(tag)
    const entries = await ok(lead.call('GET', '/api/audit?object_type=grants'))
    expect(entries[0]).toMatchObject({ action: 'grants.update', actor: 'lea' })
    expect(entries[0].details.before).toEqual(body)
    expect(entries[0].details.after).toEqual(body)
  })

  it('explain which of them give a role', async () => {
    const why = await ok(lead.call('GET', '/api/access?user=eve&table=s.open'))
    expect(why).toMatchObject({ limited: true, role: 'DataEngineer' })
    expect(why.grants).toHaveLength(1)
    const hidden = await ok(lead.call('GET', `/api/access?user=eve&table=${HIDDEN}`))
    expect(hidden).toMatchObject({ role: null, grants: [] })
  })

  it('limit nobody when there are none', async () => {
    const { body } = await lead.call('GET', '/api/grants')
    await ok(lead.call('PUT', '/api/grants', []))
    expect((await nora.call('GET', `/api/table/${HIDDEN}`)).status).toBe(200)
    await ok(lead.call('PUT', '/api/grants', body))
    expect((await nora.call('GET', `/api/table/${HIDDEN}`)).status).toBe(404)
  })
})
