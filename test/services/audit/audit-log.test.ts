import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ADMIN_TOKEN, startTestService, type TestService } from '../../support/service.ts'
import { stateKinds } from '../../support/state/state-kinds.ts'

for (const kind of stateKinds) {
  describe.skipIf(kind.skip)(`the audit log on ${kind.name}`, () => {
    let service: TestService
    beforeEach(async () => {
      const place = await kind.place()
      service = await startTestService({ env: place.env, onClose: place.remove })
    })
    afterEach(() => service.close())

    const entries = async (query = '') => (await service.get(`/api/audit${query}`)).body
    const verify = async () => (await service.get('/api/audit/verify')).body
    const actions = async () => (await entries()).map(({ action }: { action: string }) => action).reverse()

    it('has one entry per mutation: user, role, channel, action, object, outcome and request id', async () => {
      expect(await actions()).toEqual(['token.create'])
      const { body } = await service.post('/api/auth/tokens', { user: 'ada', role: 'DataEngineer', name: 'laptop' })
      const headers = { 'X-Request-Id': 'revoking-0001' }
      await service.call('DELETE', `/api/auth/tokens/${body.id}`, { headers })
      const [revoke, create] = await entries()
      expect(revoke).toMatchObject({
        actor: 'admin',
        role: 'LeadDataEngineer',
        channel: 'api',
        action: 'token.revoke',
        object_type: 'token',
        object_id: body.id,
        outcome: 'done',
        request_id: 'revoking-0001',
        details: { user: 'ada', role: 'DataEngineer', name: 'laptop' },
      })
      expect(create).toMatchObject({ action: 'token.create', object_id: body.id })
      expect(await verify()).toMatchObject({ ok: true, checked: 3 })
    })

    it('distinguishes the page, the API and the service itself by channel', async () => {
      const signedIn = await service.post('/api/auth/session', { token: ADMIN_TOKEN }, { token: null })
      const headers = {
        Cookie: signedIn.headers.get('set-cookie')?.split(';')[0] ?? '',
        'Sec-Fetch-Site': 'same-origin',
      }
      await service.call('DELETE', '/api/auth/session', { token: null, headers })
      const seen = (await entries()).map(({ action, channel, actor }: Record<string, string>) => [
        action,
        channel,
        actor,
      ])
      expect(seen).toEqual([
        ['session.end', 'web', 'admin'],
        ['session.open', 'web', 'admin'],
        ['token.create', 'system', null],
      ])
    })

    it('has one entry per refusal: every 401 and 403, and every refused mutation', async () => {
      const { body: auditor } = await service.post('/api/auth/tokens', { user: 'eve', role: 'Auditor', name: 'x' })
      const before = (await entries()).length
      const refused: readonly (readonly [string, string, object, number])[] = [
        ['GET', '/api/tables', { token: null }, 401],
        ['GET', '/api/tables', { token: 'lh_wrong', remoteAddress: '192.0.2.1' }, 401],
        ['GET', '/api/audit', { token: auditor.token }, 403],
        ['POST', '/api/compact', { token: auditor.token, body: { table: 'a.b' } }, 403],
        ['POST', '/api/compact', { body: {} }, 400],
        ['POST', '/api/compact', { text: 'x', headers: { 'Content-Type': 'text/plain' } }, 415],
        ['DELETE', '/api/auth/tokens/tok-none', {}, 404],
        ['PATCH', '/api/tables', {}, 405],
        ['PUT', '/api/config', { body: { catalog_type: 'sql' } }, 400],
      ]
      for (const [method, path, options, status] of refused) {
        expect((await service.call(method, path, options)).status, `${method} ${path}`).toBe(status)
      }
      for (const path of ['/api/tables', '/api/table/no.such', '/api/tables?page_size=x', '/api/none'])
        await service.get(path)
      const added = (await entries()).slice(0, -before).reverse()
      const shown = added
        .filter(({ action }: { action: string }) => action.startsWith('request.'))
        .map(({ actor, object_id: path, outcome, details }: Record<string, unknown>) => ({
          actor,
          path,
          outcome,
          details,
        }))
      expect(
        shown.map(({ path, details }: { path: string; details: { status: number } }) => [path, details.status]),
      ).toEqual(refused.map(([, path, , status]) => [path, status]))
      expect(shown[3]).toEqual({
        actor: 'eve',
        path: '/api/compact',
        outcome: 'refused',
        details: { method: 'POST', status: 403, code: 'FORBIDDEN' },
      })
    })

    it('records the start and the outcome of work outside the state database', async () => {
      const { status } = await service.post('/api/tables/register', {
        table: 'demo.t',
        metadata_location: 'file:///nowhere/metadata/v1.metadata.json',
      })
      expect(status).toBeGreaterThanOrEqual(400)
      expect((await actions()).slice(1)).toEqual(['table.register', 'request.refuse'])
    })

    it('records the start and the outcome of an operation, and no extra refusal', async () => {
      expect((await service.post('/api/compact', { table: 'no.such' })).status).toBe(404)
      const [finish, begin] = await entries()
      const same = { actor: 'admin', object_type: 'operation', object_id: finish.object_id }
      expect(begin).toMatchObject({ ...same, action: 'operation.begin', outcome: 'begun' })
      const details = { operation: 'compact', table: 'no.such', state: 'failed', error: 'NO_SUCH_TABLE' }
      expect(finish).toMatchObject({ ...same, action: 'operation.finish', outcome: 'failed', details })
      expect(await actions()).toEqual(['token.create', 'operation.begin', 'operation.finish'])
      const { body } = await service.get('/api/events')
      expect(body.events.map(({ type }: { type: string }) => type)).toEqual([
        'operation.started',
        'operation.finished',
        'operation.failed',
      ])
      expect(body.events[2].data).toMatchObject({
        operation: 'compact',
        state: 'failed',
        error: { code: 'NO_SUCH_TABLE', message: expect.stringContaining('no.such') },
      })
    })

    it('can be filtered by actor, object, action and time, and read page by page', async () => {
      const first = Date.now()
      for (let i = 0; i < 7; i++) await service.post('/api/auth/tokens', { user: `u${i}`, role: 'Auditor', name: 'x' })
      await service.get('/api/tables', { token: null })
      expect(await entries('?actor=admin')).toHaveLength(7)
      expect(await entries('?action=request.refuse')).toHaveLength(1)
      expect(await entries('?object=%2Fapi%2Ftables')).toHaveLength(1)
      expect(await entries('?object_type=token')).toHaveLength(8)
      expect(await entries(`?to=${new Date(first - 60_000).toISOString()}`)).toEqual([])
      expect(await entries(`?from=${new Date(first - 60_000).toISOString()}`)).toHaveLength(9)

      const seen: number[] = []
      for (let next: string | undefined = '/api/audit?page_size=2&actor=admin'; next;) {
        const { body, headers }: Awaited<ReturnType<typeof service.get>> = await service.get(next)
        seen.push(...body.map(({ seq }: { seq: number }) => seq))
        next = /^<(.+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
      }
      expect(seen).toEqual([8, 7, 6, 5, 4, 3, 2])
    })

    it('finds the operations of a table by its name when the filter is an object', async () => {
      for (const table of ['lake.trips', 'lake.trips', 'lake.trip', 'lake.Trips', 'lake_trips']) {
        await service.post('/api/compact', { table })
      }
      const found = await entries('?object=lake.trips')
      expect(
        found.map(({ details, action }: { details: { table: string }; action: string }) => [details.table, action]),
      ).toEqual(
        Array(2)
          .fill(null)
          .flatMap(() => [
            ['lake.trips', 'operation.finish'],
            ['lake.trips', 'operation.begin'],
          ]),
      )
    })

    it('never contains a secret', async () => {
      const { body } = await service.post('/api/auth/tokens', { user: 'ada', role: 'Auditor', name: 'x' })
      await service.post('/api/auth/session', { token: body.token }, { token: null })
      await service.get('/api/tables?secret=canary-query', { token: 'lh_canary-bad-token' })
      await mkdir(join(service.folder, 'warehouse'))
      await service.call('PUT', '/api/config', {
        body: {
          catalog_type: 'hadoop',
          warehouse: `file://${service.folder}/warehouse`,
          catalog_name: 'x',
          extra_props: { 's3.secret-access-key': 'canary-key' },
        },
      })
      const channel = { type: 'webhook', url: 'https://hooks.example/canary-path?token=canary-url' }
      const hook = await service.post('/api/alerts', { name: 'a', events: ['approval.*'], channel })
      expect(hook.status).toBe(201)
      const text = JSON.stringify(await entries()) + JSON.stringify((await service.get('/api/events')).body)
      for (const secret of [ADMIN_TOKEN, body.token, hook.body.signing_secret, 'canary'])
        expect(text).not.toContain(secret)
      expect(await actions()).toContain('config.set')
    })

    it('can be verified by many requests at the same time', async () => {
      const answers = await Promise.all(Array.from({ length: 30 }, () => service.get('/api/audit/verify')))
      expect(answers.map(({ status, body }) => [status, body.ok])).toEqual(answers.map(() => [200, true]))
    })

    it('stays valid under concurrent changes and refusals, and after a restart', async () => {
      const work = Array.from({ length: 60 }, (_, i) =>
        i % 3 === 0
          ? service.get('/api/tables', { token: null })
          : service.post('/api/auth/tokens', { user: `u${i}`, role: 'Auditor', name: 'x' }),
      )
      await Promise.all(work)
      await service.restart()
      // 40 tokens, the token of the start, the first refusal and the number of the others.
      expect(await verify()).toMatchObject({ ok: true, checked: 43, head: { seq: 43 } })
    })
  })
}
