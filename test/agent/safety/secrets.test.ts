import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSecretRedactor } from '../../../src/agent/redaction/secret-redactor.ts'
import { openLab, type StreamLab } from '../../streaming/support.ts'
import { type ModelProvider, startModelProvider } from '../../support/model-provider/model-provider.ts'
import { calls, callsTool, fails, says, sendsJson } from '../../support/model-provider/reply.ts'
import { startServedService } from '../../support/served.ts'
import { ADMIN_TOKEN } from '../../support/service.ts'
import { callMcp, connectMcp } from '../mcp/mcp-client.ts'
import { chat, CHAT_WAYS } from './chat.ts'
import { LONG } from '../../support/effort.ts'

/** Secrets of the process, by setting. */
const ENV = {
  OPENAI_API_KEY: 'openai-key-in-the-environment',
  GROQ_API_KEY: 'gsk"with\\quotes&more',
  AUDIT_KEY: 'audit-key-in-the-environment-0123456789',
  AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  WAREHOUSE_PASSWORD: 'pass word of the warehouse',
}
/** Secrets in the settings of the catalog. */
const PROPS = {
  's3.secret-access-key': 'catalog-secret-key-0123456789',
  credential: 'client:catalog-credential-0123456789',
  token: 'env:WAREHOUSE_PASSWORD',
}
const SECRETS: readonly string[] = [...Object.values(ENV), PROPS['s3.secret-access-key'], PROPS.credential, ADMIN_TOKEN]
const IN_URL = 'hunter2-in-a-url'
const spellings = [...SECRETS, IN_URL].flatMap((secret) => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1),
  encodeURIComponent(secret),
])

let provider: ModelProvider
let lab: StreamLab
beforeAll(async () => {
  provider = await startModelProvider()
  lab = await openLab({
    env: {
      ...ENV,
      CONFIG_ENV_ALLOW: 'WAREHOUSE_PASSWORD',
      OPENAI_BASE_URL: provider.url,
      AGENT_DAILY_TOKENS: '100000000',
    },
  })
  const config = (await lab.service.get('/api/config')).body
  const { catalog_type, warehouse, catalog_name, uri } = config
  const answer = await lab.service.call('PUT', '/api/config', {
    body: { catalog_type, warehouse, catalog_name, uri, extra_props: PROPS },
  })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  await plant()
})
afterAll(async () => {
  await lab.close()
  await provider.close()
})

