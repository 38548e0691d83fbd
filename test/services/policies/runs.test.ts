import { afterEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../../src/engines/engine.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { LONG } from '../../support/effort.ts'
import { sleep, until } from '../../support/waiting.ts'
import { createLogger } from '../../../src/services/logger.ts'
import { governingPolicies } from '../../../src/services/policies/governance.ts'
import type { SchedulerDeps } from '../../../src/services/policies/policy-deps.ts'
import { claim, runOperation } from '../../../src/services/policies/run-operation.ts'
import { settleRuns } from '../../../src/services/policies/settle-runs.ts'
import { createOperationStore } from '../../../src/storage/stores/operations/operation-store.ts'
import { createDecisionStore } from '../../../src/storage/stores/policies/decision-store.ts'
import { createPolicyStore } from '../../../src/storage/stores/policies/policy-store.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { indexRow } from '../../support/index-row.ts'
import { stateOf } from '../../support/state-of.ts'

const HOUR_MS = 3_600_000
const TABLE = 'demo.events'

/** A service whose clock can be moved, and whose engine fails or waits when a test says so. */
async function lab(events = { commits: 30, filesPerCommit: 1, rowsPerFile: 10 }) {
  let offset = 0
  const engineState = { isFailing: false, isStuck: false, rewrites: 0 }
  const service = await startTestService({
    events,
    overrides: {
      now: () => new Date(Date.now() + offset),
      automation: { index: { pollMs: 50, remeasureMs: 0 }, policyTickMs: 100 },
      wrapEngine: (engine): Engine => ({
        ...engine,
        rewrite: async (task, options) => {
          engineState.rewrites += 1
          if (engineState.isFailing) throw new Error('the engine failed')
          if (engineState.isStuck) {
            await until(() => options?.signal?.aborted, 'an end of the operation')
            options?.signal?.throwIfAborted()
          }
          return engine.rewrite(task, options)
        },
        close: () => engine.close(),
        ping: () => engine.ping(),
      }),
    },
  })
  return { service, engineState, advance: (ms: number) => (offset += ms) }
}

const POLICY = {
  name: 'always',
  tables: ['*'],
  operations: [{ operation: 'compact' }],
  when: { small_files_over: 5 },
  mode: 'active',
}

describe('runs of a policy', () => {
  let service: TestService | undefined
  afterEach(() => service?.close())

  const decisions = async (id: string) => (await service?.get(`/api/policies/${id}/decisions`))?.body.decisions
  const create = async (change = {}) => (await service?.post('/api/policies', { ...POLICY, ...change }))?.body.id
  const operations = async () => (await service?.get('/api/operations'))?.body.operations
  const ended = (id: string, outcome: string, count: number) =>
    until(
      async () => (await decisions(id)).filter((one: { outcome: string }) => one.outcome === outcome).length >= count,
      async () => `${count} of ${outcome}: ${JSON.stringify(await decisions(id))}`,
    )

  it('are suspended after three failures, until they are resumed', LONG, async () => {
    const { advance, engineState, service: started } = await lab()
    service = started
    engineState.isFailing = true
    const id = await create()
    for (const count of [1, 2, 3]) {
      await ended(id, 'failed', count)
      advance(2 * HOUR_MS)
    }
    await sleep(300)
    expect(engineState.rewrites).toBe(3)
    expect((await service.get(`/api/policies/${id}`)).body.suspended_tables).toBe(1)
    const { body } = await service.get('/api/events?type=policy.suspended')
    expect(body.events).toHaveLength(1)
    expect(body.events[0].data).toMatchObject({ policy: 'always', table: 'demo.events', failures: 3 })
    engineState.isFailing = false
    const resumed = await service.post(`/api/policies/${id}/resume`, { table: 'demo.events' })
    expect(resumed.body.resumed_tables).toEqual(['demo.events'])
    await ended(id, 'ran', 1)
  })

  it('end when a person starts an operation on the table', LONG, async () => {
    const { advance, engineState, service: started } = await lab()
    service = started
    engineState.isStuck = true
    const id = await create()
    await until(() => engineState.rewrites === 1)
    engineState.isStuck = false
    const answer = await service.post('/api/compact', { table: 'demo.events' })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    await ended(id, 'cancelled', 1)
    const found = (await operations()).map((one: { requested_by: string; state: string }) => [
      one.requested_by,
      one.state,
    ])
    expect(found).toContainEqual(['policy:always', 'cancelled'])
    advance(2 * HOUR_MS)
    await sleep(200)
    expect((await service.get(`/api/policies/${id}`)).body.suspended_tables).toBe(0)
  })

  it('wait while a person’s operation runs', LONG, async () => {
    const { engineState, service: started } = await lab()
    service = started
    engineState.isStuck = true
    const mine = service.post('/api/compact', { table: 'demo.events' })
    await until(() => engineState.rewrites === 1)
    const id = await create()
    const decision = await until(async () =>
      (await decisions(id)).find(({ reason }: { reason: string }) => reason === 'table_busy'),
    )
    expect(decision.detail).toMatch(/compact by \w+ runs on the table/)
    const [running] = await operations()
    engineState.isStuck = false
    await service.call('DELETE', `/api/operations/${running.id}`)
    await mine
    await ended(id, 'ran', 1)
  })

  it('that rewrite everything again and again count as without effect, and become rarer', LONG, async () => {
    const { advance, service: started } = await lab()
    service = started
    const id = await create({
      operations: [{ operation: 'compact', options: { rewrite_all: true } }],
      when: { snapshots_over: 0 },
      cooldown: '1 hour',
    })
    // the first run merges the files, the second one their manifests
    for (const count of [1, 2, 3, 4]) {
      await ended(id, 'ran', count)
      advance(HOUR_MS + 1000)
    }
    await sleep(300)
    const ran = (await decisions(id)).filter(({ outcome }: { outcome: string }) => outcome === 'ran')
    expect(ran.map(({ reason }: { reason: string }) => reason)).toEqual(['no_effect', 'no_effect', 'due', 'due'])
    advance(HOUR_MS + 1000)
    await ended(id, 'ran', 5)
  })

  it('are suspended after three refusals of their options, until the policy is changed', async () => {
    const { advance, service: started } = await lab({ commits: 8, filesPerCommit: 1, rowsPerFile: 10 })
    service = started
    const change = {
      operations: [{ operation: 'compact', options: { where: 'absent = 1' } }],
      when: { snapshots_over: 0 },
    }
    const id = await create(change)
    const suspended = async () => (await service?.get(`/api/policies/${id}`))?.body.suspended_tables
    for (const count of [1, 2, 3]) {
      expect(await suspended()).toBe(0)
      await ended(id, 'skipped', count)
      advance(2 * HOUR_MS)
    }
    await sleep(300)
    const skipped = (await decisions(id)).filter(({ outcome }: { outcome: string }) => outcome === 'skipped')
    expect(skipped).toHaveLength(3)
    expect(skipped[0]).toMatchObject({ reason: 'refused', detail: expect.stringContaining('absent') })
    expect(await suspended()).toBe(1)
    const { body } = await service.get('/api/events?type=policy.suspended')
    expect(body.events).toHaveLength(1)
    expect(body.events[0].data).toMatchObject({
      policy: 'always',
      table: 'demo.events',
      failures: 3,
      error: { message: expect.stringContaining('absent') },
    })
    await service.call('PUT', `/api/policies/${id}`, { body: { ...POLICY, when: { snapshots_over: 0 } } })
    await ended(id, 'ran', 1)
  })

  it('have a longer cooldown when they find nothing to do', async () => {
    const { advance, service: started } = await lab({ commits: 2, filesPerCommit: 1, rowsPerFile: 10 })
    service = started
    // orphan removal finds nothing: it is skipped before the ledger has it, and waits for its cooldown
    const id = await create({
      operations: [{ operation: 'remove_orphans' }],
      when: { snapshots_over: 0 },
      cooldown: '1 hour',
    })
    await ended(id, 'skipped', 1)
    await sleep(200)
    expect(await decisions(id)).toHaveLength(2)
    advance(HOUR_MS + 1000)
    await ended(id, 'skipped', 2)
    expect(await operations()).toEqual([])
  })

  it('leave a table alone that is off, also when the index does not know it yet', LONG, async () => {
    const { service: started } = await lab()
    service = started
    const catalog = service.context.app.catalog.current()
    const identifier = { namespace: ['demo'], name: 'events' }
    const outcome = await catalog.commit(identifier, {
      requirements: [],
      updates: [{ action: 'set-properties', updates: { 'lockhouse.maintenance': 'off' } }],
    })
    expect(outcome.kind).toBe('committed')
    const id = await create()
    await until(async () => (await service?.get('/api/table/demo.events/policy'))?.body.is_off === true)
    await sleep(200)
    expect(await operations()).toEqual([])
    const outcomes = (await decisions(id)).map(({ outcome: what }: { outcome: string }) => what)
    expect(outcomes).not.toContain('ran')
  })

  it('that a crash interrupted are settled by the next start, and counted once', LONG, async () => {
    const { engineState, service: started } = await lab()
    service = started
    engineState.isStuck = true
    const id = await create()
    await until(() => engineState.rewrites === 1)
    engineState.isStuck = false
    await service.restart()
    await until(async () => (await decisions(id)).every(({ outcome }: { outcome: string }) => outcome !== 'running'))
    const states = (await operations()).map(({ state }: { state: string }) => state)
    expect(states.filter((state: string) => state === 'running')).toEqual([])
  })
})

/** A policy that has decided to compact a table, and has not begun. */
async function decided(bytesLeft?: number) {
  const service = await startTestService({ events: { commits: 30, filesPerCommit: 1, rowsPerFile: 10 } })
  const { app } = service.context
  const db = stateOf(service.folder, {})
  const { body } = await service.post('/api/policies', POLICY)
  const policies = createPolicyStore(db)
  const deps = {
    policies,
    decisions: createDecisionStore(db),
    operations: createOperationStore(db),
    ...createTransactions(db),
    maintenance: app.maintenance,
    catalog: app.catalog,
    newId: (prefix: string) => `${prefix}-00000001`,
    now: () => new Date(),
    instance: { id: 1 },
    log: createLogger('silent', () => undefined),
  } as unknown as SchedulerDeps // the rest is not needed to run one operation
  const [governing] = governingPolicies(await policies.list(), TABLE)
  if (governing === undefined) throw new Error('no policy governs the table')
  const assessment = { outcome: 'ready', reason: 'due', detail: '30 small files' } as const
  const ready = { governing, row: indexRow(TABLE), assessment, bytesLeft }
  const claimed = await claim(deps, ready)
  if (claimed === undefined) throw new Error('the decision was not stored')
  const path = `/api/policies/${body.id}`
  return {
    service,
    path,
    decisionId: claimed.decision.id,
    run: () => runOperation(deps, ready, claimed),
    settle: () => settleRuns(deps, () => true),
    stored: async () => ({
      decision: await deps.decisions.find(claimed.decision.id),
      state: await deps.decisions.state({ policy_id: body.id, table_name: TABLE, operation: 'compact' }),
    }),
    async close() {
      await db.destroy()
      await service.close()
    },
  }
}

describe('a decision of a policy', () => {
  it('runs', async () => {
    const { run, stored, close } = await decided()
    await run()
    expect((await stored()).decision).toMatchObject({ outcome: 'ran' })
    await close()
  })

  it('is not settled by the operation of a user who sends its id as the id of the request', async () => {
    const { service: lab, decisionId, run, settle, stored, close } = await decided()
    const headers = { 'X-Request-Id': decisionId }
    const { status, body } = await lab.post('/api/rewrite-manifests', { table: TABLE }, { headers })
    expect([status, body.operation]).toEqual([200, 'rewrite_manifests'])
    const { operations } = (await lab.get('/api/operations')).body
    expect(operations).toMatchObject([{ operation: 'rewrite_manifests', request_id: decisionId }])
    await settle()
    expect((await stored()).decision).toMatchObject({ outcome: 'running', operation_id: null })
    await run()
    const { decision } = await stored()
    expect(decision).toMatchObject({ outcome: 'ran', operation_id: expect.any(String) })
    expect(decision?.operation_id).not.toBe(operations[0].id)
    await close()
  })

  it('has no operation when its own was refused, though a user has sent its id as the id of a request', async () => {
    const { service: lab, decisionId, run, stored, close } = await decided()
    await lab.post('/api/rewrite-manifests', { table: TABLE }, { headers: { 'X-Request-Id': decisionId } })
    await lab.context.app.operations.shutDown() // refuses what is started from now on
    await run()
    expect((await stored()).decision).toMatchObject({ outcome: 'skipped', reason: 'refused', operation_id: null })
    await close()
  })

  it('runs nothing when the policy is paused before the operation begins, and leaves it as due as before', async () => {
    const { service: lab, path, run, stored, close } = await decided()
    expect((await lab.call('PUT', path, { body: { ...POLICY, mode: 'shadow' } })).status).toBe(200)
    await run()
    const { decision, state } = await stored()
    expect(decision).toMatchObject({
      outcome: 'cancelled',
      operation_id: null,
      detail: '30 small files, but the policy was changed before it began',
    })
    expect(state).toMatchObject({ last_run_ms: null, last_sequence: null, considered_ms: null, not_before_ms: null })
    expect((await lab.get('/api/operations')).body.operations).toEqual([])
    await close()
  })

  it('stays due when it must wait for the bytes of the hour', async () => {
    const { run, stored, close } = await decided(1)
    await run()
    const { decision, state } = await stored()
    expect(decision).toMatchObject({ outcome: 'deferred', reason: 'budget_spent', operation_id: null })
    expect(state).toMatchObject({ last_run_ms: null, last_sequence: null, considered_ms: null })
    expect(state?.not_before_ms).toBeGreaterThan(Date.now())
    await close()
  })

  it('runs nothing when the policy is deleted before the operation begins', async () => {
    const { service: lab, path, run, close } = await decided()
    expect((await lab.call('DELETE', path)).status).toBe(204)
    await run()
    expect((await lab.get('/api/operations')).body.operations).toEqual([])
    await close()
  })
})
