/** Roles in ascending order: a higher one can do all that a lower one can (docs/api.md#roles). */
export const ROLES = ['Auditor', 'DataEngineer', 'LeadDataEngineer'] as const

export type Role = (typeof ROLES)[number]

/** Whether the text is the name of a role. */
export function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text)
}

/** How a user proves an identity; `off`: authentication is off, and every request is the local user's. */
export const SIGN_INS = ['token', 'session', 'jwt', 'off'] as const

/** A user who sent a request. */
export interface SignedInUser {
  readonly user: string
  readonly role: Role
  readonly via: (typeof SIGN_INS)[number]
  /** The user's groups at the identity provider; undefined when the sign-in has no groups. */
  readonly groups?: readonly string[]
}

/** A part of the service that acts by itself, such as a policy, which is named as `user`. */
export interface SystemCaller {
  readonly user: string
  readonly role: Role
  readonly via: 'system'
}

/** Who asks for something. */
export type Caller = SignedInUser | SystemCaller

/** Whether `role` is `minimum` or higher. */
export function hasRole(role: Role, minimum: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(minimum)
}
