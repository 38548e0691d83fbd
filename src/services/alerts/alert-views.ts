import type { AlertDeliveryView, AlertView } from '../../schemas/alerts.ts'
import type { AlertDelivery } from '../../storage/stores/alerts/alert-delivery-store.ts'
import type { AlertRecord } from '../../storage/stores/alerts/alert-store.ts'
import type { EventStore } from '../../storage/stores/event-store.ts'
import { toEventView } from '../events/event-feed.ts'
import { destinationOf, hideSecrets } from './channel-secrets.ts'
import { objectOf } from './conditions.ts'

/** An alert as the API returns it. */
export function alertView(alert: AlertRecord, activeConditions: number): AlertView {
  const { settings } = alert
  return {
    ...settings,
    channel: hideSecrets(settings.channel),
    id: alert.id,
    destination: destinationOf(settings.channel),
    silenced_until: alert.silencedUntil ?? null,
    active_conditions: activeConditions,
    managed_by: alert.managedBy ?? null,
    revision: alert.revision,
    created_by: alert.createdBy,
    created_at: alert.createdAt,
    updated_at: alert.updatedAt,
  }
}

/** A notification as the API returns it. */
export async function deliveryView(
  events: Pick<EventStore, 'find'>,
  delivery: AlertDelivery,
): Promise<AlertDeliveryView> {
  const { eventSeq } = delivery
  const event = eventSeq === null ? undefined : await events.find(eventSeq)
  return {
    id: delivery.id,
    alert_id: delivery.alertId,
    kind: delivery.kind,
    event_seq: eventSeq,
    event_type: event?.type ?? null,
    object: event === undefined ? null : objectOf(toEventView(event)),
    held_back: delivery.heldBack,
    state: delivery.state,
    attempts: delivery.attempts,
    next_attempt_at: delivery.nextAttemptAt,
    last_status: delivery.lastStatus,
    last_error: delivery.lastError,
    created_at: delivery.createdAt,
    finished_at: delivery.finishedAt,
  }
}
