import { expect, it } from 'vitest'

import { createEventFeed } from '../../../src/services/events/event-feed.ts'
import { createEventWriter } from '../../../src/services/events/event-log.ts'
import { createEventStore } from '../../../src/storage/stores/event-store.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { describeDatabases, type TestDatabases } from '../../storage/open.ts'
import { sleep } from '../../support/waiting.ts'

async function openProcess(databases: TestDatabases, place: string) {
  const db = await databases.open(place)
  const { inTransaction, onCommit } = createTransactions(db)
  const store = createEventStore(db)
  const events = createEventWriter(store, () => new Date())
  const feed = createEventFeed({ store, onCommit, pollMs: databases.kind === 'SQLite' ? undefined : 20 })
  const add = (n: number): Promise<number> =>
    inTransaction((tx) =>
      events.append(tx, { type: 'operation.finished', objectType: 'thing', objectId: `t-${n}`, data: { n } }),
    )
  return { feed, add, inTransaction, events }
}

describeDatabases('event log', (databases) => {
  // SQLite allows one process; its concurrent requests still act as several writers.
  const processes = databases.kind === 'SQLite' ? 1 : 3

  it('numbers events without gaps, also when transactions fail, and delivers each to followers once and in order', async () => {
    const place = await databases.place()
    const writers: Awaited<ReturnType<typeof openProcess>>[] = []
    for (let i = 0; i < processes; i++) writers.push(await openProcess(databases, place))
    const [first] = writers
    const stop = new AbortController()
    const seen: number[] = []
    const following = (async () => {
      for await (const { seq } of first!.feed.follow(0, stop.signal)) {
        seen.push(seq)
        if (seq === 150) return
      }
    })()
    const work = Array.from({ length: 200 }, (_, i) => {
      const { add, inTransaction, events } = writers[i % processes]!
      if (i % 4 !== 0) return add(i)
      const failing = inTransaction(async (tx) => {
        await events.append(tx, { type: 'operation.failed', objectType: 'thing', objectId: `t-${i}`, data: {} })
        throw new Error('rolled back')
      })
      return failing.catch(() => 0)
    })
    const numbers = (await Promise.all(work)).filter((seq) => seq > 0)
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 150 }, (_, i) => i + 1))
    await following
    stop.abort()
    expect(seen).toEqual(numbers)
  })

  it('can be followed from a position, from the beginning, or from now', async () => {
    const { feed, add } = await openProcess(databases, await databases.place())
    for (let i = 1; i <= 5; i++) await add(i)
    expect((await feed.after(3, 10)).map(({ seq }) => seq)).toEqual([4, 5])
    expect((await feed.after(0, 2)).map(({ seq, data }) => [seq, data])).toEqual([
      [1, { n: 1 }],
      [2, { n: 2 }],
    ])
    const stop = new AbortController()
    const fromNow = feed.follow(undefined, stop.signal)
    const next = fromNow.next()
    await sleep(50)
    await add(6)
    expect((await next).value).toMatchObject({ seq: 6, type: 'operation.finished', object_id: 't-6' })
    stop.abort()
    expect((await fromNow.next()).done).toBe(true)
  })
})
