import { afterEach, describe, expect, it } from 'vitest'
import { type Loop, type LoopOptions, startLoop } from '../../src/lib/start-loop.ts'
import { sleep, until } from '../support/waiting.ts'

const NEVER_MS = 600_000

const loops: Loop[] = []
afterEach(async () => {
  await Promise.all(loops.splice(0).map((loop) => loop.stop()))
})

interface Observed {
  readonly loop: Loop
  /** When each tick began, ms. */
  readonly begins: number[]
  readonly errors: unknown[]
}

/** Starts a loop that is stopped after the test, and records its ticks and errors. */
function start({ tick, ...options }: Partial<LoopOptions>): Observed {
  const begins: number[] = []
  const errors: unknown[] = []
  const loop = startLoop({
    everyMs: NEVER_MS,
    onError: (error) => void errors.push(error),
    ...options,
    async tick(signal) {
      begins.push(performance.now())
      return tick?.(signal)
    },
  })
  loops.push(loop)
  return { loop, begins, errors }
}

/** A tick that begins, and ends when it is told to. */
function heldTick() {
  const ends: (() => void)[] = []
  return {
    running: () => ends.length,
    tick: () => new Promise<void>((resolve) => void ends.push(resolve)),
    end: () => ends.splice(0).forEach((end) => end()),
  }
}

const gaps = (begins: readonly number[]): number[] =>
  begins.slice(1).map((begin, at) => begin - (begins[at] ?? Number.NaN))

describe('startLoop', () => {
  it('ticks at once, and then every everyMs', async () => {
    const { begins } = start({ everyMs: 40 })
    await until(() => begins.length === 1)
    await until(() => begins.length >= 4)
    for (const gap of gaps(begins)) expect(gap).toBeGreaterThan(30)
  })

  it('waits firstMs before the first tick', async () => {
    const startedAt = performance.now()
    const { begins } = start({ firstMs: 50 })
    await until(() => begins.length === 1)
    expect((begins[0] ?? 0) - startedAt).toBeGreaterThan(40)
  })

  it('counts everyMs from the start of a tick, and skips the starts that a long tick misses', async () => {
    const { begins } = start({ everyMs: 100, tick: () => sleep(begins.length === 1 ? 60 : 150) })
    await until(() => begins.length >= 3)
    const [short = 0, long = 0] = gaps(begins)
    expect(short).toBeGreaterThan(90)
    expect(long).toBeGreaterThan(190)
  })

  it('waits as long as the tick returns', async () => {
    const { begins } = start({ tick: async () => ({ waitMs: begins.length < 3 ? 30 : NEVER_MS }) })
    await until(() => begins.length === 3)
    await sleep(60)
    expect(begins).toHaveLength(3)
    for (const gap of gaps(begins)) expect(gap).toBeGreaterThan(20)
  })

  it('never runs two ticks at the same time', async () => {
    const held = heldTick()
    const { loop, begins } = start({ everyMs: 1, tick: held.tick })
    await until(() => held.running() === 1)
    loop.wake()
    await sleep(30)
    expect(begins).toHaveLength(1)
    held.end()
    await until(() => begins.length === 2)
    expect(held.running()).toBe(1)
    held.end()
  })

  it('gives other work a turn between ticks that need no wait', async () => {
    const { begins } = start({ tick: async () => ({ waitMs: 0 }) })
    await sleep(20)
    expect(begins.length).toBeGreaterThan(1)
  })
})

describe('a loop whose tick throws', () => {
  it('reports each error and continues after everyMs', async () => {
    const { begins, errors } = start({
      everyMs: 30,
      async tick() {
        await sleep(20)
        throw new Error(`tick ${begins.length}`)
      },
    })
    await until(() => errors.length >= 3)
    expect(errors.slice(0, 3)).toMatchObject([{ message: 'tick 1' }, { message: 'tick 2' }, { message: 'tick 3' }])
    for (const gap of gaps(begins)) expect(gap).toBeGreaterThan(45) // the tick, and a whole wait
  })

  it('reports an error that is thrown before the tick returns a promise', async () => {
    const errors: unknown[] = []
    const loop = startLoop({
      everyMs: NEVER_MS,
      tick() {
        throw new Error('at once')
      },
      onError: (error) => void errors.push(error),
    })
    loops.push(loop)
    await until(() => errors.length === 1)
    expect(errors).toMatchObject([{ message: 'at once' }])
  })

  it('doubles its waits up to the maximum when backOff is given', async () => {
    const { begins } = start({
      everyMs: 1,
      backOff: { firstMs: 40, maxMs: 80 },
      async tick() {
        throw new Error('unavailable')
      },
    })
    await until(() => begins.length >= 4)
    const [first = 0, second = 0, third = 0] = gaps(begins)
    expect(first).toBeGreaterThan(15) // random in the upper half
    expect(second).toBeGreaterThan(35)
    expect(third).toBeGreaterThan(35)
  })

  it('begins again with the first wait after a tick that succeeds', async () => {
    const { begins, errors } = start({
      everyMs: 1,
      backOff: { firstMs: 1, maxMs: NEVER_MS },
      async tick() {
        if (begins.length % 2 === 1) throw new Error('unavailable')
      },
    })
    await until(() => errors.length >= 25) // the last waits alone would take hours if they doubled
    expect(begins.length).toBeGreaterThanOrEqual(49)
  })

  it('is woken from the wait after an error', async () => {
    const { loop, begins, errors } = start({
      async tick() {
        if (begins.length === 1) throw new Error('once')
      },
    })
    await until(() => errors.length === 1)
    await sleep(5)
    loop.wake()
    await until(() => begins.length === 2)
    expect(errors).toMatchObject([{ message: 'once' }])
  })
})

