import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Actor, actor, type Lifecycle, lifecycle, type Place } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKinds } from '../../support/state/state-kinds.ts'
import { stateOf } from '../../support/state-of.ts'
import { until } from '../../support/waiting.ts'

const DAY_MS = 86_400_000
/** A Monday. */
const START = '2026-06-15T08:00:00.000Z'
const EVERY_DAY = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
const EVENING = { kind: 'allow', timezone: 'UTC', days: EVERY_DAY, from: '20:00', to: '21:00' }
const OPENING = '2026-06-15T20:00:00.000Z'
const NO_RULES = { approvals: null, windows: [] }

for (const kind of stateKinds) {
  describe.skipIf(kind.skip)(`rules of environments on ${kind.name}`, () => {
    let service: TestService
    let users: Lifecycle
    let third: Actor
    let env: Readonly<Record<string, string>>
    let clock = Date.parse(START)
    beforeAll(async () => {
      const place = await kind.place()
      env = place.env
      const overrides = { now: () => new Date(clock), requestTickMs: 20 }
      service = await startTestService({ env, overrides, onClose: place.remove })
      users = await lifecycle(service)
      third = await actor(service, 'lou', 'LeadDataEngineer')
    })
    afterAll(() => service.close())
    beforeEach(async () => {
      clock = Date.parse(START)
      for (const environment of ['uat', 'production']) await rules(environment, NO_RULES)
      await rules('qa', { windows: [] })
    })

    async function rules(environment: string, body: object): Promise<void> {
      const answer = await users.lead.call('PUT', `/api/environments/${environment}`, body)
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    }
    const read = async (id: string) => (await users.lead.call('GET', `/api/approvals/${id}`)).body
    const approve = (by: Actor, id: string, headers?: Record<string, string>) =>
      by.call('POST', `/api/approvals/${id}/approve`, {}, headers)
    const override = (by: Actor, id: string) =>
      by.call('POST', `/api/approvals/${id}/override-window`, { reason: 'fixes wrong invoices' })
    const environmentOf = async ({ version }: Place): Promise<string> =>
      (await users.auditor.call('GET', version)).body.environment
    const untilStatus = (id: string, status: string) =>
      until(async () => {
        const now = await read(id)
        return now.status === status && now
      })
    async function eventsOf(id: string): Promise<string[]> {
      const { events } = (await service.get('/api/events?type=approval.*&limit=1000')).body
      return events
        .filter(({ object_id: object }: { object_id: string }) => object === id)
        .map(({ type }: { type: string }) => type)
    }
    async function auditOf(id: string) {
      const { body } = await users.lead.call('GET', `/api/audit?object=${id}`)
      return body as readonly { action: string; actor: string | null; channel: string; details: object }[]
    }
    /** A request to move a version to UAT. */
    async function open(): Promise<{ readonly place: Place; readonly id: string }> {
      const place = await users.versionIn('qa')
      return { place, id: await users.request(place) }
    }

    it('count each approver once, and show who may still decide', async () => {
      await rules('uat', { approvals: { required: 2 } })
      const { place, id } = await open()
      const first = await approve(users.lead, id)
      expect(first).toMatchObject({
        status: 200,
        body: { status: 'pending', approvals_given: 1, approvals_required: 2 },
      })
      expect(await approve(users.lead, id)).toMatchObject({ status: 409, body: { code: 'ALREADY_APPROVED' } })
      const alias = await actor(service, 'LEA', 'LeadDataEngineer')
      expect(await approve(alias, id)).toMatchObject({ status: 409, body: { code: 'ALREADY_APPROVED' } })
      expect(await environmentOf(place)).toBe('qa')
      expect(await read(id)).toMatchObject({
        approvals: [{ user: 'lea', counts: true }],
        approvals_missing: 1,
        may_decide: {
          role: 'LeadDataEngineer',
          except: [{ user: 'lea', because: 'has_approved' }],
          known_users: expect.arrayContaining(['leo', 'lou']),
        },
      })
      const second = await approve(users.otherLead, id)
      expect(second.body).toMatchObject({ status: 'approved', approvals_given: 2, decided_by: 'leo' })
      expect(await environmentOf(place)).toBe('uat')
      expect(await eventsOf(id)).toEqual(['approval.requested', 'approval.endorsed', 'approval.approved'])
      expect((await read(id)).approvals.map(({ user }: { user: string }) => user)).toEqual(['lea', 'leo'])
    })

    it('move a version once when two leads approve at once, also with the tag that both have seen', async () => {
      await rules('uat', { approvals: { required: 2 } })
      for (let round = 0; round < 5; round += 1) {
        const { place, id } = await open()
        const { headers } = await users.lead.call('GET', `/api/approvals/${id}`)
        const tag = { 'If-Match': headers.get('etag') ?? '' }
        const both = [approve(users.lead, id, tag), approve(users.otherLead, id, tag), approve(users.lead, id, tag)]
        const statuses = (await Promise.all(both)).map(({ status }) => status)
        expect(statuses.toSorted((a, b) => a - b)).toEqual([
          200,
          200,
          expect.toSatisfy((last) => last === 409 || last === 412),
        ])
        expect(await environmentOf(place)).toBe('uat')
        expect((await eventsOf(id)).filter((type) => type === 'approval.approved')).toHaveLength(1)
      }
    })

    it('keep the requester from deciding, and from counting after the rule has become stricter', async () => {
      await rules('uat', { approvals: { required: 2 } })
      const place = await users.versionIn('qa')
      const id = await users.request(place, users.lead)
      expect((await approve(users.lead, id)).body.approvals_given).toBe(1)
      await rules('uat', { approvals: { required: 2, forbid_self: true } })
      expect(await read(id)).toMatchObject({ approvals: [{ user: 'lea', counts: false }], approvals_missing: 2 })
      expect((await approve(users.lead, id)).body.code).toBe('SELF_APPROVAL')
      await approve(users.otherLead, id)
      expect(await environmentOf(place)).toBe('qa')
      expect((await approve(third, id)).body.status).toBe('approved')
    })

    it('apply to open requests as they are now: fewer approvals move the version, more are needed', async () => {
      await rules('uat', { approvals: { required: 2 } })
      const { place, id } = await open()
      await approve(users.lead, id)
      await rules('uat', { approvals: { required: 3 } })
      expect((await approve(users.otherLead, id)).body).toMatchObject({ status: 'pending', approvals_given: 2 })
      await rules('uat', { approvals: { required: 2 } })
      expect(await untilStatus(id, 'approved')).toMatchObject({ decided_by: 'leo' })
      expect(await environmentOf(place)).toBe('uat')
      const [last] = await auditOf(id)
      expect(last).toMatchObject({ action: 'approval.apply', actor: null, channel: 'system' })
    })

    it('end a request without enough approvals as expired, and only such a request', async () => {
      await rules('uat', { approvals: { required: 2, expires_after: '3 days' } })
      const { place, id } = await open()
      await approve(users.lead, id)
      expect((await read(id)).expires_at).toBe('2026-06-18T08:00:00.000Z')
      clock += 3 * DAY_MS
      expect(await untilStatus(id, 'rejected')).toMatchObject({ reason: 'expired', decided_by: null })
      expect((await approve(users.otherLead, id)).body.code).toBe('APPROVAL_NOT_PENDING')
      expect(await eventsOf(id)).toEqual(['approval.requested', 'approval.endorsed', 'approval.expired'])
      expect(await environmentOf(place)).toBe('qa')
      expect((await users.engineer.call('POST', `${place.version}/promote`)).status).toBe(202)
    })

    it('let an approved request wait for its window, which moves it once, also over a restart', async () => {
      await rules('uat', { windows: [EVENING], approvals: { required: 1, expires_after: '1 hour' } })
      const { place, id } = await open()
      const held = await approve(users.lead, id)
      expect(held.body).toMatchObject({ status: 'waiting_for_window', opens_at: OPENING, decided_by: null })
      expect((await users.engineer.call('POST', `${place.version}/promote`)).body.code).toBe('APPROVAL_PENDING')
      const waiting = await users.lead.call('GET', '/api/approvals?status=waiting_for_window')
      expect(waiting.body.map((request: { id: string }) => request.id)).toEqual([id])
      const pending = await users.lead.call('GET', '/api/notifications/pending-approvals')
      expect(pending.body.requests.map((request: { id: string }) => request.id)).not.toContain(id)
      clock = Date.parse(OPENING) - 1
      await service.restart()
      expect((await read(id)).status).toBe('waiting_for_window')
      clock = Date.parse(OPENING)
      expect(await untilStatus(id, 'approved')).toMatchObject({ decided_by: 'lea', decided_at: OPENING })
      expect(await environmentOf(place)).toBe('uat')
      expect(await eventsOf(id)).toEqual(['approval.requested', 'approval.held', 'approval.approved'])
    })

    it('can be withdrawn or rejected while it waits', async () => {
      await rules('uat', { windows: [EVENING] })
      const withdrawn = await open()
      await approve(users.lead, withdrawn.id)
      const answer = await users.engineer.call('DELETE', `/api/approvals/${withdrawn.id}`)
      expect(answer.body).toMatchObject({ status: 'rejected', reason: 'withdrawn' })
      const rejected = await open()
      await approve(users.lead, rejected.id)
      const body = { reason: 'too late' }
      expect((await users.otherLead.call('POST', `/api/approvals/${rejected.id}/reject`, body)).status).toBe(200)
      clock = Date.parse(OPENING)
      const next = await open()
      await approve(users.lead, next.id)
      expect(await environmentOf(next.place)).toBe('uat')
      expect([await environmentOf(withdrawn.place), await environmentOf(rejected.place)]).toEqual(['qa', 'qa'])
    })

    it('let only a lead override a window, with a reason that is audited and shown', async () => {
      await rules('uat', { windows: [EVENING] })
      const { place, id } = await open()
      expect(await override(users.lead, id)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
      await approve(users.lead, id)
      expect((await override(users.engineer, id)).status).toBe(403)
      const blank = await users.lead.call('POST', `/api/approvals/${id}/override-window`, { reason: ' ' })
      expect(blank.status).toBe(400)
      const both = await Promise.all([override(users.otherLead, id), override(third, id)])
      expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
      const by = both[0]?.status === 200 ? 'leo' : 'lou'
      const shown = { by, reason: 'fixes wrong invoices', at: START }
      expect(await read(id)).toMatchObject({ status: 'approved', override: shown })
      expect(await environmentOf(place)).toBe('uat')
      const entry = (await auditOf(id)).find(({ action }) => action === 'approval.override_window')
      expect(entry).toMatchObject({ actor: by, details: { override_reason: shown.reason, overridden_by: by } })
    })

    it('open a waiting request again when more approvals are required', async () => {
      await rules('uat', { windows: [EVENING] })
      const { place, id } = await open()
      await approve(users.lead, id)
      await rules('uat', { approvals: { required: 2 } })
      await untilStatus(id, 'pending')
      expect((await override(users.lead, id)).status).toBe(409)
      expect((await approve(users.otherLead, id)).body.status).toBe('waiting_for_window')
      clock = Date.parse(OPENING)
      await untilStatus(id, 'approved')
      expect(await environmentOf(place)).toBe('uat')
    })

    it('make a promotion wait that needs no approval, and move it when the windows are removed', async () => {
      await rules('qa', { windows: [EVENING] })
      const place = await users.create()
      const { status, body } = await users.engineer.call('POST', `${place.version}/promote`)
      expect({ status, body }).toMatchObject({
        status: 202,
        body: { status: 'waiting_for_window', approvals_required: 0, opens_at: OPENING },
      })
      const board = await users.auditor.call('GET', `/api/pipeline-board?definition_id=${place.definitionId}`)
      expect(board.body.definitions[0].pending).toMatchObject([{ id: body.id, status: 'waiting_for_window' }])
      await rules('qa', { windows: [] })
      expect(await untilStatus(body.id, 'approved')).toMatchObject({ decided_by: null })
      expect(await environmentOf(place)).toBe('qa')
    })

    it('reject a request at the opening whose version has changed since', async () => {
      await rules('uat', { windows: [EVENING] })
      const { place, id } = await open()
      await approve(users.lead, id)
      const db = stateOf(service.folder, env)
      await sql`update pipeline_versions set graph_json = ${'{"nodes":[],"edges":[]}'} where id = ${place.versionId}`.execute(
        db,
      )
      await db.destroy()
      clock = Date.parse(OPENING)
      expect((await untilStatus(id, 'rejected')).reason).toContain('has changed since approval was requested')
      expect(await environmentOf(place)).toBe('qa')
    })

    it.each([
      ['approvals where moves need none', 'qa', { approvals: { required: 2 } }, 422, 'approvals'],
      ['six approvals', 'uat', { approvals: { required: 6 } }, 400, 'approvals.required'],
      ['groups of users', 'uat', { approvals: { required: 1, groups: ['leads'] } }, 400, 'groups'],
      ['an unknown time zone', 'uat', { windows: [{ ...EVENING, timezone: 'Mars/Base' }] }, 422, 'windows.0.timezone'],
      [
        'a date that no calendar has',
        'uat',
        { windows: [{ ...EVENING, dates: ['2026-02-30'] }] },
        422,
        'windows.0.dates.0',
      ],
      [
        'windows that never open',
        'uat',
        { windows: [{ ...EVENING, kind: 'deny', from: '00:00', to: '00:00' }] },
        422,
        'windows',
      ],
      ['a rollback for no reason', 'uat', { rollback_if: { within: '1 hour' } }, 422, 'rollback_if'],
      [
        'a rollback after a month',
        'uat',
        { rollback_if: { failed_batches: 3, within: '30 days' } },
        422,
        'rollback_if.within',
      ],
    ])('are refused with %s', async (_, environment, body, status, path) => {
      const answer = await users.lead.call('PUT', `/api/environments/${environment}`, body)
      expect(answer.status).toBe(status)
      expect(JSON.stringify(answer.body.errors)).toContain(path)
    })
  })
}
