import type { Token } from '../../../api/types.ts'

/** Whether a token is valid. */
export type TokenState = 'active' | 'expired' | 'revoked'

/** The state of a token at a time. */
export function tokenState(token: Pick<Token, 'expires_at' | 'revoked_at'>, now: Date): TokenState {
  if (token.revoked_at !== null) return 'revoked'
  return token.expires_at !== null && Date.parse(token.expires_at) <= now.getTime() ? 'expired' : 'active'
}

export const EXPIRY_DAYS = ['7', '30', '90', '365', 'never'] as const

export type ExpiryDays = (typeof EXPIRY_DAYS)[number]

/** The expiry of a token created now; null: never. */
export function expiryOf(days: ExpiryDays, now: Date): string | null {
  return days === 'never' ? null : new Date(now.getTime() + Number(days) * 86_400_000).toISOString()
}
