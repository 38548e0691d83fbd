import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose'
import { ALGORITHMS, CLOCK_TOLERANCE_S } from '../jwt-verifier.ts'

/** A logout at the provider: of one of its sessions, or of all sessions of a user. */
export interface LogoutNotice {
  readonly subject: string | undefined
  readonly sid: string | undefined
  readonly issuedAt: Date
}

/** Who must have made a logout token, and for whom. */
export interface LogoutTokenRules {
  readonly keys: JWTVerifyGetKey
  readonly issuer: string
  readonly audience: string
  readonly now: Date
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'logout+jwt', 'application/logout+jwt', 'jwt', 'JWT'])
/** An older token is refused, so that a recorded one is soon worthless. */
const MAX_AGE = '5 minutes'

/**
 * Checks a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6); undefined when it is invalid. `exp` is
 * not required, because older providers send none; the age of every token is limited.
 */
export async function checkLogoutToken(token: string, rules: LogoutTokenRules): Promise<LogoutNotice | undefined> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, rules.keys, {
      issuer: rules.issuer,
      audience: rules.audience,
      algorithms: ALGORITHMS,
      requiredClaims: ['iat', 'jti', 'events'],
      maxTokenAge: MAX_AGE,
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: rules.now,
    })
    return TYPES.has(protectedHeader.typ) && !('nonce' in payload) ? noticeOf(payload) : undefined
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
    throw error
  }
}

function noticeOf({ sub, sid, iat, events }: JWTPayload): LogoutNotice | undefined {
  const isLogout = typeof events === 'object' && events !== null && isObject(new Map(Object.entries(events)).get(EVENT))
  const session = typeof sid === 'string' ? sid : undefined
  if (!isLogout || iat === undefined || (sub === undefined && session === undefined)) return undefined
  return { subject: sub, sid: session, issuedAt: new Date(iat * 1000) }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
