import { describe, expect, it } from 'vitest'
import { backOffMs } from '../../src/lib/back-off.ts'
import { sleep } from '../../src/lib/sleep.ts'

describe('backOffMs', () => {
  it('doubles with every failure up to the maximum, and is random in the upper half', () => {
    for (const [failures, full] of [
      [0, 100],
      [1, 100],
      [2, 200],
      [5, 1600],
      [6, 2000],
      [5000, 2000],
    ] as const) {
      const waits = Array.from({ length: 50 }, () => backOffMs({ firstMs: 100, maxMs: 2000 }, failures))
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(full / 2)
      expect(Math.max(...waits)).toBeLessThanOrEqual(full)
      expect(new Set(waits).size).toBeGreaterThan(1)
    }
    expect(backOffMs({ firstMs: 0, maxMs: 2000 }, 5000)).toBe(0)
  })
})

describe('sleep', () => {
  it('ends when its signal is aborted, before or during the wait, and removes its listener', async () => {
    await sleep(600_000, AbortSignal.abort())
    const stop = new AbortController()
    const sleeping = sleep(600_000, stop.signal)
    stop.abort()
    await sleeping
    await sleep(1)
    expect(stop.signal.aborted).toBe(true)
  })

  it('waits for longer than a timer can', async () => {
    const stop = new AbortController()
    let isOver = false
    const sleeping = sleep(2 ** 40, stop.signal).then(() => (isOver = true))
    await sleep(30)
    expect(isOver).toBe(false)
    stop.abort()
    expect(await sleeping).toBe(true)
  })
})
