import type { WebhookSender } from '../services/webhooks/webhook-sender.ts'
import { type CheckedAddressOptions, checkTarget, openRequest } from './checked-request.ts'

/** Sends webhooks: to an address that was checked, see {@link checkTarget}; only the status of the reply counts. */
export function createWebhookSender(options: CheckedAddressOptions): WebhookSender {
  return async ({ url, headers, body, signal }) => {
    const target = await checkTarget(new URL(url), options)
    signal.throwIfAborted()
    const request = openRequest(target, {
      method: 'POST',
      headers: {
        ...headers,
        'Content-Type': 'application/json',
        'Content-Length': String(Buffer.byteLength(body)),
      },
      signal,
    })
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    request.on('response', (response) => {
      resolve(response.statusCode ?? 0)
      response.destroy()
    })
    request.on('error', reject)
    request.end(body)
    return promise
  }
}
