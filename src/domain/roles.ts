/** Roles in ascending order: a higher one can do all that a lower one can (docs/api.md#roles). */
export const ROLES = ['Auditor', 'DataEngineer', 'LeadDataEngineer'] as const

export type Role = (typeof ROLES)[number]

/** Whether the text is the name of a role. */
export function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text)
}

/** The authenticated caller. */
export interface Caller {
  readonly user: string
  readonly role: Role
  /** How the caller proved who it is. */
  readonly via: 'token' | 'session' | 'jwt' | 'off'
}

/** Whether `role` is `minimum` or higher. */
export function hasRole(role: Role, minimum: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(minimum)
}
