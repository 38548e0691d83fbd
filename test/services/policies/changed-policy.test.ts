import { afterEach, expect, it } from 'vitest'
import { createLogger } from '../../../src/services/logger.ts'
import { governingPolicies } from '../../../src/services/policies/governance.ts'
import type { SchedulerDeps } from '../../../src/services/policies/policy-deps.ts'
import { claim, runOperation } from '../../../src/services/policies/run-operation.ts'
import { createOperationStore } from '../../../src/storage/stores/operations/operation-store.ts'
import { createDecisionStore } from '../../../src/storage/stores/policies/decision-store.ts'
import { createPolicyStore } from '../../../src/storage/stores/policies/policy-store.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { indexRow } from '../../support/index-row.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateOf } from '../../support/state-of.ts'

const TABLE = 'demo.events'
const POLICY = {
  name: 'always',
  tables: ['*'],
  operations: [{ operation: 'compact' }],
  when: { small_files_over: 5 },
  mode: 'active',
}

let service: TestService | undefined
afterEach(() => service?.close())

/** A policy that has decided to compact a table, and has not begun. */
async function decided() {
  service = await startTestService({ events: { commits: 30, filesPerCommit: 1, rowsPerFile: 10 } })
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
    newId: (prefix: string) => `${prefix}-1`,
    now: () => new Date(),
    instance: { id: 1 },
    log: createLogger('silent', () => undefined),
  } as unknown as SchedulerDeps // the rest is not needed to run one operation
  const [governing] = governingPolicies(await policies.list(), TABLE)
  if (governing === undefined) throw new Error('no policy governs the table')
  const assessment = { outcome: 'ready', reason: 'due', detail: '30 small files' } as const
  const ready = { governing, row: indexRow(TABLE), assessment }
  const decision = await claim(deps, ready)
  if (decision === undefined) throw new Error('the decision was not stored')
  const path = `/api/policies/${body.id}`
  return {
    service,
    path,
    run: () => runOperation(deps, ready, decision),
    stored: async () => ({
      decision: await deps.decisions.find(decision.id),
      state: await deps.decisions.state({ policy_id: body.id, table_name: TABLE, operation: 'compact' }),
    }),
    close: () => db.destroy(),
  }
}

it('a decision of a policy runs', async () => {
  const { run, stored, close } = await decided()
  await run()
  expect((await stored()).decision).toMatchObject({ outcome: 'ran' })
  await close()
})

it('a decision of a policy that is paused before the operation begins runs nothing, and has no cooldown', async () => {
  const { service: lab, path, run, stored, close } = await decided()
  expect((await lab.call('PUT', path, { body: { ...POLICY, mode: 'shadow' } })).status).toBe(200)
  await run()
  const { decision, state } = await stored()
  expect(decision).toMatchObject({
    outcome: 'cancelled',
    operation_id: null,
    detail: '30 small files, but the policy was changed before it began',
  })
  expect(state).toMatchObject({ last_run_ms: null, not_before_ms: null })
  expect((await lab.get('/api/operations')).body.operations).toEqual([])
  await close()
})

it('a decision of a policy that is deleted before the operation begins runs nothing', async () => {
  const { service: lab, path, run, close } = await decided()
  expect((await lab.call('DELETE', path)).status).toBe(204)
  await run()
  expect((await lab.get('/api/operations')).body.operations).toEqual([])
  await close()
})
