import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../support/service.ts'
import { LONG } from '../../support/effort.ts'
import { until } from '../../support/waiting.ts'

let service: TestService
beforeAll(async () => {
  const overrides = { automation: { index: { pollMs: 50, remeasureMs: 0 }, policyTickMs: 100 } }
  service = await startTestService({ env: { LOCKHOUSE_DEMO: '1' }, overrides })
})
afterAll(() => service.close())

it('the demo has a policy that decides about its unhealthy table and runs nothing', LONG, async () => {
  const [policy, ...others] = (await service.get('/api/policies')).body.policies
  expect(others).toEqual([])
  expect(policy).toMatchObject({ name: 'demo tables', mode: 'shadow', created_by: 'lockhouse' })
  const decision = await until(async () =>
    (await service.get(`/api/policies/${policy.id}/decisions`)).body.decisions.find(
      ({ outcome }: { outcome: string }) => outcome === 'would_run',
    ),
  )
  expect(decision).toMatchObject({ table: 'demo.events', operation: 'compact' })
  expect((await service.get('/api/operations')).body.operations).toEqual([])
})
