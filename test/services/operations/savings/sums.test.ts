import { expect, it } from 'vitest'
import type { SignedInUser, TableAccess } from '../../../../src/domain/roles.ts'
import { createSavingsService } from '../../../../src/services/operations/savings/savings-service.ts'
import { createOperationStore } from '../../../../src/storage/stores/operations/operation-store.ts'
import { createSavingsStore } from '../../../../src/storage/stores/operations/savings-store.ts'
import { describeDatabases } from '../../../storage/open.ts'

const LEAD: SignedInUser = { user: 'lea', role: 'LeadDataEngineer', via: 'token' }
const COST = { planningMs: 2, manifests: 1, deleteFiles: 0 }
const measured = {
  files_removed: 9,
  delete_files_removed: 0,
  manifests_removed: null,
  bytes_freed: 100,
  storage_freed_bytes: -900,
  bytes_rewritten: 1000,
}
const RECEIPT = {
  projected: null,
  measured,
  scan: { before: { ...COST, dataFiles: 10 }, after: { ...COST, dataFiles: 1 } },
}

const NOW = new Date('2026-03-31T12:00:00.000Z')

describeDatabases('the sums of the ledger', (databases) => {
  const onSqlite = it.skipIf(databases.kind !== 'SQLite')

  async function lab(maxOperations = 10_000) {
    const db = await databases.open()
    const store = createOperationStore(db)
    const service = createSavingsService({ store: createSavingsStore(db, 3), now: () => NOW, maxOperations })
    let number = 0
    const add = async (createdAt: string, more: object = {}) => {
      number += 1
      const id = `op-${String(number).padStart(5, '0')}`
      await store.insert({
        id,
        kind: 'compact',
        table: 's.t',
        state: 'succeeded',
        requestedBy: 'ada',
        request: {},
        createdAt,
        baseSnapshotId: '1',
        snapshotId: `1${number}`,
        durationMs: 1500,
        receipt: RECEIPT,
        result: { rewritten_data_files_count: 10, added_data_files_count: 1 },
        ...more,
      })
    }
    return { service, add }
  }

  it('have only operations on tables that exist for the caller', async () => {
    const { service, add } = await lab()
    await add('2026-03-30T00:00:00.000Z')
    await add('2026-03-30T00:00:00.000Z', { table: 's.hidden' })
    const access: TableAccess = {
      isLimited: true,
      roleOn: (table) => (table === 's.t' ? 'Auditor' : undefined),
      requireObject: async () => undefined,
      requireGraph: async () => undefined,
      isVisible: async () => false,
      visibleDefinitions: async () => new Set(),
    }
    const eve: SignedInUser = { user: 'eve', role: 'Auditor', via: 'token', access }
    const [limited, all] = await Promise.all([service.report({}, eve), service.report({}, LEAD)])
    expect([limited.total.operations, all.total.operations]).toEqual([1, 2])
  })

  it('have each operation once, by its day in UTC, also when many began in one millisecond', async () => {
    const { service, add } = await lab()
    await add('2026-03-01T23:59:59.999Z')
    for (let at = 0; at < 7; at += 1) await add('2026-03-02T00:00:00.000Z')
    await add('2026-03-31T23:59:59.999Z')
    await add('2026-04-01T00:00:00.000Z')
    await add('2026-02-28T23:59:59.999Z')
    const { from, to, total, rows } = await service.report({}, LEAD)
    expect([from, to]).toEqual(['2026-03-02', '2026-03-31'])
    expect(rows.map(({ date, operations }) => [date, operations])).toEqual([
      ['2026-03-02', 7],
      ['2026-03-31', 1],
    ])
    expect(total).toMatchObject({
      operations: 8,
      duration_ms: 8 * 1500,
      files_before: 80,
      files_after: 8,
      bytes_before: 8000,
      bytes_after: 8 * 900,
      scan_requests_saved: 8 * 9,
    })
    const one = await service.report({ from: '2026-03-01', to: '2026-03-01' }, LEAD)
    expect(one.total.operations).toBe(1)
  })

  onSqlite('separate what policies started, and leave out what still runs', async () => {
    const { service, add } = await lab()
    const day = '2026-03-10T10:00:00.000Z'
    await add(day, { requestedBy: 'policy:nightly' })
    await add(day)
    await add(day, { state: 'running', durationMs: 9 })
    await add(day, { state: 'cancelled', receipt: undefined })
    await add(day, { receipt: undefined })
    const { total, by_policies: policies, by_people: people } = await service.report({}, LEAD)
    expect(policies).toMatchObject({ operations: 1, failed: 0, files_before: 10 })
    expect(people).toMatchObject({ operations: 2, failed: 1, unmeasured: 1, files_before: 10, duration_ms: 4500 })
    expect(total).toMatchObject({ operations: 3, failed: 1, unmeasured: 1, files_before: 20 })
  })

  it('mark operations that a rollback undid after the last day, in the table of the rollback only', async () => {
    const { service, add } = await lab()
    const day = '2026-03-10T10:00:00.000Z'
    await add(day, { snapshotId: '7' })
    await add(day, { snapshotId: '7', table: 's.other' })
    await add(day, { snapshotId: '8' })
    await add(day, { snapshotId: '9', baseSnapshotId: '9' })
    const result = { undone_snapshot_ids: ['9', '8'] }
    await add('2026-04-20T10:00:00.000Z', { kind: 'rollback', baseSnapshotId: '9', receipt: undefined, result })
    await add('2026-04-21T10:00:00.000Z', { kind: 'rollback', baseSnapshotId: '7', state: 'failed', result: undefined })
    const { total } = await service.report({ from: '2026-03-10', to: '2026-03-10' }, LEAD)
    expect(total).toMatchObject({ operations: 4, undone: 1, files_before: 30, bytes_rewritten: 4000 })
  })

  onSqlite('refuse more operations than one request may read', async () => {
    const { service, add } = await lab(2)
    for (const hour of ['01', '02', '03']) await add(`2026-03-10T${hour}:00:00.000Z`)
    await expect(service.report({}, LEAD)).rejects.toMatchObject({
      code: 'UNPROCESSABLE',
      message: 'there are 3 operations from 2026-03-02 to 2026-03-31, more than 2; request fewer days',
    })
  })

  onSqlite('are the same for requests at the same time, and current for later ones', async () => {
    const { service, add } = await lab()
    await add('2026-03-10T10:00:00.000Z')
    const together = await Promise.all([1, 2, 3].map(() => service.report({}, LEAD)))
    expect(together.map(({ total }) => total.operations)).toEqual([1, 1, 1])
    await add('2026-03-10T10:00:00.000Z')
    expect((await service.report({}, LEAD)).total.operations).toBe(2)
  })
})
