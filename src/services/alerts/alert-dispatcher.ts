import type { AlertDelivery } from '../../storage/stores/alerts/alert-delivery-store.ts'
import { createAlertStore } from '../../storage/stores/alerts/alert-store.ts'
import { createConditionStore } from '../../storage/stores/alerts/condition-store.ts'
import { createEventStore } from '../../storage/stores/event-store.ts'
import { toEventView } from '../events/event-feed.ts'
import type { OpenLineageEmitter } from '../lineage/openlineage/emitter.ts'
import type { Reply } from '../outbound/http-sender.ts'
import type { AlertDeps } from './alert-deps.ts'
import { resolveSecrets } from './channel-secrets.ts'
import { sendThrough } from './channels/send.ts'
import { createDeliveryLoop, type DeliveryLoop } from './delivery-loop.ts'
import { applyDue, applyEvents, isSilent } from './evaluate.ts'
import { notificationOf } from './notification.ts'

const EVENTS_AT_ONCE = 500
const NO_RECIPIENT = 'its alert or its event does not exist any more'

/** A loop over the event log: events open and close conditions, and notifications are sent. */
export function createAlertDispatcher(
  deps: AlertDeps & {
    readonly onCommit: (listener: () => void) => () => void
    /** Shares the queue; undefined: not configured. */
    readonly openLineage: OpenLineageEmitter | undefined
  },
): DeliveryLoop {
  const { openLineage, log } = deps
  return createDeliveryLoop({
    ...deps,
    async schedule() {
      await openLineage?.schedule().catch((error: unknown) => log.error('run events could not be queued', { error }))
      return evaluate(deps)
    },
    async send(delivery, signal) {
      if (delivery.alertId !== openLineage?.recipient) return sendAlert(deps, delivery, signal)
      return (await openLineage.send(delivery, signal)) ?? endWithoutRecipient(deps, delivery)
    },
  })
}

/** Applies new events and what is due. Returns when the next waiting condition is due, in ms. */
async function evaluate(deps: AlertDeps): Promise<number | undefined> {
  const alerts = await deps.alerts.list()
  if (alerts.length === 0) return undefined
  const newest = await deps.eventStore.lastSeq()
  for (let seen = oldest(alerts); seen < newest;) {
    seen = await deps.inTransaction(async (tx) => {
      const from = oldest(await createAlertStore(tx).list())
      const events = Number.isFinite(from) ? await createEventStore(tx).after(from, EVENTS_AT_ONCE) : []
      await applyEvents(deps, tx, events.map(toEventView))
      return events.at(-1)?.seq ?? newest
    })
  }
  const conditions = createConditionStore(deps.db)
  const dueMs = await conditions.nextDueMs()
  if (dueMs === undefined || dueMs > deps.now().getTime()) return dueMs
  await deps.inTransaction((tx) => applyDue(deps, tx))
  return conditions.nextDueMs()
}

function oldest(alerts: readonly { readonly sinceSeq: number }[]): number {
  return Math.min(...alerts.map(({ sinceSeq }) => sinceSeq))
}

/** Ends a delivery of a deleted alert, or of a recipient that is configured no more. */
async function endWithoutRecipient({ deliveries, now }: AlertDeps, { id }: AlertDelivery): Promise<undefined> {
  await deliveries.settle(id, { state: 'failed', lastError: NO_RECIPIENT, finishedAt: now().toISOString() })
}

/** Makes one attempt to send a notification; undefined when it is not to be sent any more. */
export async function sendAlert(
  deps: AlertDeps,
  delivery: AlertDelivery,
  signal: AbortSignal,
): Promise<Reply | undefined> {
  const alert = await deps.alerts.find(delivery.alertId)
  const { eventSeq, kind } = delivery
  const event = eventSeq === null ? undefined : await deps.eventStore.find(eventSeq)
  const now = deps.now()
  if (alert === undefined || (event === undefined && kind !== 'test')) return endWithoutRecipient(deps, delivery)
  if (kind === 'trigger' && isSilent(alert, now.getTime())) {
    await deps.deliveries.settle(delivery.id, { state: 'silenced', finishedAt: now.toISOString() })
    return undefined
  }
  const channel = resolveSecrets(alert.settings.channel, deps.rules)
  const notification = notificationOf(alert, delivery, event && toEventView(event))
  return sendThrough(deps.tools, channel, { notification, signal })
}
