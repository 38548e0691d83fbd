import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allTools } from '../../../src/agent/tools/all-tools.ts'
import { hasRole, type Role, ROLES } from '../../../src/domain/roles.ts'
import { QUICK } from '../../services/deployments/deploy-lab.ts'
import { GRAPH } from '../../support/lifecycle.ts'
import { until } from '../../support/waiting.ts'
import { type ServedService, startServedService } from '../../support/served.ts'
import { callMcp, connectMcp, type Era, ERAS, tokenFor } from './mcp-client.ts'
import { LONG } from '../../support/effort.ts'

const TABLE = 'demo.events'
/** No pipeline reads this table, so its columns may be changed. */
const SPARE = 'demo.spare'
/** The source of a pipeline. The pipeline leaves its pin in this table. */
const PIPED = 'demo.piped'

let served: ServedService
let tokens: Readonly<Record<Role, string>>
let samples: Readonly<Record<string, Record<string, unknown>>>
beforeAll(async () => {
  served = await startServedService({
    events: { commits: 4, filesPerCommit: 3, rowsPerFile: 50 },
    overrides: { deployments: QUICK },
  })
  const { service } = served
  tokens = {
    Auditor: await tokenFor(service, 'aud', 'Auditor'),
    DataEngineer: await tokenFor(service, 'eng', 'DataEngineer'),
    LeadDataEngineer: await tokenFor(service, 'lead', 'LeadDataEngineer'),
  }
  const fields = ['kept', 'renamed', 'dropped'].map((name, at) => ({
    id: at + 1,
    name,
    required: false,
    type: { kind: 'string' as const },
  }))
  const schema = { schemaId: 0, identifierFieldIds: [], fields }
  for (const name of ['spare', 'piped', 'sink_1', 'sink_2']) {
    await service.context.app.catalog.current().createTable({ namespace: ['demo'], name }, { schema })
  }
  samples = await sampleArguments()
}, 300_000)
afterAll(() => served.stop(false))

async function sampleArguments(): Promise<typeof samples> {
  const { service } = served
  const created = await service.post('/api/pipeline-defs', { name: 'copy', description: 'x', ...GRAPH })
  const definition_id = created.body.definition.id
  const second = await service.post(`/api/pipeline-defs/${definition_id}/versions`, GRAPH)
  const start = {
    source_table: PIPED,
    sink_table: 'demo.copied',
    checkpoint_location: 'checkpoints/copied',
    trigger_interval: '1 hour',
    create_sink_table: true,
  }
  const started = await service.post('/api/pipeline/start', start)
  const pipeline_id = started.body.pipeline.id
  const deployed = await twiceDeployed()
  const versions = { from_version_id: created.body.version.id, to_version_id: second.body.id }
  return {
    list_tables: {},
    get_schema: { table: TABLE },
    table_health: { table: TABLE },
    tables_needing_care: {},
    list_snapshots: { table: TABLE },
    plan_compaction: { table: TABLE },
    plan_expiry: { table: TABLE, retain_last: 1, older_than: '2100-01-01T00:00:00Z' },
    query_table: { table: TABLE, sql: 'SELECT count(*) AS n FROM events' },
    list_pipelines: {},
    table_lineage: { table: TABLE, columns: true },
    pipeline_status: { pipeline_id },
    list_operations: {},
    list_definitions: {},
    list_versions: { definition_id },
    get_version: { definition_id, version_id: second.body.id },
    diff_versions: { definition_id, ...versions },
    list_environments: {},
    list_deployments: {},
    plan_deployment: deployed,
    pending_approvals: {},
    compact: { table: TABLE },
    expire_snapshots: { table: TABLE, retain_last: 1, older_than: '2100-01-01T00:00:00Z' },
    convert_deletes: { table: TABLE },
    rewrite_position_deletes: { table: TABLE, rewrite_all: true },
    rewrite_manifests: { table: TABLE },
    add_column: { table: TABLE, name: 'extra', type: 'string' },
    rename_column: { table: SPARE, name: 'renamed', new_name: 'new_name' },
    drop_column: { table: SPARE, name: 'dropped' },
    start_pipeline: { ...start, sink_table: 'demo.other', checkpoint_location: 'checkpoints/other' },
    stop_pipeline: { pipeline_id },
    deploy_pipeline: { definition_id: await defineCopy('demo.sink_2'), environment: 'development' },
    undeploy_pipeline: deployed,
    rollback_deployment: deployed,
  }
}

