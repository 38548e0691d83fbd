import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ env: { LAKE_API_KEY: 'a-very-secret-value', CONFIG_ENV_ALLOW: 'OTHER_KEY' } })
})
afterAll(() => service.close())

const put = (environment: string, body: unknown, headers = {}) =>
  service.call('PUT', `/api/environments/${environment}`, { body, headers })

const DEFAULTS = {
  trigger_interval: '5 seconds',
  checkpoint_root: 'checkpoints',
  max_files_per_batch: 1000,
  max_bytes_per_batch: 2 ** 30,
  engine: 'embedded',
}

const NEEDS_APPROVAL = ['uat', 'production']
const ONE_APPROVAL = { required: 1, forbid_self: false, expires_after: null }

describe('environments', () => {
  it('have defaults until they are changed', async () => {
    const { status, body } = await service.get('/api/environments')
    expect(status).toBe(200)
    expect(body).toEqual(
      ['development', 'qa', 'uat', 'production'].map((environment) => ({
        environment,
        parameters: {},
        writes: ['*'],
        deploy: 'manual',
        defaults: DEFAULTS,
        approvals: NEEDS_APPROVAL.includes(environment) ? ONE_APPROVAL : null,
        windows: [],
        rollback_if: null,
        managed_by: null,
        revision: 0,
        updated_at: null,
      })),
    )
    expect((await service.get('/api/environments/retired')).status).toBe(400)
  })

  it('keep what a change does not name, and replace parameters and writes as a whole', async () => {
    const parameters = { schema: 'sales', n: 1.5, on: true, key: 'env:LAKE_API_KEY', other: 'env:OTHER_KEY' }
    await put('qa', { parameters, writes: ['qa.*'], defaults: { max_files_per_batch: 5 } })
    const { body } = await put('qa', { deploy: 'on_arrival', defaults: { trigger_interval: '1 min' } })
    expect(body).toMatchObject({
      parameters,
      writes: ['qa.*'],
      deploy: 'on_arrival',
      defaults: { ...DEFAULTS, max_files_per_batch: 5, trigger_interval: '1 min' },
    })
    expect((await put('qa', { parameters: { a: 1 }, writes: [] })).body).toMatchObject({
      parameters: { a: 1 },
      writes: [],
    })
    await service.restart()
    const read = await service.get('/api/environments/qa')
    expect(read.body).toMatchObject({ parameters: { a: 1 }, deploy: 'on_arrival', revision: 3 })
    expect(read.headers.get('etag')).toBe('"3"')
  })

  it.each(['/etc', '../../x', 'checkpoints/../../x', 'file:///etc', 's3://bucket/x', '~/x', 'scratch/x', 'a%2e%2e/x'])(
    'refuse the checkpoint_root %s, where no pipeline may have a checkpoint',
    async (root) => {
      const { status, body } = await put('qa', { defaults: { checkpoint_root: root } })
      expect([status, body.errors?.[0]?.path], JSON.stringify(body)).toEqual([422, 'defaults.checkpoint_root'])
      expect((await service.get('/api/environments/qa')).body.defaults.checkpoint_root).toBe('checkpoints')
    },
  )

  it('accept a checkpoint_root in LOCKHOUSE_HOME or in the warehouse', async () => {
    const { warehouse } = (await service.get('/api/config')).body
    for (const root of ['checkpoints', 'a/b', `${warehouse}/_checkpoints`]) {
      const { status, body } = await put('qa', { defaults: { checkpoint_root: root } })
      expect([status, body.defaults?.checkpoint_root], JSON.stringify(body)).toEqual([200, root])
    }
  })

  it('are changed only if they are as the caller read them', async () => {
    const [first, ...others] = await Promise.all(
      Array.from({ length: 8 }, (_, n) => put('uat', { parameters: { n } }, { 'If-Match': '"0"' })),
    ).then((answers) => answers.sort((a, b) => a.status - b.status))
    expect(first?.status).toBe(200)
    expect(others.map(({ status }) => status)).toEqual(Array.from({ length: 7 }, () => 412))
    expect((await put('uat', { writes: [] }, { 'If-Match': '"1"' })).status).toBe(200)
  })

  it('record changes with before and after, and never the value of a secret', async () => {
    await put('production', { parameters: { key: 'env:LAKE_API_KEY' } })
    await put('production', { parameters: { key: 'env:LAKE_API_KEY', m: 2 } })
    const [entry] = (await service.get('/api/audit?object=production')).body
    expect(entry).toMatchObject({
      action: 'environment.update',
      outcome: 'done',
      details: {
        before: { parameters: { key: 'env:LAKE_API_KEY' } },
        after: { parameters: { key: 'env:LAKE_API_KEY', m: 2 } },
      },
    })
    const { events } = (await service.get('/api/events?type=environment.updated')).body
    expect(events.at(-1).data).toEqual({ environment: 'production', fields: ['parameters'], revision: 2 })
    const seen = [await service.get('/api/environments'), await service.get('/api/audit'), events]
    expect(JSON.stringify(seen)).not.toContain('a-very-secret-value')
  })

  it.each([
    [{}],
    [{ parameter: {} }],
    [{ parameters: { '1a': 1 } }],
    [{ parameters: { 'a-b': 1 } }],
    [{ parameters: { ['a'.repeat(64)]: 1 } }],
    [{ parameters: { a: null } }],
    [{ parameters: { a: ['x'] } }],
    [{ parameters: { a: 'env:' } }],
    [{ parameters: { a: 'env:A-B' } }],
    [{ parameters: { a: 'x'.repeat(2001) } }],
    [{ parameters: Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`p${n}`, n])) }],
    [{ writes: '*' }],
    [{ writes: [''] }],
    [{ writes: ['a\n'] }],
    [{ writes: Array.from({ length: 201 }, () => '*') }],
    [{ deploy: 'now' }],
    [{ defaults: { trigger_interval: '5 parsecs' } }],
    [{ defaults: { max_files_per_batch: 0 } }],
    [{ defaults: { engine: 'other' } }],
    [{ defaults: { more: 1 } }],
  ])('refuse what is not valid (%#)', async (body) => {
    expect((await put('development', body)).status).toBe(400)
    expect((await service.get('/api/environments/development')).body.revision).toBe(0)
  })

  it('refuse numbers that are not finite, and __proto__', async () => {
    for (const text of ['{"parameters":{"a":1e400}}', '{"parameters":{"__proto__":1}}']) {
      const headers = { 'Content-Type': 'application/json' }
      expect((await service.call('PUT', '/api/environments/development', { text, headers })).status).toBe(400)
    }
    expect((await put('development', { parameters: { constructor: 1 } })).body.parameters).toEqual({ constructor: 1 })
  })

  it('refuse variables that the server does not allow, naming the parameter', async () => {
    const { status, body } = await put('production', { parameters: { ok: 'env:OTHER_KEY', bad: 'env:PATH' } })
    expect(status).toBe(422)
    expect(body.errors).toEqual([{ path: 'parameters.bad', message: expect.stringContaining('CONFIG_ENV_ALLOW') }])
  })
})
