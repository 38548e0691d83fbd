import { z } from 'zod'
import { isTrustworthyUrl } from '../domain/network/trustworthy-url.ts'
import { type ClaimRules, isRole, type Role, ROLES } from '../domain/roles.ts'
import { fromEnv, oneOf, parsed, variable } from './variables.ts'

/** Sign-in with OpenID Connect. */
export interface OidcConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Separated by spaces, with `openid`. */
  readonly scopes: string
}

const groupRoles = parsed(groupRolesIn, `must be group:role entries with roles of ${ROLES.join(', ')}`)

/** Settings of the claims, for JWTs and for the sign-in. */
export const claimSettings = fromEnv({
  userClaim: variable('AUTH_USER_CLAIM', z.string().default('sub')),
  groupsClaim: variable('AUTH_GROUPS_CLAIM', z.string().min(1, 'must be the name of a claim').default('groups')),
  groupRoles: variable('AUTH_GROUP_ROLES', groupRoles.default(new Map())),
  defaultRole: variable('AUTH_DEFAULT_ROLE', oneOf(...ROLES).optional()),
}) satisfies z.ZodType<ClaimRules>

/** Settings of the provider that users sign in at; undefined: none. */
export const oidcSettings = fromEnv({
  issuer: variable(
    'AUTH_OIDC_ISSUER',
    z.string().refine(isTrustworthyUrl, 'must be an https address, or http on loopback').optional(),
  ),
  clientId: variable('AUTH_OIDC_CLIENT_ID', z.string().min(1, 'must not be empty').optional()),
  clientSecret: variable('AUTH_OIDC_CLIENT_SECRET', z.string().min(8, 'must have at least 8 characters').optional()),
  scopes: variable(
    'AUTH_OIDC_SCOPES',
    z
      .string()
      .regex(/^[!#-[\]-~]+( [!#-[\]-~]+)*$/, 'must be scopes separated by one space')
      .refine((text) => text.split(' ').includes('openid'), 'must include openid')
      .optional(),
  ),
}).transform(({ issuer, clientId, clientSecret, scopes }, context): OidcConfig | undefined => {
  if (issuer === undefined) {
    if (clientId !== undefined) context.addIssue('AUTH_OIDC_CLIENT_ID needs AUTH_OIDC_ISSUER')
    if (clientSecret !== undefined) context.addIssue('AUTH_OIDC_CLIENT_SECRET needs AUTH_OIDC_ISSUER')
    if (scopes !== undefined) context.addIssue('AUTH_OIDC_SCOPES needs AUTH_OIDC_ISSUER')
    return undefined
  }
  if (clientId !== undefined && clientSecret !== undefined) {
    return { issuer, clientId, clientSecret, scopes: scopes ?? 'openid profile' }
  }
  const missing = clientId === undefined ? 'AUTH_OIDC_CLIENT_ID' : 'AUTH_OIDC_CLIENT_SECRET'
  context.addIssue(`AUTH_OIDC_ISSUER needs ${missing}: register the service as a confidential client of the provider`)
  return z.NEVER
})

/** The group is everything before the last colon, so that its name may have colons. */
function groupRolesIn(text: string): ReadonlyMap<string, Role> | undefined {
  const roles = new Map<string, Role>()
  for (const entry of text.split(',').map((one) => one.trim())) {
    const at = entry.lastIndexOf(':')
    const [group, role] = [entry.slice(0, at).trim(), entry.slice(at + 1).trim()]
    if (at < 0 || group === '' || !isRole(role) || roles.has(group)) return undefined
    roles.set(group, role)
  }
  return roles
}
