import { describe, expect, it } from 'vitest'
import { FairSlots } from '../../src/engines/fair-slots.ts'
import { sleep } from '../support/waiting.ts'

/** Work that ends when it is told to. */
class Job {
  readonly name: string
  readonly #done = Promise.withResolvers<void>()
  started = false

  constructor(name: string) {
    this.name = name
  }

  readonly run = async (): Promise<string> => {
    this.started = true
    await this.#done.promise
    return this.name
  }

  end(): void {
    this.#done.resolve()
  }
}

const settle = (): Promise<void> => sleep(5)

describe('slots', () => {
  it('of one lane do not use those of other lanes', async () => {
    const slots = new FairSlots({ maintenance: { running: 2 }, copy: { running: 2 } }, 3)
    const copies = [1, 2, 3, 4].map((at) => new Job(`copy ${at}`))
    const compaction = new Job('compaction')
    const running = copies.map((job) => slots.run({ lane: 'copy' }, job.run))
    running.push(slots.run({ lane: 'maintenance' }, compaction.run))
    await settle()
    expect(copies.map(({ started }) => started)).toEqual([true, true, false, false])
    expect(compaction.started).toBe(true)
    for (const job of [...copies, compaction]) job.end()
    expect(await Promise.all(running)).toHaveLength(5)
  })

  it('go to a user without slots before a user with many', async () => {
    const slots = new FairSlots({ query: { running: 2 } })
    const greedy = [1, 2, 3, 4].map((at) => new Job(`greedy ${at}`))
    const modest = new Job('modest')
    const running = greedy.map((job) => slots.run({ lane: 'query', owner: 'greedy' }, job.run))
    running.push(slots.run({ lane: 'query', owner: 'modest' }, modest.run))
    await settle()
    expect([...greedy, modest].filter(({ started }) => started).map(({ name }) => name)).toEqual([
      'greedy 1',
      'greedy 2',
    ])
    greedy[0]?.end()
    await settle()
    expect(modest.started).toBe(true)
    for (const job of [...greedy, modest]) job.end()
    await Promise.all(running)
  })

  it('are never all used by one user', async () => {
    const slots = new FairSlots({ query: { running: 2, runningPerOwner: 1 } })
    const first = new Job('first')
    const second = new Job('second')
    const other = new Job('other')
    const running = [
      slots.run({ lane: 'query', owner: 'a' }, first.run),
      slots.run({ lane: 'query', owner: 'a' }, second.run),
      slots.run({ lane: 'query', owner: 'b' }, other.run),
    ]
    await settle()
    expect([first.started, second.started, other.started]).toEqual([true, false, true])
    for (const job of [first, second, other]) job.end()
    expect(await Promise.all(running)).toEqual(['first', 'second', 'other'])
  })

  it('have a queue of limited length, per user and in total', async () => {
    const slots = new FairSlots({ query: { running: 1, waiting: 3, waitingPerOwner: 2 } })
    const jobs = [1, 2, 3, 4].map((at) => new Job(String(at)))
    const running = jobs.map((job, at) => slots.run({ lane: 'query', owner: at === 3 ? 'b' : 'a' }, job.run))
    const refused = slots.run({ lane: 'query', owner: 'b' }, async () => 'never')
    await expect(refused).rejects.toMatchObject({ code: 'ENGINE_BUSY', retryAfterS: 5 })
    jobs[0]?.end()
    await running[0]
    await settle()
    const again = slots.run({ lane: 'query', owner: 'a' }, async () => 'now there is room')
    await expect(slots.run({ lane: 'query', owner: 'a' }, async () => 'never')).rejects.toMatchObject({
      code: expect.stringMatching(/RATE_LIMITED|ENGINE_BUSY/),
    })
    for (const job of jobs) job.end()
    expect(await again).toBe('now there is room')
    await Promise.all(running)
    const own = new FairSlots({ query: { running: 1, waiting: 9, waitingPerOwner: 1 } })
    const holder = new Job('holder')
    const held = [
      own.run({ lane: 'query', owner: 'a' }, holder.run),
      own.run({ lane: 'query', owner: 'a' }, holder.run),
    ]
    await expect(own.run({ lane: 'query', owner: 'a' }, async () => 'never')).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      retryAfterS: 5,
    })
    holder.end()
    await Promise.all(held)
  })

  it('are released by cancelled waiters and by failed work', async () => {
    const slots = new FairSlots({ query: { running: 1 } })
    const holder = new Job('holder')
    const held = slots.run({ lane: 'query' }, holder.run)
    const controller = new AbortController()
    const waiting = slots.run({ lane: 'query', signal: controller.signal }, async () => 'never')
    const failing = slots.run({ lane: 'query' }, async () => Promise.reject(new Error('no')))
    controller.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' })
    await expect(slots.run({ lane: 'query', signal: controller.signal }, async () => 'x')).rejects.toMatchObject({
      code: 'CANCELLED',
    })
    holder.end()
    await held
    await expect(failing).rejects.toThrow('no')
    expect(await slots.run({ lane: 'query' }, async () => 'free')).toBe('free')
  })
})
