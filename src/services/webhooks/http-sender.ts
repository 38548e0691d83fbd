import type { WebhookSender } from './webhook-sender.ts'
import { type CheckedAddressOptions, checkTarget, openRequest } from '../outbound/checked-request.ts'

/** Sends webhooks to checked addresses only, see {@link checkTarget}; of the reply only the status is used. */
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
