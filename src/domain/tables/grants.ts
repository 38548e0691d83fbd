import type { RunEnvironment } from '../environments.ts'
import { hasRole, type Role, type SignedInUser } from '../roles.ts'
import { matchesGlob } from './table-globs.ts'
import { createGlobIndex, type GlobIndex } from './glob-index.ts'

/** A role on the tables that match, for a user or a group (docs/api.md#grants). */
export interface Grant {
  /** `user:ada` or `group:analysts`. */
  readonly principal: string
  readonly role: Role
  /** Globs of table names. */
  readonly tables: readonly string[]
  /** Globs of tables that the grant leaves out, compared without regard to case. */
  readonly except?: readonly string[] | undefined
  /** Environments in which the grant counts for moves and deployments; undefined: all of them. */
  readonly environments?: readonly RunEnvironment[] | undefined
}

/** Who a caller is for grants. */
export type Principal = Pick<SignedInUser, 'user' | 'role' | 'groups'>

/** The grants of a version, ready for many questions. */
export interface CompiledGrants {
  readonly isEmpty: boolean
  /**
   * The role of the principal on a table: the highest of the matching grants, at most the principal's own. A
   * LeadDataEngineer keeps all. Without any grant, everybody has their own role.
   */
  roleOn(principal: Principal, table: string, environment?: string): Role | undefined
  /** The grants that match, whatever their role. */
  matching(principal: Principal, table: string, environment?: string): readonly Grant[]
}

const MAX_REMEMBERED = 50_000
/** Longer names are decided anew: a client may ask for any name. Remembered keys need 25 MB at most. */
const MAX_KEY_LENGTH = 256

/** Compiles grants: their globs are indexed once for each principal, and roles are remembered. */
export function compileGrants(grants: readonly Grant[]): CompiledGrants {
  const indexes = new Map<string, GlobIndex<Grant>>()
  for (const grant of grants) {
    const index = indexes.get(grant.principal) ?? createGlobIndex<Grant>()
    indexes.set(grant.principal, index)
    for (const glob of new Set(grant.tables)) index.add(glob, grant)
  }
  const isEmpty = grants.length === 0
  let remembered = new Map<string, Role | undefined>()
  const matching = (principal: Principal, table: string, environment?: string): readonly Grant[] =>
    [...new Set(principalNames(principal).flatMap((name) => [...(indexes.get(name)?.matching(table) ?? [])]))].filter(
      (grant) => !isExcluded(grant, table) && countsIn(grant, environment),
    )
  return {
    isEmpty,
    matching,
    roleOn(principal, table, environment) {
      if (isEmpty || principal.role === 'LeadDataEngineer') return principal.role
      const key = JSON.stringify([principal.role, environment ?? '', table, ...principalNames(principal)])
      if (remembered.has(key)) return remembered.get(key)
      const role = highestRole(matching(principal, table, environment), principal.role)
      if (key.length > MAX_KEY_LENGTH) return role
      if (remembered.size >= MAX_REMEMBERED) remembered = new Map()
      remembered.set(key, role)
      return role
    },
  }
}

/** The names by which grants call a user. */
export function principalNames({ user, groups = [] }: Pick<Principal, 'user' | 'groups'>): readonly string[] {
  return [`user:${user}`, ...groups.map((group) => `group:${group}`)]
}

function isExcluded({ except = [] }: Grant, table: string): boolean {
  if (except.length === 0) return false
  const lower = table.toLowerCase()
  return except.some((glob) => matchesGlob(glob.toLowerCase(), lower))
}

function countsIn({ environments }: Grant, environment: string | undefined): boolean {
  return environment === undefined || environments === undefined || environments.some((one) => one === environment)
}

function highestRole(grants: readonly Grant[], limit: Role): Role | undefined {
  let highest: Role | undefined
  for (const { role } of grants) {
    const given = hasRole(role, limit) ? limit : role
    if (highest === undefined || hasRole(given, highest)) highest = given
  }
  return highest
}
