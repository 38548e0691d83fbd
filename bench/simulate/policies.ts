import type { Kysely } from 'kysely'

import { createPolicyScheduler } from '../../src/services/policies/scheduler.ts'
import type { SchedulerDeps } from '../../src/services/policies/policy-deps.ts'
import { previewPolicy } from '../../src/services/policies/preview-policy.ts'
import { registerInstance } from '../../src/storage/instance-registry.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { openStateDatabase } from '../../src/storage/state-database.ts'
import { createLeaseStore } from '../../src/storage/stores/lease-store.ts'
import { createOperationStore } from '../../src/storage/stores/operations/operation-store.ts'
import { createDecisionStore } from '../../src/storage/stores/policies/decision-store.ts'
import { createPolicyStore, type PolicyRecord } from '../../src/storage/stores/policies/policy-store.ts'
import { createHealthIndexStore } from '../../src/storage/stores/tables/health-index-store.ts'
import { createTransactions } from '../../src/storage/transactions.ts'
import { until } from '../../test/support/waiting.ts'
import { withDatabase } from './databases.ts'
import { clock, longestStall, type RecordFigure, timed } from './measure.ts'
import { silentLog } from './quiet-log.ts'
import { analyze, seedIndex } from './seed.ts'
import type { Place } from './place.ts'

const SETTINGS: PolicyRecord['settings'] = {
  name: 'all tables',
  tables: ['*'],
  except: [],
  priority: 100,
  operations: [{ operation: 'compact' }, { operation: 'expire' }, { operation: 'rewrite_manifests' }],
  when: { health_below: 75 },
  cooldown: '6 hours',
  mode: 'shadow',
}

/** Walks of the scheduler over all tables: the first stores a decision for each operation that is due, later ones none. */
export async function simulatePolicies(place: Place, record: RecordFigure): Promise<void> {
  return withDatabase(place, async (made) => {
    const db = await openStateDatabase(made.dialect)
    const any = db as unknown as Kysely<never>
    await seedIndex(db, place.size)
    await analyze(any)
    const before = await made.size(any)
    const at = new Date(Date.now() - 1000).toISOString()
    await createPolicyStore(db).insert({
      id: 'pol',
      settings: SETTINGS,
      managedBy: undefined,
      revision: 1,
      createdBy: 'bench',
      createdAt: at,
      updatedAt: at,
    })
    await walk(db, 2, record)
    const { count } = await db
      .selectFrom('policy_decisions')
      .select((select) => select.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    record('number of decisions', count)
    record('size per decision', ((await made.size(any)) - before) / count)
    const preview = await timed(() =>
      previewPolicy(
        { policies: createPolicyStore(db), index: createHealthIndexStore(db), now: () => new Date() },
        SETTINGS,
      ),
    )
    record('preview', preview)
    await db.destroy()
  })
}

async function walk(db: Kysely<StateTables>, count: number, record: RecordFigure): Promise<void> {
  const { inTransaction } = createTransactions(db)
  const instance = await registerInstance(db, inTransaction, new Date())
  const index = createHealthIndexStore(db)
  const times: number[] = []
  let id = 0
  const deps = {
    policies: createPolicyStore(db),
    decisions: createDecisionStore(db),
    index: {
      ...index,
      async *walk() {
        const startedAt = clock()
        yield* index.walk()
        times.push(clock() - startedAt)
        record(times.length === 1 ? 'first walk' : 'later walk', times.at(-1) ?? 0)
      },
    },
    operations: createOperationStore(db),
    inTransaction,
    instance: { ...instance, isShared: false }, // one process
    leases: createLeaseStore(db),
    newId: (prefix: string) => `${prefix}-${id++}`,
    now: () => new Date(),
    log: silentLog,
    tickMs: 100,
    // a policy in shadow mode runs nothing, so it needs no catalog and no maintenance
  } as unknown as SchedulerDeps
  const scheduler = createPolicyScheduler(deps)
  const stall = await longestStall(async () => {
    scheduler.start()
    await until(
      () => {
        scheduler.wake()
        return times.length >= count
      },
      `${count} walks`,
      600_000,
    )
    await scheduler.close()
  })
  await instance.close()
  record('without an answer to others', stall)
}
