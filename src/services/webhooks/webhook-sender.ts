/** A signed message on its way to a webhook. */
export interface WebhookMessage {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

/**
 * Sends a message and answers the status of the reply. Does not follow redirects. Rejects with
 * {@link ForbiddenAddressError} when the name resolves to an address that may not be reached, else with what failed.
 */
export type WebhookSender = (message: WebhookMessage) => Promise<number>

/** The address of a webhook is one that the service must not connect to. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError'
}
