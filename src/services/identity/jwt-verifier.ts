import { errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from 'jose'
import { DomainError } from '../../domain/errors.ts'
import { type ClaimRules, ROLES, type SignedInUser } from '../../domain/roles.ts'
import { claimOf, highestRole, isUserName, memberOfGroups } from './claims.ts'

export interface JwtOptions {
  readonly issuer: string
  readonly audience: string
  readonly claims: ClaimRules
  /** The claim with the role, or a list of roles; dots address nested objects (`realm_access.roles`). */
  readonly roleClaim: string
}

/** A caller whose credential has its own expiry. */
export interface JwtCaller {
  readonly caller: SignedInUser
  /** RFC 3339. */
  readonly expiresAt: string
}

/** The caller of a JWT; undefined when it is invalid. Throws `FORBIDDEN` when it is valid but grants no role here. */
export type JwtVerifier = (token: string) => Promise<JwtCaller | undefined>

/** Signature algorithms of an identity provider that are accepted. */
export const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
/** By how many seconds the provider's clock may differ. */
export const CLOCK_TOLERANCE_S = 10
const TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/at+jwt', 'application/jwt'])
/** Claims that only an ID token has; it tells a client who signed in and grants no access (OIDC Core, section 2). */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash']
const OTHER_TOKENS: ReadonlySet<unknown> = new Set(['id', 'ID', 'Refresh', 'Logout', 'Offline'])

export interface JwtVerifierDeps extends JwtOptions {
  readonly keys: JWTVerifyGetKey
  readonly now: () => Date
}

/**
 * Checks JWTs of one issuer (RFC 7519, RFC 8725): the signature by one of its keys with an allowed algorithm, issuer,
 * audience, `exp` (required), `nbf`, `iat`, and that it is an uncompressed access token (`zip` is for encrypted
 * tokens; implementations disagree on its meaning here).
 */
export function createJwtVerifier(deps: JwtVerifierDeps): JwtVerifier {
  return async (token) => {
    if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) || repeatsMembers(token)) return undefined
    const payload = await verify(deps, token)
    const user = payload && claimOf(payload, deps.claims.userClaim)
    if (!payload || payload.exp === undefined || typeof user !== 'string' || !isUserName(user)) return undefined
    const { groups, role: groupRole } = memberOfGroups(payload, deps.claims)
    const role = highestRole([claimOf(payload, deps.roleClaim), groupRole])
    if (!role) throw new DomainError('FORBIDDEN', `the token of ${user} names none of the roles ${ROLES.join(', ')}`)
    const caller: SignedInUser = { user, role, via: 'jwt', ...(groups && { groups }) }
    return { caller, expiresAt: new Date(payload.exp * 1000).toISOString() }
  }
}

async function verify(deps: JwtVerifierDeps, token: string): Promise<JWTPayload | undefined> {
  const now = deps.now()
  try {
    const { payload, protectedHeader } = await jwtVerify(token, deps.keys, {
      issuer: deps.issuer,
      audience: deps.audience,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: now,
    })
    const fromFuture = payload.iat !== undefined && payload.iat > now.getTime() / 1000 + CLOCK_TOLERANCE_S
    const accessToken = isType(protectedHeader.typ) && !('zip' in protectedHeader) && isAccessToken(payload)
    return accessToken && !fromFuture && isTime(payload.exp) ? payload : undefined
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
    throw error
  }
}

function isType(typ: unknown): boolean {
  return typ === undefined || (typeof typ === 'string' && TYPES.has(typ.toLowerCase()))
}

function isAccessToken(payload: JWTPayload): boolean {
  if (ID_TOKEN_CLAIMS.some((name) => name in payload)) return false
  return !OTHER_TOKENS.has(payload['typ']) && !OTHER_TOKENS.has(payload['token_use'])
}

/** Whether a `Date` can hold this time; an absurd `exp` is invalid. */
function isTime(seconds: number | undefined): boolean {
  return seconds !== undefined && Number.isFinite(seconds) && Math.abs(seconds) < 8.64e12
}

/** Whether header or payload has a duplicate member: parsers disagree on which one counts (RFC 7519, section 4). */
function repeatsMembers(token: string): boolean {
  return token
    .split('.')
    .slice(0, 2)
    .some((part) => hasRepeatedMember(part))
}

function hasRepeatedMember(part: string): boolean {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const parsed: unknown = JSON.parse(text) // first: the pattern is slow on text that is not JSON
    const members = text.match(/"(?:[^"\\]|\\.)*"\s*:?/g)?.filter((found) => found.endsWith(':'))
    return (members?.length ?? 0) !== countMembers(parsed)
  } catch {
    return true
  }
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return own + Object.values(value).reduce((sum: number, member) => sum + countMembers(member), 0)
}
