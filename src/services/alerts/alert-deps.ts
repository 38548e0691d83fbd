import type { Kysely } from 'kysely'

import type { IdSource } from '../../domain/ids.ts'
import type { StateTables } from '../../storage/schema.ts'
import type { AlertDeliveryStore } from '../../storage/stores/alerts/alert-delivery-store.ts'
import type { AlertStore } from '../../storage/stores/alerts/alert-store.ts'
import type { EventStore } from '../../storage/stores/event-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { Logger } from '../logger.ts'
import type { ChannelRules } from './channel-secrets.ts'
import type { ChannelTools } from './channels/channel.ts'

/** What alerts are evaluated and sent with. */
export interface AlertDeps {
  readonly db: Kysely<StateTables>
  readonly alerts: AlertStore
  readonly deliveries: AlertDeliveryStore
  readonly eventStore: EventStore
  readonly inTransaction: InTransaction
  readonly rules: ChannelRules
  readonly tools: ChannelTools
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  /** Delays after failed attempts, in ms. */
  readonly retryDelaysMs?: readonly number[] | undefined
}