/** Secrets where users put them by mistake: comments, names, rows and nodes. */
async function plant(): Promise<void> {
  const fields = SECRETS.map((secret, at) => ({
    id: at + 2,
    name: `column of ${secret}`,
    required: false,
    type: { kind: 'string' as const },
    doc: `ask with ${secret} or postgres://app:${IN_URL}@db/x`,
  }))
  const schema = {
    schemaId: 0,
    identifierFieldIds: [],
    fields: [{ id: 1, name: 'note', required: false, type: { kind: 'string' as const } }, ...fields],
  }
  await lab.catalog().createTable({ namespace: ['s'], name: 'leaky' }, { schema })
  const nulls = fields.map(({ id }) => `NULL::VARCHAR AS c${id}`).join(', ')
  await lab.append('s.leaky', ...SECRETS.map((secret) => `SELECT ${quoted(secret)} AS c1, ${nulls}`))
  const nodes = SECRETS.map((secret, at) => ({
    id: `n${at}`,
    type: 'source',
    config: { password: secret, [secret]: { deep: [secret] } },
    position: { x: 0, y: 0 },
  }))
  const name = `copy with ${SECRETS[0]}`
  await lab.service.post('/api/pipeline-defs', { name, description: SECRETS.join(' '), nodes, edges: [] })
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function leaksIn(text: string): string[] {
  return spellings.filter((secret) => text.includes(secret))
}

async function definitionIds(): Promise<{ definition_id: string; version_id: string }> {
  const [definition] = (await lab.service.get('/api/pipeline-defs')).body
  const [version] = (await lab.service.get(`/api/pipeline-defs/${definition.id}/versions`)).body
  return { definition_id: definition.id, version_id: version.id }
}

/** Audit entries of the agent. Entries of users keep the names that the users chose. */
async function agentAudit(): Promise<unknown[]> {
  const { body } = await lab.service.get('/api/audit?page_size=1000')
  const entries: { channel: string; action: string }[] = body
  const own = entries.filter(({ channel, action }) => channel === 'agent' || action.startsWith('agent'))
  expect(own.length).toBeGreaterThan(9)
  return own
}

describe('secrets of the service', () => {
  it.each(CHAT_WAYS)('reach no provider, answer, transcript or audit entry (%s)', LONG, async (way) => {
    provider.reset()
    provider.script = [
      calls(
        [
          ['get_schema', { table: 's.leaky' }],
          ['table_health', { table: 's.leaky' }],
          ['query_table', { table: 's.leaky', sql: 'SELECT note FROM leaky' }],
          ['query_table', { table: 's.leaky', sql: `SELECT ${quoted(SECRETS.join())} AS x FROM leaky` }],
          ['query_table', { table: 's.leaky', sql: `SELECT "${SECRETS[0] ?? ''}" FROM leaky` }],
          ['list_definitions', {}],
          ['get_version', await definitionIds()],
          ['add_column', { table: 's.leaky', name: 'extra', type: 'string', comment: 'x' }],
          [`tool ${SECRETS[0]}`, { [SECRETS[1] ?? '']: SECRETS[2] }],
        ].map(([name, args]) => ({ name, arguments: JSON.stringify(args) })),
      ),
      says(`The keys are ${SECRETS.join(' and ')}, and -----BEGIN PRIVATE KEY----- abc`),
    ]
    const prompt = `What is ${SECRETS.join()}?`
    const end = await chat(lab.service, { prompt, provider: 'openai', model: 'm' }, { way })
    expect(end.status, end.text).toBe(200)
    expect(end.body.tool_calls).toHaveLength(9)
    // Two keys are sent with every request as its credential, so they do not count as content.
    for (const { text } of provider.received) expect(leaksIn(text)).toEqual([])
    const done = JSON.stringify(end.body)
    expect(leaksIn(done)).toEqual([])
    expect(done).toContain('[secret]')
    for (const call of end.body.tool_calls) {
      expect(() => [JSON.parse(call.arguments_json), JSON.parse(call.result_json)]).not.toThrow()
    }
    const kept = [
      (await lab.service.get(`/api/agent/chats/${end.body.chat_id}`)).body,
      (await lab.service.get('/api/agent/chats')).body,
      await agentAudit(),
      (await lab.service.get('/api/agent/providers')).body,
    ]
    for (const body of kept) expect(leaksIn(JSON.stringify(body))).toEqual([])
  })

  it('are not in the events of a stream, wherever the model splits its text', async () => {
    for (const chunkLength of [1, 3, 8, 1000]) {
      provider.reset()
      provider.script = [says(`The key is ${ENV.OPENAI_API_KEY} or ${PROPS.credential}.`, { stream: { chunkLength } })]
      const ask = { prompt: 'hello', provider: 'openai', model: 'm' }
      const end = await chat(lab.service, ask, { way: 'stream' })
      const deltas = [...end.text.matchAll(/event: delta\ndata: ([^\n]*)/g)].map(
        ([, data]) => JSON.parse(data ?? '').text,
      )
      expect(leaksIn(deltas.join('')), `chunks of ${chunkLength}`).toEqual([])
      expect(leaksIn(end.text)).toEqual([])
    }
  })

  it('are not repeated from a provider’s error', async () => {
    for (const reply of [
      fails(401),
      sendsJson({ error: { message: `Incorrect API key provided: ${ENV.OPENAI_API_KEY}` } }, { status: 400 }),
      sendsJson({ error: { message: `Bad header Authorization: Bearer ${ENV.OPENAI_API_KEY}` } }, { status: 422 }),
    ]) {
      provider.reset()
      provider.fallback = reply
      const end = await chat(lab.service, { prompt: 'hello', provider: 'openai', model: 'm' })
      expect(end.status).toBe(502)
      expect(leaksIn(end.text)).toEqual([])
    }
  })

  it('of a caller are not stored', async () => {
    provider.reset()
    provider.script = [callsTool('list_tables', {}), says('I was asked with my-own-model-key-0123')]
    const headers = { 'X-Model-Api-Key': 'my-own-model-key-0123' }
    const end = await chat(lab.service, { prompt: 'hello', provider: 'openai', model: 'm' }, { headers })
    expect(provider.received[0]?.headers.authorization).toBe('Bearer my-own-model-key-0123')
    for (const { text } of provider.received) expect(text).not.toContain('my-own-model-key-0123')
    const audit = JSON.stringify((await lab.service.get('/api/audit?page_size=50')).body)
    expect(audit).not.toContain('my-own-model-key-0123')
    expect(end.status).toBe(200)
  })

  it('do not reach MCP clients', async () => {
    const served = await startServedService({ env: ENV })
    const { catalog } = served.service.context.app
    await catalog.current().createNamespace(['s'])
    const fields = SECRETS.slice(0, 5).map((secret, at) => ({
      id: at + 1,
      name: `column of ${secret}`,
      required: false,
      type: { kind: 'string' as const },
      doc: secret,
    }))
    const schema = { schemaId: 0, identifierFieldIds: [], fields }
    await catalog.current().createTable({ namespace: ['s'], name: 'leaky' }, { schema })
    const client = await connectMcp(served.host, ADMIN_TOKEN, '2026-07-28')
    const { result } = await callMcp(client, 'get_schema', { table: 's.leaky' })
    expect(JSON.stringify(result)).toContain('[secret]')
    expect(leaksIn(JSON.stringify(result))).toEqual([])
    await client.close()
    await served.stop(false)
  })
})

describe('removal of secrets', () => {
  const { redact } = createSecretRedactor(() => [])

  it('finishes quickly for every text that users can write, where a quadratic algorithm would not', () => {
    const hostile = [
      'a.'.repeat(1_000_000),
      'a://'.repeat(500_000),
      'a://b:'.repeat(300_000),
      `${'a://b:'.repeat(300_000)}@`,
      'eyJaaaaaaaaaa-'.repeat(150_000),
      'eyJaaaaaaaaaa.'.repeat(150_000),
      '-----BEGIN '.repeat(200_000),
      '-----BEGIN PRIVATE KEY-----'.repeat(80_000),
      'lh_'.repeat(600_000),
      'sk-'.repeat(600_000),
      'AKIA'.repeat(500_000),
    ]
    for (const text of hostile) expect(redact(text).length).toBeLessThanOrEqual(text.length)
  })
})
