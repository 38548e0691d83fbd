import { describe, expect, it } from 'vitest'
import { createCallQueue } from '../../src/notebooks/kubernetes/call-queue.ts'

describe('the queue of calls to the cluster', () => {
  it('runs a limited number of calls at once, in order, and goes on after failures', async () => {
    const inTurn = createCallQueue(3, 100)
    const order: number[] = []
    let running = 0
    let most = 0
    const calls = Array.from({ length: 50 }, (_, index) =>
      inTurn(async () => {
        order.push(index)
        running += 1
        most = Math.max(most, running)
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
        if (index % 7 === 0) throw new Error('failed')
      }),
    )
    const outcomes = await Promise.allSettled(calls)
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(8)
    expect([most, running]).toEqual([3, 0])
    expect(order).toEqual(Array.from({ length: 50 }, (_, index) => index))
  })

  it('refuses a call when too many wait', async () => {
    const inTurn = createCallQueue(1, 1)
    const { promise, resolve } = Promise.withResolvers<void>()
    const first = inTurn(() => promise)
    const second = inTurn(async () => 'second')
    await expect(inTurn(async () => 'third')).rejects.toMatchObject({ code: 'unavailable' })
    resolve()
    await first
    expect(await second).toBe('second')
  })
})
