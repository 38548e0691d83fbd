import type { PipelineGraph } from './graph.ts'

/** Roles in ascending order: a higher one can do all that a lower one can (docs/api.md#roles). */
export const ROLES = ['Auditor', 'DataEngineer', 'LeadDataEngineer'] as const

export type Role = (typeof ROLES)[number]

/** Whether the text is the name of a role. */
export function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text)
}

/** How a user proves an identity; `off`: authentication is off, and every request is the local user's. */
export const SIGN_INS = ['token', 'session', 'jwt', 'off'] as const

/**
 * Which tables exist for a user, and with which role (docs/api.md#grants). It follows the current grants, so an access that a
 * stream or a chat keeps is never outdated.
 */
export interface TableAccess {
  /** Whether grants limit the user; false: all tables exist, with the user's own role. */
  readonly isLimited: boolean
  /**
   * The role on a table; undefined: the table does not exist for the user. With an environment: the role for moves and
   * deployments there.
   */
  roleOn(table: string, environment?: string): Role | undefined
  /**
   * Requires a role on all tables of an object. Throws the error of an object that does not exist when one of them does not
   * exist for the user, and `FORBIDDEN` when a role is too low. An object that is not stored is left to its service.
   */
  requireObject(object: AccessedObject, minimum: Role): Promise<void>
  /** Requires a role on all tables that a graph names, with the parameters of any environment. Throws as for a table. */
  requireGraph(graph: PipelineGraph, minimum: Role): Promise<void>
  /** Whether an object is stored, and all its tables exist for the user. */
  isVisible(object: AccessedObject): Promise<boolean>
  /** Those of the definitions whose tables all exist for the user. */
  visibleDefinitions(ids: readonly string[]): Promise<ReadonlySet<string>>
}

/** Kinds of objects that use tables. `move`: a version, for its next environment. */
export type AccessedKind =
  | 'table'
  | 'pipeline'
  | 'definition'
  | 'version'
  | 'move'
  | 'operation'
  | 'quarantine'
  | 'approval'

/** An object that a request names. */
export interface AccessedObject {
  readonly kind: AccessedKind
  readonly id: string
  /** Where a definition is to be deployed; undefined: it is only read or edited. */
  readonly environment?: string | undefined
}

/** A user who sent a request. */
export interface SignedInUser {
  readonly user: string
  readonly role: Role
  readonly via: (typeof SIGN_INS)[number]
  /** The user's groups at the identity provider; undefined when the sign-in has no groups. */
  readonly groups?: readonly string[]
  /** Set by the identity service for every request; undefined only for users of the configuration, who see all tables. */
  readonly access?: TableAccess
}

/** A part of the service that acts by itself, such as a policy, which is named as `user`. */
export interface SystemCaller {
  readonly user: string
  readonly role: Role
  readonly via: 'system'
  readonly access?: undefined
}

/** Who asks for something. */
export type Caller = SignedInUser | SystemCaller

/** Whether `role` is `minimum` or higher. */
export function hasRole(role: Role, minimum: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(minimum)
}

/** Which claims of an identity provider become a user, groups and a role (docs/sign-in.md). */
export interface ClaimRules {
  /** The claim with the user name. */
  readonly userClaim: string
  /** The claim with the list of groups; dots address nested objects. */
  readonly groupsClaim: string
  /** The role that each group gives; a user has the highest. */
  readonly groupRoles: ReadonlyMap<string, Role>
  /** The role of a user without such a group; undefined: none. */
  readonly defaultRole: Role | undefined
}