const graphInto = (sink: string, condition = 'true') => ({
  nodes: [
    { id: 'in', type: 'iceberg-source', config: { table: PIPED } },
    { id: 'keep', type: 'filter', config: { condition } },
    { id: 'out', type: 'iceberg-sink', config: { table: sink } },
  ],
  edges: [
    { id: 'a', source: 'in', target: 'keep' },
    { id: 'b', source: 'keep', target: 'out' },
  ],
})

async function defineCopy(sink: string): Promise<string> {
  const { body } = await served.service.post('/api/pipeline-defs', {
    name: sink,
    description: 'x',
    ...graphInto(sink),
  })
  return body.definition.id
}

/** A definition of which two versions ran in development, one after the other. */
async function twiceDeployed(): Promise<Record<string, unknown>> {
  const definition_id = await defineCopy('demo.sink_1')
  const path = `/api/pipeline-defs/${definition_id}`
  const isInSync = async () =>
    (await served.service.get(`/api/deployments?definition_id=${definition_id}`)).body[0].state === 'in_sync'
  for (const condition of [undefined, 'kept IS NOT NULL']) {
    if (condition !== undefined) await served.service.post(`${path}/versions`, graphInto('demo.sink_1', condition))
    const { status, body } = await served.service.post(`${path}/deploy`, { environment: 'development' })
    expect(status, JSON.stringify(body)).toBe(200)
    await until(isInSync)
  }
  return { definition_id, environment: 'development' }
}

const metadataOf = async (table: string): Promise<string> => {
  const [namespace = '', name = ''] = table.split('.')
  const loaded = await served.service.context.app.catalog.current().loadTable({ namespace: [namespace], name })
  return loaded.metadataLocation
}

const withClient = <T>(era: Era, role: Role, work: (client: Client) => Promise<T>): Promise<T> =>
  withToken(era, tokens[role], work)

