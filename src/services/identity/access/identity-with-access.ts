import type { SignedInUser } from '../../../domain/roles.ts'
import type { IdentityService } from '../identity-service.ts'
import type { AccessService } from './access-service.ts'

/** The user as the API returns it. */
export function whoIs({ user, role, via, groups }: SignedInUser): Omit<SignedInUser, 'access'> {
  return { user, role, via, ...(groups === undefined ? {} : { groups }) }
}

/** Identity whose callers have their access to tables: the one place where callers get it, whatever their credential. */
export function identityWithAccess(
  identity: IdentityService,
  { withAccess }: Pick<AccessService, 'withAccess'>,
): IdentityService {
  const maybe = (user: SignedInUser | undefined): SignedInUser | undefined => user && withAccess(user)
  return {
    ...identity,
    checkToken: async (credential) => withAccess(await identity.checkToken(credential)),
    rememberedCaller: (token) => maybe(identity.rememberedCaller(token)),
    recheckToken: async (token) => withAccess(await identity.recheckToken(token)),
    checkSession: async (secret) => maybe(await identity.checkSession(secret)),
    async openSession(credential, context) {
      const { caller, secret } = await identity.openSession(credential, context)
      return { caller: withAccess(caller), secret }
    },
  }
}
