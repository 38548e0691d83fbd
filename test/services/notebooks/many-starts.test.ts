import { afterEach, describe, expect, it } from 'vitest'
import { type NotebookHarness, startNotebookHarness } from '../../notebooks/support/notebook-service.ts'
import { LONG } from '../../support/effort.ts'

let harness: NotebookHarness
afterEach(() => harness.close())

const USERS = 200
/** Pod, two secrets, first notebook and service are each read and created; the token is read again, and the status is read. */
const MOST_CALLS = 14

describe('200 starts at once', { ...LONG, timeout: 600_000 }, () => {
  it('succeed with at most 14 calls each, of which at most 16 run at once', async () => {
    // a busy machine needs longer than the 3 s that a call has by default
    harness = await startNotebookHarness({ overrides: { notebooks: { attemptMs: 20_000, probeMs: 3_600_000 } } })
    const { api } = harness.cluster
    const tokens = await Promise.all(Array.from({ length: USERS }, (_, at) => harness.tokenOf(`user-${at}`)))
    api.faults.add({ times: Number.POSITIVE_INFINITY, action: { delayMs: 10 } })
    const before = api.calls.length
    const answers = await Promise.all(tokens.map((token) => harness.start(token)))
    const calls = api.calls.slice(before).filter(({ verb }) => verb !== 'watch')
    expect(answers.map(({ status }) => status)).toEqual(tokens.map(() => 200))
    expect(api.names('pods')).toHaveLength(USERS)
    expect(calls.length / USERS).toBeGreaterThan(5)
    expect(calls.length / USERS).toBeLessThanOrEqual(MOST_CALLS)
    expect(api.mostAtOnce()).toBeGreaterThan(1)
    expect(api.mostAtOnce()).toBeLessThanOrEqual(16)
  })
})
