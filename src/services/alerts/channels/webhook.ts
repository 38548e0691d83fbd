import type { SendThrough } from './channel.ts'
import { signatureHeaders } from './signature.ts'

/** A signed JSON message: the members of the event, and what the alert adds (docs/api.md#signed-messages). */
export const sendToWebhook: SendThrough<'webhook'> = async (tools, { url, secret = '' }, { notification, signal }) => {
  const { id, kind, alert, severity, title, event } = notification
  const added = { id, kind, alert, dedup_key: notification.dedupKey, severity, title, held_back: notification.heldBack }
  const body = JSON.stringify({ ...event, ...added })
  const timestamp = Math.floor(tools.now().getTime() / 1000)
  return tools.send({ url, headers: await signatureHeaders(secret, { id, timestamp, body }), body, signal })
}
