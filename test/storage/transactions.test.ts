import { type Kysely, sql } from 'kysely'
import { expect, it } from 'vitest'

import type { StateTables } from '../../src/storage/schema.ts'
import { createTransactions, type Tx } from '../../src/storage/transactions.ts'
import { describeDatabases } from './open.ts'

describeDatabases('transactions', (databases) => {
  const write = (key: string) => (tx: Tx) => sql`insert into settings values (${key}, '1', 1, 'now')`.execute(tx)

  async function keys(db: Kysely<StateTables>): Promise<string[]> {
    const { rows } = await sql<{ key: string }>`select key from settings order by key`.execute(db)
    return rows.map(({ key }) => key)
  }

  it('combines waiting work into shared commits', async () => {
    const { inTransaction, onCommit } = createTransactions(await databases.open())
    let commits = 0
    onCommit(() => commits++)
    const names = Array.from({ length: 200 }, (_, i) => `k${i}`)
    await Promise.all(names.map((name) => inTransaction(write(name))))
    expect(commits).toBeGreaterThan(0)
    expect(commits).toBeLessThan(20)
  })

  it('reports success only when another connection can read the change', async () => {
    const place = await databases.place()
    const { inTransaction } = createTransactions(await databases.open(place))
    const other = await databases.open(place)
    const seen = Array.from({ length: 50 }, async (_, i) => {
      await inTransaction(write(`k${i}`))
      return (await keys(other)).includes(`k${i}`)
    })
    expect(await Promise.all(seen)).toEqual(seen.map(() => true))
  })

  it('rolls back failed work and no other work of the group', async () => {
    const db = await databases.open()
    const { inTransaction } = createTransactions(db)
    const settled = await Promise.allSettled(
      Array.from({ length: 30 }, (_, i) =>
        inTransaction(async (tx) => {
          await write(`k${String(i).padStart(2, '0')}`)(tx)
          if (i % 3 === 1) throw new Error(`no ${i}`)
          if (i % 3 === 2) await write('k00')(tx)
          return i
        }),
      ),
    )
    for (const [i, result] of settled.entries()) {
      if (i % 3 === 0) expect(result).toEqual({ status: 'fulfilled', value: i })
      else if (i % 3 === 1) expect(result).toMatchObject({ status: 'rejected', reason: { message: `no ${i}` } })
      else expect(result).toMatchObject({ status: 'rejected', reason: { code: 'UNIQUE_VIOLATION' } })
    }
    expect(await keys(db)).toEqual(settled.flatMap((_, i) => (i % 3 === 0 ? [`k${String(i).padStart(2, '0')}`] : [])))
  })

  it.each(['fails', 'goes on'])(
    'reports no success when the database rolled the group back and the work %s',
    async (how) => {
      const db = await databases.open()
      const { inTransaction } = createTransactions(db)
      const giveUp = async (tx: Tx) => {
        await write('given up')(tx)
        await sql`rollback`.execute(tx)
        if (how === 'fails') throw new Error('the disk is full')
      }
      const settled = await Promise.allSettled([
        inTransaction(write('a')),
        inTransaction(giveUp),
        inTransaction(write('b')),
      ])
      const [first, second, third] = settled
      expect([first?.status, second?.status]).toEqual(['rejected', 'rejected'])
      if (how === 'fails') expect(first).toMatchObject({ reason: { message: 'the disk is full' } })
      expect(await keys(db)).toEqual(third?.status === 'fulfilled' ? ['b'] : [])
      await inTransaction(write('c'))
      expect(await keys(db)).toContain('c')
    },
  )
})
