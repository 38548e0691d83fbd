import type { Kysely } from 'kysely'
import type { Config } from '../config/config.ts'
import type { AccessService } from '../services/identity/access/access-service.ts'
import { identityWithAccess } from '../services/identity/access/identity-with-access.ts'
import type { AuditRecorder } from '../services/audit/audit-service.ts'
import { createFailedLoginLimiter } from '../services/identity/failed-login-limiter.ts'
import { createIdentityService, type IdentityService } from '../services/identity/identity-service.ts'
import { createNotebookHandover, type NotebookHandover } from '../services/identity/notebook-handover.ts'
import { createProviderSessions } from '../services/identity/sign-in/provider-sessions.ts'
import { createSealedTexts } from '../services/identity/sign-in/sealed-text.ts'
import { createSignInService, type SignInService } from '../services/identity/sign-in/sign-in-service.ts'
import { createSessionService } from '../services/identity/session-service.ts'
import type { Logger } from '../services/logger.ts'
import { toBase64Url, type TokenService } from '../services/identity/token-service.ts'
import type { StateTables } from '../storage/schema.ts'
import { createBegunSignInStore } from '../storage/stores/identity/begun-sign-ins.ts'
import { createProviderSessionStore } from '../storage/stores/identity/provider-sessions.ts'
import { createHandoverStore } from '../storage/stores/notebooks/handover-store.ts'
import { createSessionStore } from '../storage/stores/identity/session-store.ts'
import type { InTransaction } from '../storage/transactions.ts'

export interface IdentityParts {
  readonly access: AccessService
  readonly db: Kysely<StateTables>
  readonly tokens: TokenService
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly now: () => Date
  readonly log: Logger
  readonly randomBytes: (length: number) => Uint8Array
}

/** Authentication on the service's host and on notebook hosts. */
export interface Identity {
  readonly identity: IdentityService
  readonly handover: NotebookHandover
  /** Undefined: no identity provider is configured. */
  readonly signIn: SignInService | undefined
}

/** Creates authentication: tokens and sessions; JWTs and the sign-in at a provider when they are configured. */
export async function openIdentity(
  config: Pick<Config, 'jwt' | 'oidc' | 'claims'>,
  parts: IdentityParts,
): Promise<Identity> {
  const { db, tokens, inTransaction, audit, now, randomBytes } = parts
  const { claims } = config
  const nowMs = (): number => now().getTime()
  const newSecret = (): string => toBase64Url(randomBytes(32))
  const tokenCaller = (tokenSha256: string) => tokens.checkHash(tokenSha256)
  const provider = await openProvider(config, parts)
  const keep = provider && ((idSha256: string) => provider.sessions.keep(idSha256))
  const sessions = createSessionService({ sessions: createSessionStore(db), tokenCaller, keep, now, newSecret })
  const common = { sessions, inTransaction, audit, now, newSecret }
  const identity = createIdentityService({
    ...common,
    tokens,
    jwt: await openJwt(config, parts),
    limiter: createFailedLoginLimiter(nowMs),
    revocation: async (idSha256) => provider?.sessions.revocation(idSha256),
  })
  const { client, sessions: providerSessions } = provider ?? {}
  const begun = createBegunSignInStore(db)
  const signIn =
    client && providerSessions && createSignInService({ ...common, client, begun, providerSessions, claims })
  const handovers = createHandoverStore(db)
  return {
    identity: identityWithAccess(identity, parts.access),
    handover: createNotebookHandover({ ...common, handovers }),
    signIn,
  }
}

/** What checks JWTs; undefined when they are not configured. */
async function openJwt({ jwt, claims }: Pick<Config, 'jwt' | 'claims'>, { now, log }: IdentityParts) {
  if (jwt === undefined) return undefined
  const { createKeySet } = await import('../services/identity/key-set.ts') // it loads `jose`, which is large
  const { createJwtVerifier } = await import('../services/identity/jwt-verifier.ts')
  const keys = createKeySet({ issuer: jwt.issuer, jwksUrl: jwt.jwksUrl, nowMs: () => now().getTime(), log })
  return createJwtVerifier({ ...jwt, claims, keys, now })
}

/** The identity provider and its sessions; undefined when none is configured. */
async function openProvider({ oidc, claims }: Pick<Config, 'oidc' | 'claims'>, parts: IdentityParts) {
  if (oidc === undefined) return undefined
  const { createOidcClient } = await import('../services/identity/sign-in/oidc-client.ts') // it loads `jose`
  const { db, inTransaction, audit, now, log, randomBytes } = parts
  const wantedClaims = [claims.userClaim, claims.groupsClaim]
  const client = createOidcClient({ ...oidc, wantedClaims, now, log })
  const sealed = createSealedTexts(oidc.clientSecret, randomBytes)
  const store = createProviderSessionStore(db)
  return { client, sessions: createProviderSessions({ client, store, sealed, claims, inTransaction, audit, now }) }
}
