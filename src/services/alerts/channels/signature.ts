import { toBase64Url } from '../../identity/token-service.ts'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** A new signing secret: `whsec_` and 256 random bits in base64. */
export function newSigningSecret(randomBytes: (length: number) => Uint8Array): string {
  return `${PREFIX}${toBase64(randomBytes(SECRET_BYTES))}`
}

export interface SignedContent {
  /** The delivery id; the same in every attempt, so that a receiver can detect a repetition. */
  readonly id: string
  /** Seconds since the epoch. */
  readonly timestamp: number
  readonly body: string
}

/**
 * The headers that prove the origin and the time of a message (Standard Webhooks 1.0): HMAC-SHA256 with the secret's
 * bytes over `id.timestamp.body`.
 */
export async function signatureHeaders(secret: string, content: SignedContent): Promise<Record<string, string>> {
  const { id, timestamp, body } = content
  const bytes = Uint8Array.from(atob(secret.slice(PREFIX.length)), (char) => char.charCodeAt(0))
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(`${id}.${timestamp}.${body}`))
  return {
    'Webhook-Id': id,
    'Webhook-Timestamp': String(timestamp),
    'Webhook-Signature': `v1,${toBase64(new Uint8Array(signature))}`,
  }
}

function toBase64(bytes: Uint8Array): string {
  const url = toBase64Url(bytes)
  return url
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .padEnd(Math.ceil(url.length / 4) * 4, '=')
}
