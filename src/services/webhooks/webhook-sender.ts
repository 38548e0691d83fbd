/** A signed message to a webhook. */
export interface WebhookMessage {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

/**
 * Sends a message and returns the status of the reply. Does not follow redirects. Rejects with
 * `ForbiddenAddressError` when the name resolves to an address that is not allowed, otherwise with the failure.
 */
export type WebhookSender = (message: WebhookMessage) => Promise<number>
