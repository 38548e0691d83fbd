import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import type { Caller } from '../../../src/domain/roles.ts'
import { createMonitorService, WatchEnded } from '../../../src/services/pipelines/monitor-service.ts'
import { createMetricsHub } from '../../../src/streaming/supervision/metrics-hub.ts'

const CALLER: Caller = { user: 'ana', role: 'Auditor', via: 'token' }

/** Watches until the watch ends by itself. Returns the reason and the number of credential checks. */
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

describe('repeated checks of a watcher’s credential', () => {
  it('end the watch when the credential has expired', async () => {
    expect(await watchWhile(async (times) => (times < 3 ? CALLER : undefined))).toEqual(['credential-over', 3])
    const refuse = async (): Promise<never> => Promise.reject(new DomainError('UNAUTHENTICATED', 'gone'))
    expect(await watchWhile(refuse)).toEqual(['credential-over', 1])
  })

  it('end the watch when the role no longer allows it', async () => {
    const refuse = async (times: number): Promise<Caller> =>
      times < 2 ? CALLER : Promise.reject(new DomainError('FORBIDDEN', 'no role'))
    expect(await watchWhile(refuse)).toEqual(['role-too-low', 2])
  })

  it('end the watch after three failed checks in a row, and not before', async () => {
    const fail = async (times: number): Promise<Caller> =>
      times === 3 ? CALLER : Promise.reject(new Error('the database is away'))
    expect(await watchWhile(fail)).toEqual(['unavailable', 6])
  })
})
