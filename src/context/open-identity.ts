import type { Kysely } from 'kysely'
import type { Config } from '../config/config.ts'
import type { AuditRecorder } from '../services/audit-service.ts'
import { createFailedLoginLimiter } from '../services/identity/failed-login-limiter.ts'
import { createIdentityService, type IdentityService } from '../services/identity/identity-service.ts'
import { createJwtVerifier } from '../services/identity/jwt-verifier.ts'
import { createKeySet } from '../services/identity/key-set.ts'
import { createSessionService } from '../services/identity/session-service.ts'
import type { Logger } from '../services/logger.ts'
import { toBase64Url, type TokenService } from '../services/token-service.ts'
import type { StateTables } from '../storage/schema.ts'
import { createSessionStore } from '../storage/session-store.ts'
import type { InTransaction } from '../storage/transactions.ts'

export interface IdentityParts {
  readonly db: Kysely<StateTables>
  readonly tokens: TokenService
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly now: () => Date
  readonly log: Logger
  readonly randomBytes: (length: number) => Uint8Array
}

/** Who may call, as the configuration says: tokens and sessions, and the JWTs of an issuer when one is named. */
export function openIdentity({ jwt }: Pick<Config, 'jwt'>, parts: IdentityParts): IdentityService {
  const { db, tokens, inTransaction, audit, now, log, randomBytes } = parts
  const nowMs = (): number => now().getTime()
  const keys = jwt && createKeySet({ issuer: jwt.issuer, jwksUrl: jwt.jwksUrl, nowMs, log })
  return createIdentityService({
    tokens,
    sessions: createSessionService({
      sessions: createSessionStore(db),
      tokenCaller: (tokenSha256) => tokens.checkHash(tokenSha256),
      now,
      newSecret: () => toBase64Url(randomBytes(32)),
    }),
    jwt: jwt && keys && createJwtVerifier({ ...jwt, keys, now }),
    limiter: createFailedLoginLimiter(nowMs),
    inTransaction,
    audit,
  })
}
