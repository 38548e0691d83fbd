import type { CreateWebhookRequest } from '../../api/types.ts'

/** What a webhook form says: a request, or what is wrong with it. */
export type WebhookDraft =
  | { readonly kind: 'request'; readonly request: CreateWebhookRequest }
  | { readonly kind: 'problem'; readonly isUrlBad: boolean; readonly badType: string | undefined }

const EVENT_TYPE = /^([a-z_]+\.([a-z_]+|\*)|\*)$/

/** Reads the address and the event types, one a line or parted by commas; no types: what the server does by default. */
export function readWebhookForm(url: string, types: string): WebhookDraft {
  const listed = types.split(/[\s,]+/).filter((type) => type !== '')
  const badType = listed.find((type) => !EVENT_TYPE.test(type))
  const isUrlBad = !/^https?:\/\/\S+$/.test(url.trim())
  if (isUrlBad || badType !== undefined) return { kind: 'problem', isUrlBad, badType }
  return { kind: 'request', request: { url: url.trim(), ...(listed.length === 0 ? {} : { types: listed }) } }
}
