import type { ClaimRules, SignedInUser } from '../../../domain/roles.ts'
import { claimOf, isUserName, memberOfGroups } from '../claims.ts'
import type { ProviderGrant } from './oidc-client.ts'
import { SignInError } from './sign-in-error.ts'

/** A user of an identity provider, and the role that the user has here. */
export interface IdentifiedUser {
  readonly user: string
  /** Undefined: none, so the user may not sign in. */
  readonly role: SignedInUser['role'] | undefined
  readonly groups: readonly string[]
}

/** The user that a provider's claims name. Throws {@link SignInError} when they name none. */
export function identifyUser({ claims }: ProviderGrant, rules: ClaimRules): IdentifiedUser {
  const user = claimOf(claims, rules.userClaim)
  if (typeof user !== 'string' || !isUserName(user)) {
    throw new SignInError('invalid', `the claim ${rules.userClaim} has no user name`)
  }
  const { groups = [], role } = memberOfGroups(claims, rules)
  return { user, role, groups }
}
