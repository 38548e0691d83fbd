import { describe, expect, it } from 'vitest'
import { DomainError } from '../../src/domain/errors.ts'
import type { Caller } from '../../src/domain/roles.ts'
import { createMonitorService, WatchEnded } from '../../src/services/monitor-service.ts'
import { createMetricsHub } from '../../src/streaming/metrics-hub.ts'

const CALLER: Caller = { user: 'ana', role: 'Auditor', via: 'token' }

/** Watches until the watch ends by itself; answers why, and how often the caller was looked at. */
async function watchWhile(check: (times: number) => Promise<Caller | undefined>): Promise<[string, number]> {
  const monitor = createMonitorService({
    hub: createMetricsHub(),
    listPipelines: async () => [],
    now: () => new Date(),
    settings: { recheckMs: 5 },
  })
  let times = 0
  const checkCaller = (): Promise<Caller | undefined> => {
    times += 1
    return check(times)
  }
  const request = { caller: CALLER, pipelineId: undefined, checkCaller }
  try {
    for await (const _ of monitor.watch(request, new AbortController().signal)) expect(monitor.watcherCount()).toBe(1)
  } catch (error) {
    if (!(error instanceof WatchEnded)) throw error
    expect(monitor.watcherCount()).toBe(0)
    return [error.reason, times]
  }
  return ['nothing', times]
}

describe('the credential of who watches, looked at again and again', () => {
  it('ends the watch when it is over', async () => {
    expect(await watchWhile(async (times) => (times < 3 ? CALLER : undefined))).toEqual(['credential-over', 3])
    const refuse = async (): Promise<never> => Promise.reject(new DomainError('UNAUTHENTICATED', 'gone'))
    expect(await watchWhile(refuse)).toEqual(['credential-over', 1])
  })

  it('ends the watch when the role does not allow it any more', async () => {
    const refuse = async (times: number): Promise<Caller> =>
      times < 2 ? CALLER : Promise.reject(new DomainError('FORBIDDEN', 'no role'))
    expect(await watchWhile(refuse)).toEqual(['role-too-low', 2])
  })

  it('ends the watch when it cannot be looked at three times in a row, and not before', async () => {
    const fail = async (times: number): Promise<Caller> =>
      times === 3 ? CALLER : Promise.reject(new Error('the database is away'))
    expect(await watchWhile(fail)).toEqual(['unavailable', 6])
  })
})
