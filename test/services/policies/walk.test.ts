import { expect, it } from 'vitest'
import { createLogger } from '../../../src/services/logger.ts'
import type { SchedulerDeps } from '../../../src/services/policies/policy-deps.ts'
import { previewPolicy } from '../../../src/services/policies/preview-policy.ts'
import { governingPolicies } from '../../../src/services/policies/governance.ts'
import { decisionRow } from '../../../src/services/policies/run-operation.ts'
import { createPolicyScheduler } from '../../../src/services/policies/scheduler.ts'
import { DatabaseError } from '../../../src/storage/database-error.ts'
import { registerInstance } from '../../../src/storage/instance-registry.ts'
import { createLeaseStore } from '../../../src/storage/stores/lease-store.ts'
import { createOperationStore } from '../../../src/storage/stores/operations/operation-store.ts'
import { createDecisionStore } from '../../../src/storage/stores/policies/decision-store.ts'
import { createPolicyStore, type PolicyRecord } from '../../../src/storage/stores/policies/policy-store.ts'
import { createHealthIndexStore, type TableHealth } from '../../../src/storage/stores/tables/health-index-store.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { describeDatabases } from '../../storage/open.ts'
import { indexRow } from '../../support/index-row.ts'
import { sleep, until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const TABLES = 2200
/** Every twentieth table is unhealthy, and some could not be read. */
const scoreOf = (n: number): number | null => (n % 20 === 0 ? 20 + (n % 7) : n % 501 === 0 ? null : 90)
const ACTIONS = JSON.stringify([
  { operation: 'compact', reason: 'r', projected: { score: 95, rewritten_bytes_count: 7 } },
])
const ROWS: readonly TableHealth[] = Array.from({ length: TABLES }, (_, n) =>
  indexRow(`ns.t${String(n).padStart(5, '0')}`, {
    score: scoreOf(n),
    actions_json: n % 20 === 0 ? ACTIONS : '[]',
  }),
)

const SETTINGS: PolicyRecord['settings'] = {
  name: 'all',
  tables: ['*'],
  except: [],
  priority: 100,
  operations: [{ operation: 'compact' }],
  when: { health_below: 50 },
  cooldown: '6 hours',
  mode: 'shadow',
}

describeDatabases('a walk over more tables than fit in a page', (databases) => {
  interface LabOptions {
    /** Whether this process may go on with the policies. */
    readonly owner?: () => boolean
    /** Whether the database can be written. */
    readonly isDown?: () => boolean
    readonly more?: readonly Partial<PolicyRecord['settings']>[]
  }

  async function lab({ owner, isDown = () => false, more = [] }: LabOptions = {}) {
    const db = await databases.open()
    const { inTransaction } = createTransactions(db)
    const instance = await registerInstance(db, inTransaction, new Date())
    const index = createHealthIndexStore(db)
    await index.save(ROWS, [])
    const at = new Date(Date.now() - 1000).toISOString()
    const record = { managedBy: undefined, revision: 1, createdBy: 'ana', createdAt: at, updatedAt: at }
    for (const [n, settings] of [SETTINGS, ...more].entries()) {
      await createPolicyStore(db).insert({ ...record, id: `pol-${n}`, settings: { ...SETTINGS, ...settings } })
    }
    const leases = createLeaseStore(db)
    const seen: string[] = []
    const errors: string[] = []
    let walks = 0
    let refused = 0
    let id = 0
    const deps: Partial<SchedulerDeps> = {
      policies: createPolicyStore(db),
      decisions: createDecisionStore(db),
      index: {
        ...index,
        async *walk() {
          for await (const rows of index.walk()) {
            seen.push(...rows.map(({ table_name: name }) => name))
            yield rows
          }
          walks += 1
        },
      },
      operations: createOperationStore(db),
      // each refusal takes longer than the one before, as connections that are tried again do
      inTransaction: async (work) => {
        if (!isDown()) return inTransaction(work)
        await sleep(10 * refused)
        refused += 1
        throw new DatabaseError('CANNOT_OPEN', 'the database is gone')
      },
      instance: { ...instance, isShared: false },
      leases: {
        ...leases,
        take: async (...args: Parameters<typeof leases.take>) => (owner?.() ?? true) && leases.take(...args),
      },
      newId: (prefix: string) => `${prefix}-${id++}`,
      now: () => new Date(),
      log: createLogger('warn', (line) => void errors.push(line)),
      tickMs: 60_000,
    }
    const needed = deps as unknown as SchedulerDeps // what runs nothing needs no catalog
    const scheduler = createPolicyScheduler(needed)
    const close = async () => {
      await scheduler.close()
      await instance.close()
    }
    return { db, deps: needed, scheduler, seen, errors, walks: () => walks, close }
  }

  it('sees each table once, worst first, and stores one decision for each that is due', LONG, async () => {
    const { db, scheduler, seen, walks, close } = await lab()
    scheduler.start()
    await until(() => walks() === 1, 'a walk')
    const scores = seen.map((name) => scoreOf(Number(name.slice('ns.t'.length))) ?? 101)
    expect(seen).toHaveLength(TABLES)
    expect(new Set(seen).size).toBe(TABLES)
    expect(scores).toEqual(scores.toSorted((a, b) => a - b))
    const decisions = () => db.selectFrom('policy_decisions').select(['table_name', 'outcome']).execute()
    const first = await decisions()
    expect(first).toHaveLength(TABLES / 20)
    expect(new Set(first.map(({ outcome }) => outcome))).toEqual(new Set(['would_run']))
    await until(() => {
      scheduler.wake()
      return walks() === 2
    }, 'a second walk')
    expect(await decisions()).toHaveLength(TABLES / 20)
    await close()
  })

  it('ends when another process has taken over', LONG, async () => {
    let takes = 0
    const { db, scheduler, seen, walks, close } = await lab({ owner: () => (takes += 1) <= 2 })
    scheduler.start()
    await until(() => takes === 3, 'a third look at the lease')
    await sleep(100)
    expect([walks(), seen.length]).toEqual([0, 2000])
    const { length } = await db.selectFrom('policy_decisions').select('id').execute()
    expect(length).toBe(TABLES / 20) // all of the first page
    await close()
  })

  it('goes on when the database was gone for a while, and stores what it could not store before', LONG, async () => {
    let isDown = true
    const more = [{ name: 'one', tables: ['ns.t00020'], priority: 1, mode: 'active' as const }]
    const { db, scheduler, errors, close } = await lab({ isDown: () => isDown, more })
    scheduler.start()
    await until(() => errors.some((line) => line.includes('the database is gone')), 'a failure')
    await sleep(200)
    isDown = false
    await until(async () => {
      scheduler.wake()
      const decisions = await db.selectFrom('policy_decisions').select('table_name').execute()
      return new Set(decisions.map(({ table_name: name }) => name)).size >= TABLES / 20
    }, 'a decision about each table that is due')
    const count = db.selectFrom('policy_decisions').select(({ fn }) => fn.countAll().as('count'))
    await close()
    expect(Number((await count.executeTakeFirstOrThrow()).count)).toBe(TABLES / 20)
  })

  it('ends the decision of a run that the database did not confirm', LONG, async () => {
    const { db, deps, scheduler, close } = await lab()
    const row = ROWS[40]
    const [governing] = governingPolicies(await deps.policies.list(), 'ns.t00040')
    if (row === undefined || governing === undefined) throw new Error('no policy governs the table')
    const assessment = { outcome: 'ready', reason: 'due', detail: 'below 50' } as const
    const lost = decisionRow(deps, { governing, row, assessment }, 'running')
    await deps.decisions.insert(lost)
    scheduler.start()
    const stored = () => db.selectFrom('policy_decisions').selectAll().where('id', '=', lost.id).executeTakeFirst()
    await until(async () => (await stored())?.outcome !== 'running', 'the end of the decision')
    expect(await stored()).toMatchObject({ outcome: 'cancelled', detail: 'the state database did not respond' })
    await close()
  })

  it('previews all tables, and lists a thousand', async () => {
    const { deps, close } = await lab()
    const preview = await previewPolicy(deps, SETTINGS)
    expect(preview).toMatchObject({ matched_count: TABLES, runs_count: TABLES / 20, planned_bytes: (TABLES / 20) * 7 })
    expect([preview.matched_tables.length, preview.runs.length]).toEqual([1000, TABLES / 20])
    const known = ROWS.flatMap(({ score }) => score ?? [])
    const mean = (scores: readonly number[]) =>
      Math.round((scores.reduce((a, b) => a + b, 0) / scores.length) * 10) / 10
    expect(preview.mean_score).toBe(mean(known))
    expect(preview.projected_mean_score).toBe(mean(known.map((score) => (score < 50 ? 95 : score))))
    await close()
  })
})

describeDatabases('the order of the health index', (databases) => {
  it('pages through equal values in both directions, and walks with tables that could not be read last', async () => {
    const store = createHealthIndexStore(await databases.open())
    const rows = Array.from('abcdefghij', (name, n) => indexRow(name, { score: n < 3 ? null : n % 2 === 0 ? 40 : 90 }))
    await store.save(rows, [])
    for (const order of ['asc', 'desc'] as const) {
      const all = await store.list({ sort: 'score', order, limit: 100 })
      const paged: string[] = []
      let after: { value: number; name: string } | undefined
      for (;;) {
        const page = await store.list({ sort: 'score', order, limit: 2, after })
        const last = page.at(-1)
        if (last === undefined) break
        paged.push(...page.map(({ table_name: name }) => name))
        after = { value: last.score ?? -1, name: last.table_name }
      }
      expect(paged).toEqual(all.map(({ table_name: name }) => name))
      expect(paged.join('')).toBe(order === 'asc' ? 'abcegidfhj' : 'dfhjegiabc')
    }
    const walked: string[] = []
    for await (const page of store.walk(3)) walked.push(page.map(({ table_name: name }) => name).join(''))
    expect(walked).toEqual(['egi', 'dfh', 'j', 'abc'])
  })
})
