import { beforeEach, describe, expect, it } from 'vitest'
import { sleep } from '../../support/waiting.ts'
import { createHealthService, type HealthServiceDeps } from '../../../src/services/health/health-service.ts'
import { LONG } from '../../support/effort.ts'

type Part = keyof HealthServiceDeps['checks']

let nowMs = 0
let calls: Record<Part, number>
let answers: Record<Part, () => Promise<void>>
let isCreatingDemo = false

function open() {
  const check = (part: Part) => async () => {
    calls[part] += 1
    return answers[part]()
  }
  return createHealthService({
    version: '1',
    startedAtMs: 0,
    nowMs: () => nowMs,
    checks: { state: check('state'), catalog: check('catalog'), engine: check('engine'), cluster: check('cluster') },
    isCreatingDemo: () => isCreatingDemo,
  })
}

const works = async (): Promise<void> => undefined
const fails = async (): Promise<never> => {
  throw new Error('gone')
}

describe('health of the service', () => {
  beforeEach(() => {
    nowMs = 5000
    isCreatingDemo = false
    calls = { state: 0, catalog: 0, engine: 0, cluster: 0 }
    answers = { state: works, catalog: works, engine: works, cluster: works }
  })

  it('checks each part once for all requests of a second, and then answers without waiting', async () => {
    const service = open()
    const reports = await Promise.all(Array.from({ length: 50 }, async () => service.report()))
    expect(new Set(reports.map(({ text }) => text)).size).toBe(1)
    nowMs += 999
    const report = service.report()
    expect(report).not.toBeInstanceOf(Promise)
    expect(calls).toEqual({ state: 1, catalog: 1, engine: 1, cluster: 1 })
    const { health, text } = await report
    expect(JSON.parse(text)).toEqual(health)
    expect(health.uptime_s).toBe(5)
  })

  it.each(['state', 'catalog', 'engine', 'cluster'] as const)(
    'shows a failure of the %s a second after the last check at the latest, and its end as well',
    async (part) => {
      const service = open()
      expect((await service.report()).health.status).toBe('ok')
      answers[part] = fails
      nowMs += 1000
      const failed = (await service.report()).health
      expect([failed.status, failed.checks[part]]).toEqual(['degraded', 'failed'])
      answers[part] = works
      nowMs += 1000
      expect((await service.report()).health.status).toBe('ok')
    },
  )

  it('counts the second from the start of a check: what a slow one found is old when it ends', async () => {
    const slow = Promise.withResolvers<void>()
    answers.state = () => slow.promise
    const service = open()
    const first = service.report()
    await sleep(20) // the other checks end
    nowMs += 1500
    const joined = service.report()
    slow.resolve()
    await Promise.all([first, joined])
    expect(calls).toEqual({ state: 1, catalog: 2, engine: 2, cluster: 2 })
    answers.state = fails
    expect((await service.report()).health.checks.state).toBe('failed')
  })

  it('says at once that the demo is being created, and that it is there', async () => {
    const service = open()
    expect((await service.report()).health.demo).toBeNull()
    isCreatingDemo = true
    expect((await service.report()).health.demo).toBe('creating')
    isCreatingDemo = false
    expect((await service.report()).health.demo).toBeNull()
    expect(calls.state).toBe(1)
  })

  it(
    'a part that never answers counts as failed after 5 s, and delays no later check of the others',
    LONG,
    async () => {
      answers.cluster = () => new Promise<never>(() => undefined)
      const service = open()
      const { health } = await service.report()
      expect(health.checks).toEqual({ state: 'ok', catalog: 'ok', engine: 'ok', cluster: 'failed' })
      nowMs += 1000
      expect((await service.report()).health.checks.cluster).toBe('failed')
      expect(calls).toEqual({ state: 2, catalog: 2, engine: 2, cluster: 1 })
      nowMs += 60_000
      answers.cluster = works
      expect((await service.report()).health.checks.cluster).toBe('ok')
    },
  )
})