async function withToken<T>(era: Era, token: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectMcp(served.host, token, era)
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

describe.each(ERAS)('tools over MCP version %s', (era) => {
  it('return the server’s name and version', () =>
    withClient(era, 'Auditor', async (client) => {
      expect(client.getServerVersion()).toMatchObject({ name: 'lockhouse' })
      expect(client.getNegotiatedProtocolVersion()).toBe(era)
    }))

  it.each(ROLES)('list what the role %s may call, with the effect of each tool', (role) =>
    withClient(era, role, async (client) => {
      const { tools } = await client.listTools()
      const allowed = allTools.filter((tool) => hasRole(role, tool.minRole))
      expect(tools.map(({ name }) => name)).toEqual(allowed.map(({ name }) => name))
      for (const tool of allowed) {
        const { annotations, inputSchema } = tools.find(({ name }) => name === tool.name) ?? {}
        expect(annotations).toMatchObject({
          readOnlyHint: tool.risk === 'read',
          destructiveHint: tool.risk === 'destructive',
        })
        expect(inputSchema).toMatchObject({ type: 'object', properties: expect.any(Object) })
      }
    }),
  )

  it('can all be called; those with an effect only create a pending action', () =>
    withClient(era, 'LeadDataEngineer', async (client) => {
      expect(Object.keys(samples).sort()).toEqual(allTools.map(({ name }) => name).sort())
      const before = [await metadataOf(TABLE), await metadataOf(SPARE)]
      for (const tool of allTools) {
        const { isError, result, notes } = await callMcp(client, tool.name, samples[tool.name])
        expect({ tool: tool.name, isError, result }, JSON.stringify(result)).toMatchObject({
          isError: false,
          result: { untrusted: true },
        })
        if (tool.risk === 'read' || result.data.nothing_to_do) continue
        const { id } = result.data.pending_action
        expect(result.data, tool.name).toMatchObject({ plan: expect.any(Object), summary: expect.any(String) })
        expect(notes.join()).toContain(`/api/agent/actions/${id}/confirm`)
      }
      expect([await metadataOf(TABLE), await metadataOf(SPARE)]).toEqual(before)
    }))

  it('refuse calls above the role, unknown tools and invalid arguments', () =>
    withClient(era, 'Auditor', async (client) => {
      for (const { name } of allTools.filter((tool) => !hasRole('Auditor', tool.minRole))) {
        const { isError, result } = await callMcp(client, name, samples[name])
        expect({ name, isError, code: result.error?.code }).toEqual({ name, isError: true, code: 'FORBIDDEN' })
      }
      await expect(client.callTool({ name: 'confirm_action', arguments: {} })).rejects.toMatchObject({ code: -32602 })
      await expect(client.callTool({ name: '__proto__', arguments: {} })).rejects.toMatchObject({ code: -32602 })
      const wrong = await callMcp(client, 'get_schema', { tabel: TABLE })
      expect(wrong).toMatchObject({ isError: true, result: { error: { code: 'INVALID_ARGUMENTS' } } })
    }))
})

describe('a change proposed by an assistant', () => {
  const propose = () =>
    withClient('2026-07-28', 'DataEngineer', async (client) => {
      const { result } = await callMcp(client, 'add_column', { table: TABLE, name: 'proposed', type: 'string' })
      return result.data.pending_action.id as string
    })

  it('can be confirmed by its user only', async () => {
    const id = await propose()
    const path = `/api/agent/actions/${id}/confirm`
    const before = await metadataOf(TABLE)
    const others = [tokens.LeadDataEngineer, await tokenFor(served.service, 'eng-2', 'DataEngineer')]
    for (const token of others) {
      expect((await served.service.post(path, {}, { token })).status).toBe(404)
    }
    expect(await metadataOf(TABLE)).toBe(before)
    const own = await served.service.post(path, {}, { token: tokens.DataEngineer })
    expect(own.status).toBe(200)
    expect(await metadataOf(TABLE)).not.toBe(before)
    const after = await metadataOf(TABLE)
    const again = await served.service.post(path, {}, { token: tokens.DataEngineer })
    expect(again).toMatchObject({ status: 200, body: { state: 'done' } })
    expect(await metadataOf(TABLE)).toBe(after)
  })
})

describe('the lineage that an assistant reads', () => {
  it('has columns only if they are asked for, and an expiry is proposed with who uses the table', () =>
    withClient('2026-07-28', 'DataEngineer', async (client) => {
      const {
        result: { data: short },
      } = await callMcp(client, 'table_lineage', { table: PIPED })
      expect(short.edges.every((edge: object) => !('columns' in edge))).toBe(true)
      const {
        result: { data: full },
      } = await callMcp(client, 'table_lineage', { table: PIPED, columns: true })
      expect(full.edges).toContainEqual(
        expect.objectContaining({ kind: 'reads', from: `table:${PIPED}`, columns: ['kept', 'renamed', 'dropped'] }),
      )
      const {
        result: { data: expiry },
      } = await callMcp(client, 'plan_expiry', { table: PIPED, retain_last: 1 })
      expect(expiry.plan.impact.used_by.length).toBeGreaterThan(0)
    }))
})

describe('an assistant that proposes without limit', () => {
  it('is stopped without affecting other users', LONG, async () => {
    const propose = (token: string, count: number) =>
      withToken('2026-07-28', token, async (client) => {
        const codes: string[] = []
        for (let at = 0; at < count; at += 1) {
          const { result } = await callMcp(client, 'add_column', { table: SPARE, name: `extra_${at}`, type: 'int' })
          codes.push(result.error?.code ?? 'proposed')
        }
        return codes
      })
    const token = await tokenFor(served.service, 'busy', 'DataEngineer')
    const codes = await propose(token, 102)
    expect(codes.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => 'proposed'))
    expect(codes.slice(100)).toEqual(['CONFLICT', 'CONFLICT'])
    expect(await propose(tokens.LeadDataEngineer, 1)).toEqual(['proposed'])
    const listed = await served.service.get('/api/agent/actions?page_size=1', { token })
    const [{ id }] = listed.body.actions
    expect((await served.service.post(`/api/agent/actions/${id}/dismiss`, {}, { token })).status).toBe(200)
    expect(await propose(token, 1)).toEqual(['proposed'])
  })
})

describe('the audit log', () => {
  it('has every call, as an act of the agent on behalf of the caller', async () => {
    await withClient('2025-11-25', 'Auditor', async (client) => {
      await callMcp(client, 'get_schema', { table: TABLE })
      await callMcp(client, 'drop_column', { table: TABLE, name: 'amount' })
    })
    const { body } = await served.service.get('/api/audit?actor=aud&page_size=50')
    const entries = body.filter((entry: { channel: string }) => entry.channel === 'agent')
    expect(entries.slice(0, 2)).toMatchObject([
      { actor: 'aud', role: 'Auditor', channel: 'agent', outcome: 'refused' },
      { actor: 'aud', role: 'Auditor', channel: 'agent', outcome: 'done' },
    ])
    expect((await served.service.get('/api/audit/verify')).body.ok).toBe(true)
  })
})
