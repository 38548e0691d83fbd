/** A signed message on its way to a webhook. */
export interface WebhookMessage {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

/**
 * Sends a message and answers the status of the reply. Does not follow redirects. Rejects with
 * `ForbiddenAddressError` when the name resolves to an address that may not be reached, else with what failed.
 */
export type WebhookSender = (message: WebhookMessage) => Promise<number>
