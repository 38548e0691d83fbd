import { expect, it } from 'vitest'
import { createAuditRecorder } from '../../../src/services/audit/audit-service.ts'
import { createEventWriter } from '../../../src/services/events/event-log.ts'
import { createLogger } from '../../../src/services/logger.ts'
import { createOperationLedger } from '../../../src/services/operations/ledger.ts'
import { createOperationService } from '../../../src/services/operations/operation-service.ts'
import { createAuditStore } from '../../../src/storage/stores/audit-store.ts'
import { createEventStore } from '../../../src/storage/stores/event-store.ts'
import { createOperationStore } from '../../../src/storage/stores/operations/operation-store.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { describeDatabases } from '../../storage/open.ts'

describeDatabases('an operation that fails while the ledger cannot be written', (databases) => {
  it('has its reason in the log', async () => {
    const db = await databases.open()
    const now = () => new Date()
    const { inTransaction } = createTransactions(db)
    const audit = createAuditRecorder(createAuditStore(db, new Uint8Array(32)), now)
    const events = createEventWriter(createEventStore(db), now)
    const lines: string[] = []
    const service = createOperationService({
      operations: createOperationStore(db),
      ledger: createOperationLedger({ inTransaction, audit, events, instanceId: 1 }),
      newId: () => 'op-1',
      now,
      log: createLogger('warn', (line) => lines.push(line)),
    })
    const { done } = await service.start({
      kind: 'compact',
      table: 's.events',
      context: { caller: { user: 'ada', role: 'DataEngineer', via: 'token' }, requestId: 'req-1' },
      request: {},
      async run() {
        await db.destroy()
        throw new Error('the disk is full')
      },
    })
    await expect(done).rejects.toThrow()
    const failure = lines.map((line) => JSON.parse(line)).find(({ message }) => message === 'operation failed')
    expect(failure).toMatchObject({ operation_id: 'op-1', request_id: 'req-1', error: { message: 'the disk is full' } })
  })
})
