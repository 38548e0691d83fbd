import { signatureHeaders } from '../../webhooks/signature.ts'
import type { SendThrough } from './channel.ts'

/** A JSON message, signed as webhooks are (docs/api.md#alerts). */
export const sendToWebhook: SendThrough<'webhook'> = async (tools, { url, secret = '' }, { notification, signal }) => {
  const body = JSON.stringify({
    id: notification.id,
    kind: notification.kind,
    alert: notification.alert,
    dedup_key: notification.dedupKey,
    severity: notification.severity,
    title: notification.title,
    at: notification.at,
    held_back: notification.heldBack,
    event: notification.event ?? null,
  })
  const timestamp = Math.floor(tools.now().getTime() / 1000)
  const headers = await signatureHeaders(secret, { id: notification.id, timestamp, body })
  return tools.send({ url, headers, body, signal })
}
