import { sha256Hex } from '../../../lib/sha256.ts'
import { cut, type Notification } from '../notification.ts'
import { idHeader, type SendThrough } from './channel.ts'

// Limits of the Events API v2.
const MAX_SUMMARY = 1024
const MAX_DEDUP_KEY = 255

/** An event of PagerDuty's Events API v2: an incident, or its end. */
export const sendToPagerDuty: SendThrough<'pagerduty'> = (tools, channel, { notification, signal }) => {
  const { url, routing_key } = channel
  const body = JSON.stringify({ routing_key, ...eventOf(notification) })
  return tools.send({ url, headers: idHeader(notification), body, signal })
}

function eventOf(notification: Notification) {
  const { kind, title, severity, event, alert, facts } = notification
  const dedup_key = dedupKey(notification)
  if (kind === 'resolve') return { event_action: 'resolve', dedup_key }
  return {
    event_action: 'trigger',
    dedup_key,
    client: 'Lockhouse',
    payload: {
      summary: cut(title, MAX_SUMMARY),
      source: cut(notification.subject, MAX_SUMMARY),
      severity,
      timestamp: event.at,
      component: 'lockhouse',
      group: alert.name,
      class: event.type,
      custom_details: Object.fromEntries(facts.map(({ name, value }) => [name, value])),
    },
  }
}

/** Repeated triggers with one key are one incident. */
function dedupKey({ dedupKey: key }: Notification): string {
  return key.length <= MAX_DEDUP_KEY ? key : sha256Hex(key)
}
