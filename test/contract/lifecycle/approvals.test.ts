import { runs } from '../../support/effort.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENVIRONMENTS, type Environment, TRANSITIONS } from '../../../src/domain/environments.ts'
import { CHANGED_GRAPH, GRAPH, type Lifecycle, lifecycle } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'
import { stateOf } from '../../support/state-of.ts'

/** The transitions of docs/api.md#environments: target and response status. */
const MOVES: Readonly<Record<string, readonly [status: 200 | 202, to: Environment]>> = {
  'development promote': [200, 'qa'],
  'qa promote': [202, 'uat'],
  'uat promote': [202, 'production'],
  'uat demote': [200, 'qa'],
  'production retire': [200, 'retired'],
}

for (const kind of stateKindsOfWholeRuns) {
  describe.skipIf(kind.skip)(`transitions and approvals on ${kind.name}`, () => {
    let service: TestService
    let users: Lifecycle
    let env: Readonly<Record<string, string>>
    beforeAll(async () => {
      const place = await kind.place()
      env = place.env
      service = await startTestService({ env, onClose: place.remove })
      users = await lifecycle(service)
    })
    afterAll(() => service.close())

    const environmentOf = async (version: string): Promise<string> =>
      (await users.auditor.call('GET', version)).body.environment
    const approve = (id: string, body: unknown = {}, headers?: Record<string, string>) =>
      users.lead.call('POST', `/api/approvals/${id}/approve`, body, headers)
    const reject = (id: string, body: unknown = { reason: 'not now' }) =>
      users.lead.call('POST', `/api/approvals/${id}/reject`, body)
    const read = (id: string) => users.lead.call('GET', `/api/approvals/${id}`)

    const cells = ENVIRONMENTS.flatMap((from) => TRANSITIONS.map((transition) => [from, transition] as const))
    it.each(cells)('from %s, %s has the result in the table of the spec', async (from, transition) => {
      const place = await users.versionIn(from)
      const answer = await users.lead.call('POST', `${place.version}/${transition}`)
      const move = MOVES[`${from} ${transition}`]
      if (!move) {
        expect(answer).toMatchObject({ status: 409, body: { code: 'INVALID_TRANSITION' } })
        expect(answer.body.allowed).toEqual(TRANSITIONS.filter((other) => MOVES[`${from} ${other}`]))
        expect(await environmentOf(place.version)).toBe(from)
        return
      }
      const [status, to] = move
      expect(answer.status).toBe(status)
      if (status === 200) {
        expect(answer.body).toMatchObject({ id: place.versionId, environment: to, ...GRAPH })
        expect(await environmentOf(place.version)).toBe(to)
        return
      }
      expect(answer.headers.get('location')).toBe(`/api/approvals/${answer.body.id}`)
      expect(answer.body).toMatchObject({ from_environment: from, to_environment: to, status: 'pending' })
      expect(await environmentOf(place.version)).toBe(from)
    })

    it('promote from qa answers 202 with all fields of the request', async () => {
      const place = await users.versionIn('qa')
      const { body } = await users.engineer.call('POST', `${place.version}/promote`, {})
      const { content_hash } = (await users.auditor.call('GET', place.version)).body
      expect(body).toEqual({
        id: expect.stringMatching(/^pr-/),
        definition_id: place.definitionId,
        definition_name: 'orders',
        version_id: place.versionId,
        version: 1,
        from_environment: 'qa',
        to_environment: 'uat',
        status: 'pending',
        requested_by: 'ed',
        requested_at: expect.stringMatching(/Z$/),
        approvals_given: 0,
        approvals_required: 1,
        opens_at: null,
        expires_at: null,
        override: null,
        decided_by: null,
        decided_at: null,
        reason: null,
        content_hash,
      })
    })

    it('a transition takes no body, or an empty object', async () => {
      const place = await users.versionIn('development')
      const answer = await users.engineer.call('POST', `${place.version}/promote`, { to: 'production' })
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'to' }] } })
    })

    it('while a request is pending every move is 409 APPROVAL_PENDING, and versions can be created', async () => {
      const place = await users.versionIn('uat')
      const id = await users.request(place)
      for (const transition of TRANSITIONS) {
        const answer = await users.lead.call('POST', `${place.version}/${transition}`)
        expect(answer, transition).toMatchObject({ status: 409, body: { code: 'APPROVAL_PENDING' } })
        expect(answer.body.detail).toContain(id)
      }
      await users.addVersion(place.definitionId)
      await reject(id)
      expect((await users.lead.call('POST', `${place.version}/demote`)).status).toBe(200)
    })

    it('approve moves the version to the target environment', async () => {
      const place = await users.versionIn('qa')
      const id = await users.request(place)
      const answer = await approve(id)
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject({ id, status: 'approved', decided_by: 'lea', reason: null })
      expect(answer.body.decided_at >= answer.body.requested_at).toBe(true)
      expect(await environmentOf(place.version)).toBe('uat')
      expect((await read(id)).body).toMatchObject(answer.body)
    })

    it.each([
      ['{}', {}],
      ['nothing', undefined],
    ])('approve takes %s as its body', async (_, body) => {
      const id = await users.request(await users.versionIn('qa'))
      expect((await users.lead.call('POST', `/api/approvals/${id}/approve`, body)).status).toBe(200)
    })

    it('approve stores its comment with the request', async () => {
      const id = await users.request(await users.versionIn('qa'))
      expect((await approve(id, { comment: 'looks good' })).status).toBe(200)
      const { body } = await users.engineer.call('GET', `/api/approvals/${id}/comments`)
      expect(body).toMatchObject([{ request_id: id, author: 'lea', comment: 'looks good' }])
    })

    it('reject needs a reason that is not blank', async () => {
      const place = await users.versionIn('uat')
      const id = await users.request(place)
      for (const body of [
        undefined,
        {},
        { reason: '' },
        { reason: ' \n' },
        { reason: null },
        { reason: 'x', why: 'y' },
      ]) {
        expect((await users.lead.call('POST', `/api/approvals/${id}/reject`, body)).status).toBe(400)
      }
      const answer = await reject(id, { reason: 'too early' })
      expect(answer).toMatchObject({
        status: 200,
        body: { status: 'rejected', reason: 'too early', decided_by: 'lea' },
      })
      const { body: comments } = await users.engineer.call('GET', `/api/approvals/${id}/comments`)
      expect(comments).toMatchObject([{ author: 'lea', comment: 'too early' }])
      expect(await environmentOf(place.version)).toBe('uat')
    })

    it('after a rejection the version can be promoted again', async () => {
      const place = await users.versionIn('qa')
      const first = await users.request(place)
      await reject(first)
      const second = await users.request(place)
      expect(second).not.toBe(first)
      expect((await approve(second)).status).toBe(200)
    })

    it('a decided request cannot be decided again', async () => {
      const approved = await users.request(await users.versionIn('qa'))
      await approve(approved)
      const rejected = await users.request(await users.versionIn('qa'))
      await reject(rejected)
      for (const id of [approved, rejected]) {
        for (const answer of [
          await approve(id),
          await reject(id),
          await users.engineer.call('DELETE', `/api/approvals/${id}`),
        ]) {
          expect(answer).toMatchObject({ status: 409, body: { code: 'APPROVAL_NOT_PENDING' } })
        }
      }
      expect((await read(approved)).body.status).toBe('approved')
      expect((await read(rejected)).body).toMatchObject({ status: 'rejected', reason: 'not now' })
    })

    it('an unknown request is 404', async () => {
      for (const [method, path, body] of [
        ['GET', '', undefined],
        ['DELETE', '', undefined],
        ['POST', '/approve', {}],
        ['POST', '/reject', { reason: 'x' }],
        ['GET', '/comments', undefined],
        ['POST', '/comments', { comment: 'x' }],
      ] as const) {
        const answer = await users.lead.call(method, `/api/approvals/pr-none${path}`, body)
        expect(answer, `${method} ${path}`).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
      }
    })

    it('the detail has the version as requested, and the diff against the newest version in the target', async () => {
      const base = await users.versionIn('uat')
      const next = await users.addVersion(base.definitionId, CHANGED_GRAPH)
      await users.bring(next, 'qa')
      const id = await users.request(next)
      const { status, body } = await read(id)
      expect(status).toBe(200)
      expect(body.version_snapshot).toMatchObject({
        id: next.versionId,
        version: 2,
        environment: 'qa',
        ...CHANGED_GRAPH,
      })
      const expected = (await users.auditor.call('GET', `${base.version}/diff/${next.versionId}`)).body
      expect(body.diff).toEqual(expected)
      expect(body.diff.from).toMatchObject({ id: base.versionId, environment: 'uat' })
      await approve(id)
      const later = (await read(id)).body
      expect(later.diff.from.id).toBe(base.versionId)
      expect(later.version_snapshot).toEqual(body.version_snapshot)
    })

    it('where the target environment is empty, the diff is against nothing', async () => {
      const id = await users.request(await users.versionIn('qa'))
      const { diff } = (await read(id)).body
      expect(diff).toMatchObject({
        from: null,
        identical: false,
        nodes: { added: GRAPH.nodes, removed: [] },
        moves: [],
      })
    })

    it('the list is a bare array, newest first, filtered by status, in pages', async () => {
      const rejected = await users.request(await users.versionIn('qa'))
      await reject(rejected)
      const pending = await users.request(await users.versionIn('qa'))
      const list = async (query: string): Promise<{ id: string; status: string }[]> =>
        (await users.lead.call('GET', `/api/approvals${query}`)).body
      const all = await list('')
      expect(all.slice(0, 2).map(({ id }) => id)).toEqual([pending, rejected])
      for (const status of ['pending', 'approved', 'rejected']) {
        const some = await list(`?status=${status}`)
        expect(some).toEqual(all.filter((request) => request.status === status))
        expect(some.length).toBeGreaterThan(0)
      }
      expect((await users.lead.call('GET', '/api/approvals?status=maybe')).status).toBe(400)
      const seen: string[] = []
      let path: string | undefined = '/api/approvals?status=approved&page_size=2'
      while (path) {
        const { body, headers } = await users.lead.call('GET', path)
        seen.push(...body.map(({ id }: { id: string }) => id))
        path = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
      }
      expect(seen).toEqual((await list('?status=approved')).map(({ id }) => id))
    })

    it('the notification counts and lists the pending requests', async () => {
      const id = await users.request(await users.versionIn('qa'))
      const { body } = await users.lead.call('GET', '/api/notifications/pending-approvals')
      const pending = (await users.lead.call('GET', '/api/approvals?status=pending')).body
      expect(body).toEqual({ count: pending.length, requests: pending })
      expect(body.requests[0].id).toBe(id)
      const page = await users.lead.call('GET', '/api/notifications/pending-approvals?page_size=1')
      expect(page.body).toEqual({ count: pending.length, requests: [pending[0]] })
    })

    it('comments can be added in every status and are listed oldest first', async () => {
      const id = await users.request(await users.versionIn('qa'))
      const comment = (text: string) => users.engineer.call('POST', `/api/approvals/${id}/comments`, { comment: text })
      const first = await comment('pending')
      expect(first.status).toBe(201)
      expect(first.body).toEqual({
        id: expect.stringMatching(/^cmt-/),
        request_id: id,
        author: 'ed',
        comment: 'pending',
        created_at: expect.stringMatching(/Z$/),
      })
      await approve(id)
      await comment('approved')
      const rejected = await users.request(await users.versionIn('qa'))
      await reject(rejected)
      expect((await users.lead.call('POST', `/api/approvals/${rejected}/comments`, { comment: 'x' })).status).toBe(201)
      const { body } = await users.engineer.call('GET', `/api/approvals/${id}/comments`)
      expect(body.map((entry: { comment: string }) => entry.comment)).toEqual(['pending', 'approved'])
      const page = await users.engineer.call('GET', `/api/approvals/${id}/comments?page_size=1`)
      const next = /^<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
      expect((await users.engineer.call('GET', next)).body).toEqual([body[1]])
      for (const bad of [{}, { comment: ' ' }, { text: 'x' }]) {
        expect((await users.engineer.call('POST', `/api/approvals/${id}/comments`, bad)).status).toBe(400)
      }
    })

    it('the requester withdraws: the request is rejected with the reason withdrawn', async () => {
      const place = await users.versionIn('qa')
      const id = await users.request(place)
      const stranger = await users.otherLead.call('DELETE', `/api/approvals/${id}`)
      expect(stranger).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
      const answer = await users.engineer.call('DELETE', `/api/approvals/${id}`)
      expect(answer).toMatchObject({
        status: 200,
        body: { id, status: 'rejected', reason: 'withdrawn', decided_by: 'ed' },
      })
      expect(await environmentOf(place.version)).toBe('qa')
      await users.request(place)
    })

    it('the requester may decide, unless APPROVALS_FORBID_SELF is set', async () => {
      const id = await users.request(await users.versionIn('qa'), users.lead)
      expect((await approve(id)).status).toBe(200)
    })

    it('If-Match binds a decision to the status and the diff base that were read', async () => {
      const base = await users.versionIn('qa')
      const id = await users.request(base)
      const tag = (await read(id)).headers.get('etag') ?? ''
      const other = await users.addVersion(base.definitionId, CHANGED_GRAPH)
      await users.bring(other, 'uat')
      const stale = await approve(id, {}, { 'If-Match': tag })
      expect(stale).toMatchObject({ status: 412, body: { code: 'PRECONDITION_FAILED' } })
      expect(await environmentOf(base.version)).toBe('qa')
      const fresh = (await read(id)).headers.get('etag') ?? ''
      const taken = await approve(id, {}, { 'If-Match': fresh })
      expect(taken.status).toBe(200)
      const version = (header: string | null): string => (header ?? '').replaceAll('"', '').replace(/\..*$/, '')
      expect(version((await read(id)).headers.get('etag'))).toBe(version(taken.headers.get('etag')))
    })

    it('an approval is for the requested content: a version changed in the meantime is not moved', async () => {
      const state = stateOf(service.folder, env)
      const changed = JSON.stringify(CHANGED_GRAPH)
      const version = await users.versionIn('qa')
      const first = await users.request(version)
      await sql`update pipeline_versions set graph_json = ${changed} where id = ${version.versionId}`.execute(state)
      const snapshot = await users.versionIn('qa')
      const second = await users.request(snapshot)
      await sql`update approval_requests set snapshot_json = replace(snapshot_json, 'demo.orders', 'demo.others')
        where id = ${second}`.execute(state)
      const moved = await users.versionIn('qa')
      const third = await users.request(moved)
      await sql`update pipeline_versions set environment = 'development' where id = ${moved.versionId}`.execute(state)
      await state.destroy()
      for (const [id, place, environment] of [
        [first, version, 'qa'],
        [second, snapshot, 'qa'],
        [third, moved, 'development'],
      ] as const) {
        expect(await approve(id)).toMatchObject({ status: 409, body: { code: 'CONTENT_CHANGED' } })
        expect((await read(id)).body.status).toBe('pending')
        expect(await environmentOf(place.version)).toBe(environment)
        expect((await reject(id)).status).toBe(200)
      }
    })

    it('a second pending request of a version cannot exist in the database', async () => {
      const id = await users.request(await users.versionIn('qa'))
      const state = stateOf(service.folder, env)
      const row = await state.selectFrom('approval_requests').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
      const copy = state.insertInto('approval_requests').values({ ...row, id: `${id}x` })
      await expect(copy.execute()).rejects.toMatchObject({ code: 'UNIQUE_VIOLATION' })
      await state.destroy()
    })

    it('of concurrent approve and reject exactly one succeeds, many times', async () => {
      for (let round = 0; round < runs(100); round++) {
        const place = await users.versionIn('qa')
        const id = await users.request(place)
        const answers = await Promise.all(
          Array.from({ length: 6 }, (_, i) => {
            const by = i % 2 === 0 ? users.lead : users.otherLead
            return i % 3 === round % 3
              ? by.call('POST', `/api/approvals/${id}/reject`, { reason: 'no' })
              : by.call('POST', `/api/approvals/${id}/approve`)
          }),
        )
        const won = answers.filter(({ status }) => status === 200)
        expect(won).toHaveLength(1)
        for (const lost of answers) if (lost !== won[0]) expect(lost.body.code).toBe('APPROVAL_NOT_PENDING')
        const { status } = (await read(id)).body
        expect(status).toBe(won[0]?.body.status)
        expect(await environmentOf(place.version)).toBe(status === 'approved' ? 'uat' : 'qa')
        const trail: { action: string }[] = (await users.lead.call('GET', `/api/audit?object=${id}`)).body
        expect(trail.map(({ action }) => action)).toEqual([
          status === 'approved' ? 'approval.approve' : 'approval.reject',
          'approval.request',
        ])
      }
    })

    it('of concurrent promotions of a version exactly one opens a request', async () => {
      const place = await users.versionIn('qa')
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => users.engineer.call('POST', `${place.version}/promote`)),
      )
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(1)
      expect(answers.filter(({ body }) => body.code === 'APPROVAL_PENDING')).toHaveLength(19)
    })

    it('requests and decisions are one audit entry and one event each, and events contain no comments of leads', async () => {
      const seen = (await users.auditor.call('GET', '/api/events?limit=1')).body.last_seq
      const place = await users.versionIn('qa')
      const rejected = await users.request(place)
      await reject(rejected, { reason: 'secret words' })
      const withdrawn = await users.request(place)
      await users.engineer.call('DELETE', `/api/approvals/${withdrawn}`)
      const approved = await users.request(place)
      await approve(approved, { comment: 'more secret words' })
      const { events } = (await users.auditor.call('GET', `/api/events?since=${seen}&limit=1000`)).body
      const of = (id: string) => events.filter((event: { object_id: string }) => event.object_id === id)
      const types = (id: string) => of(id).map(({ type }: { type: string }) => type)
      expect(types(rejected)).toEqual(['approval.requested', 'approval.rejected'])
      expect(types(withdrawn)).toEqual(['approval.requested', 'approval.withdrawn'])
      expect(types(approved)).toEqual(['approval.requested', 'approval.approved'])
      expect(of(approved)[1].data).toMatchObject({
        definition_id: place.definitionId,
        to_environment: 'uat',
        decided_by: 'lea',
      })
      expect(JSON.stringify(events)).not.toContain('secret words')
      const trail = (await users.lead.call('GET', `/api/audit?object=${rejected}`)).body
      expect(trail[0]).toMatchObject({ action: 'approval.reject', actor: 'lea', details: { reason: 'secret words' } })
    })
  })
}

describe('with APPROVALS_FORBID_SELF', () => {
  it('the requester may neither approve nor reject, and may withdraw; another lead decides', async () => {
    const service = await startTestService({ env: { APPROVALS_FORBID_SELF: 'true' } })
    const users = await lifecycle(service)
    const place = await users.create()
    await users.lead.call('POST', `${place.version}/promote`)
    const mine = await users.request(place, users.lead)
    for (const [path, body] of [
      ['approve', {}],
      ['reject', { reason: 'x' }],
    ] as const) {
      const answer = await users.lead.call('POST', `/api/approvals/${mine}/${path}`, body)
      expect(answer).toMatchObject({ status: 403, body: { code: 'SELF_APPROVAL' } })
    }
    expect((await users.lead.call('DELETE', `/api/approvals/${mine}`)).status).toBe(200)
    const next = await users.request(place, users.lead)
    expect((await users.otherLead.call('POST', `/api/approvals/${next}/approve`)).status).toBe(200)
    await service.close()
  })

  it('a value other than true or false prevents the start', async () => {
    await expect(startTestService({ env: { APPROVALS_FORBID_SELF: 'yes' } })).rejects.toThrow('APPROVALS_FORBID_SELF')
  })
})