describe('a loop that is woken', () => {
  it('ticks at once while it waits, also before its first tick', async () => {
    const { loop, begins } = start({ firstMs: NEVER_MS })
    loop.wake()
    await until(() => begins.length === 1)
    await sleep(5)
    loop.wake()
    await until(() => begins.length === 2)
    await sleep(20)
    expect(begins).toHaveLength(2)
  })

  it('ticks once more when it is woken several times during a tick', async () => {
    const held = heldTick()
    const { loop, begins } = start({ tick: held.tick })
    await until(() => held.running() === 1)
    for (let time = 0; time < 3; time += 1) loop.wake()
    held.end()
    await until(() => held.running() === 1)
    held.end()
    await sleep(30)
    expect(begins).toHaveLength(2)
  })

  it('lets timers run when each tick wakes the loop again', async () => {
    const { loop, begins } = start({
      async tick() {
        loop.wake()
      },
    })
    await sleep(20) // would never end if the ticks followed each other without a turn
    expect(begins.length).toBeGreaterThan(1)
    await loop.stop()
  })
})

describe('a loop that is stopped', () => {
  it('ends its wait at once, and never ticks again', async () => {
    const { loop, begins } = start({})
    await until(() => begins.length === 1)
    await sleep(5)
    const stoppedAt = performance.now()
    await loop.stop()
    expect(performance.now() - stoppedAt).toBeLessThan(5000)
    loop.wake()
    await sleep(20)
    expect(begins).toHaveLength(1)
  })

  it('never ticks when it is stopped during the first wait', async () => {
    const { loop, begins } = start({ firstMs: NEVER_MS })
    await loop.stop()
    expect(begins).toHaveLength(0)
  })

  it('aborts the signal of a running tick, and waits until that tick has ended', async () => {
    const held = heldTick()
    let signalled: AbortSignal | undefined
    const { loop } = start({
      tick(signal) {
        signalled = signal
        return held.tick()
      },
    })
    await until(() => held.running() === 1)
    let hasStopped = false
    const stopped = loop.stop().then(() => (hasStopped = true))
    expect(signalled?.aborted).toBe(true)
    await sleep(20)
    expect(hasStopped).toBe(false)
    held.end()
    await stopped
    await loop.stop()
  })

  it('reports the error of its last tick', async () => {
    const { loop, begins, errors } = start({
      async tick(signal) {
        await until(() => signal.aborted)
        throw new Error('last')
      },
    })
    await until(() => begins.length === 1)
    await loop.stop()
    expect(errors).toMatchObject([{ message: 'last' }])
  })

  it('ends when it was woken before', async () => {
    const held = heldTick()
    const { loop, begins } = start({ tick: held.tick })
    await until(() => held.running() === 1)
    loop.wake()
    const stopped = loop.stop()
    held.end()
    await stopped
    expect(begins).toHaveLength(1)
  })
})

describe('a loop with a lease', () => {
  /** A lease that records its calls; `isFree` decides whether it can be taken. */
  function lease(isFree: () => boolean | Promise<boolean>) {
    const calls: string[] = []
    return {
      calls,
      lease: {
        async take() {
          calls.push('take')
          return isFree()
        },
        async release() {
          calls.push('release')
        },
      },
    }
  }

  it('takes the lease before each tick, and releases it after the last', async () => {
    const held = heldTick()
    const leased = lease(() => true)
    const { loop } = start({ ...leased, tick: held.tick })
    await until(() => held.running() === 1)
    loop.wake()
    held.end()
    await until(() => held.running() === 1)
    const stopped = loop.stop()
    await sleep(10)
    expect(leased.calls).toEqual(['take', 'take'])
    held.end()
    await stopped
    expect(leased.calls).toEqual(['take', 'take', 'release'])
  })

  it('does other work while another process holds the lease, and ticks once the lease is free', async () => {
    let isFree = false
    let others = 0
    const { begins } = start({
      everyMs: 10,
      lease: lease(() => isFree).lease,
      async otherwise() {
        others += 1
      },
    })
    await until(() => others >= 2)
    expect(begins).toHaveLength(0)
    isFree = true
    await until(() => begins.length >= 1)
  })

  it('reports a lease that cannot be asked for, and tries again', async () => {
    let tries = 0
    const { begins, errors } = start({
      everyMs: 10,
      lease: lease(() => {
        if (++tries === 1) throw new Error('the database does not respond')
        return true
      }).lease,
    })
    await until(() => begins.length >= 1)
    expect(errors).toMatchObject([{ message: 'the database does not respond' }])
  })

  it('does not tick when it is stopped while the lease is taken, and releases the lease', async () => {
    const answer = Promise.withResolvers<boolean>()
    const leased = lease(() => answer.promise)
    const { loop, begins } = start(leased)
    await until(() => leased.calls.length === 1)
    const stopped = loop.stop()
    answer.resolve(true)
    await stopped
    expect(begins).toHaveLength(0)
    expect(leased.calls).toEqual(['take', 'release'])
  })

  it('ends although its lease cannot be released', async () => {
    const { loop } = start({
      lease: { take: async () => true, release: () => Promise.reject(new Error('the database does not respond')) },
    })
    await loop.stop()
    expect(await loop.stop()).toBeUndefined()
  })
})
