import { expect } from 'vitest'
import type { EventType } from '../../../src/domain/event-type.ts'
import { createEventWriter } from '../../../src/services/events/event-log.ts'
import { createEventStore } from '../../../src/storage/stores/event-store.ts'
import type { ContextOptions } from '../../../src/context/create-context.ts'
import { type FakeReceiver, startFakeReceiver } from '../../support/network/fake-receiver.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { stateOf } from '../../support/state-of.ts'
import { until } from '../../support/waiting.ts'

/** An event to be caused. */
export interface Happening {
  readonly type: EventType
  readonly objectType: string
  readonly objectId: string
  readonly data?: Readonly<Record<string, string | number | null>>
  /** When its writer says that it happened; default: now. */
  readonly at?: string
}

/** A service with alerts, and a receiver of their notifications. */
export interface AlertLab {
  readonly service: TestService
  readonly receiver: FakeReceiver
  /** Creates an alert over a webhook to the receiver, with these changes. Returns its id. */
  create(change?: object): Promise<string>
  /** Appends events to the event log, in one transaction. */
  happen(...events: readonly Happening[]): Promise<void>
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers freely
  deliveries(id: string): Promise<any[]>
  /** Waits until an alert has this many deliveries, all settled. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers freely
  settled(id: string, count: number): Promise<any[]>
  close(): Promise<void>
}

/** Opens an {@link AlertLab}. */
export async function openAlertLab(
  env: Readonly<Record<string, string>> = {},
  options: { readonly overrides?: ContextOptions['overrides']; readonly onClose?: () => Promise<void> } = {},
): Promise<AlertLab> {
  const receiver = await startFakeReceiver()
  const service = await startTestService({
    ...(options.onClose === undefined ? {} : { onClose: options.onClose }),
    env: { WEBHOOK_ALLOW_PRIVATE: 'true', ...env },
    overrides: { deliveryRetryDelaysMs: [30, 30, 30], ...options.overrides },
  })
  const db = stateOf(service.folder, env)
  const { inTransaction } = createTransactions(db)
  const store = createEventStore(db)
  let made = 0
  const deliveries = async (id: string) => (await service.get(`/api/alerts/${id}/deliveries`)).body
  return {
    service,
    receiver,
    async create(change = {}) {
      made += 1
      const channel = { type: 'webhook', url: receiver.url }
      const { status, body } = await service.post('/api/alerts', {
        name: `alert ${made}`,
        events: ['*'],
        channel,
        ...change,
      })
      expect(status, JSON.stringify(body)).toBe(201)
      return body.id
    },
    async happen(...happenings) {
      await inTransaction(async (tx) => {
        for (const { at, ...event } of happenings) {
          const writer = createEventWriter(store, () => (at === undefined ? new Date() : new Date(at)))
          await writer.append(tx, { data: {}, ...event })
        }
      })
      await service.post('/api/auth/tokens', { user: 'waker', role: 'Auditor', name: 'x' }) // a commit wakes the service
    },
    deliveries,
    settled: (id, count) =>
      until(
        async () => {
          const all: { state: string }[] = await deliveries(id)
          return all.length >= count && all.every(({ state }) => state !== 'pending') ? all : undefined
        },
        async () => `${count} settled deliveries: ${JSON.stringify(await deliveries(id))}`,
      ),
    async close() {
      await db.destroy()
      await service.close()
      await receiver.close()
    },
  }
}
