import { type ClaimRules, type Role, ROLES } from '../../domain/roles.ts'

/** Claims of a token or of a provider's user information, by name. */
export type Claims = Readonly<Record<string, unknown>>

/** A user's groups and the role that these give. */
export interface Membership {
  /** Undefined: the claims name no groups. */
  readonly groups: readonly string[] | undefined
  /** Undefined: none. */
  readonly role: Role | undefined
}

/** More groups than these are ignored: a token is not a directory. */
const MAX_GROUPS = 1000

/** The value of a claim; dots in the name address nested objects (`realm_access.roles`). */
export function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) value = memberOf(value, part)
  return value
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return new Map(Object.entries(value)).get(name)
}

/** The highest role among the names in a value or in its lists. */
export function highestRole(value: unknown): Role | undefined {
  const names: readonly unknown[] = Array.isArray(value) ? value.flat() : [value]
  return ROLES.findLast((role) => names.includes(role))
}

/** Whether a text can be the name of a user or a group: 1 to 200 characters on one line. */
export function isUserName(user: string): boolean {
  return user.isWellFormed() && /^[^\p{Cc}\u2028\u2029]{1,200}$/u.test(user)
}

/** The groups in the claims, and the highest role of these groups or the default role. */
export function memberOfGroups(claims: Claims, rules: ClaimRules): Membership {
  const groups = groupsIn(claimOf(claims, rules.groupsClaim))
  const role = highestRole((groups ?? []).map((group) => rules.groupRoles.get(group)))
  return { groups, role: role ?? rules.defaultRole }
}

/** A list of names, or one name; a provider may send either. */
function groupsIn(value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  const groups = names.filter((name): name is string => typeof name === 'string' && isUserName(name))
  return [...new Set(groups)].slice(0, MAX_GROUPS)
}
