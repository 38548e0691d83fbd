import type { Kysely } from 'kysely'
import type { Config } from '../config/config.ts'
import type { AccessService } from '../services/identity/access/access-service.ts'
import { identityWithAccess } from '../services/identity/access/identity-with-access.ts'
import type { AuditRecorder } from '../services/audit/audit-service.ts'
import { createFailedLoginLimiter } from '../services/identity/failed-login-limiter.ts'
import { createIdentityService, type IdentityService } from '../services/identity/identity-service.ts'
import { createJwtVerifier } from '../services/identity/jwt-verifier.ts'
import { createKeySet } from '../services/identity/key-set.ts'
import { createNotebookHandover, type NotebookHandover } from '../services/identity/notebook-handover.ts'
import { createSessionService } from '../services/identity/session-service.ts'
import type { Logger } from '../services/logger.ts'
import { toBase64Url, type TokenService } from '../services/identity/token-service.ts'
import type { StateTables } from '../storage/schema.ts'
import { createHandoverStore } from '../storage/stores/notebooks/handover-store.ts'
import { createSessionStore } from '../storage/stores/session-store.ts'
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
}

/** Creates authentication: tokens and sessions, and JWTs when an issuer is configured. */
export function openIdentity({ jwt }: Pick<Config, 'jwt'>, parts: IdentityParts): Identity {
  const { db, tokens, inTransaction, audit, now, log, randomBytes } = parts
  const nowMs = (): number => now().getTime()
  const keys = jwt && createKeySet({ issuer: jwt.issuer, jwksUrl: jwt.jwksUrl, nowMs, log })
  const newSecret = (): string => toBase64Url(randomBytes(32))
  const tokenCaller = (tokenSha256: string) => tokens.checkHash(tokenSha256)
  const sessions = createSessionService({ sessions: createSessionStore(db), tokenCaller, now, newSecret })
  const identity = createIdentityService({
    tokens,
    sessions,
    jwt: jwt && keys && createJwtVerifier({ ...jwt, keys, now }),
    limiter: createFailedLoginLimiter(nowMs),
    inTransaction,
    audit,
  })
  const handovers = createHandoverStore(db)
  return {
    identity: identityWithAccess(identity, parts.access),
    handover: createNotebookHandover({ handovers, sessions, inTransaction, audit, now, newSecret }),
  }
}
