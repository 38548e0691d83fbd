import type { RequestContext } from '../../domain/audit.ts'
import type { SignedInUser } from '../../domain/roles.ts'
import {
  createHandoverStore,
  type Handover,
  type HandoverStore,
} from '../../storage/stores/notebooks/handover-store.ts'
import { sha256Hex } from '../../lib/sha256.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { SessionService } from './session-service.ts'

export interface NotebookHandoverDeps {
  readonly handovers: HandoverStore
  readonly sessions: SessionService
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly now: () => Date
  readonly newSecret: () => string
}

/** The result of redeeming a ticket. */
export interface Arrival {
  readonly caller: SignedInUser
  /** The value of the notebook host's own cookie; it is only in this response. */
  readonly secret: string
}

/**
 * Transfers a browser session to the host of a notebook, which never sees the session's cookie. A ticket is passed in a
 * URL; it is valid once, for a minute, on that host. The cookie it is exchanged for is valid on that host only, ends
 * with the session, and is not a credential anywhere else.
 */
export interface NotebookHandover {
  /** Issues a ticket for the session of this cookie. */
  issue(sessionSecret: string, host: string): Promise<string>
  /** Undefined when the ticket is invalid or expired on this host. */
  redeem(ticket: string, host: string, requestId: string): Promise<Arrival | undefined>
  /** The caller on this host; undefined when the session has ended. */
  check(secret: string, host: string): Promise<SignedInUser | undefined>
}

const TICKET_MS = 60_000
const COOKIE_MS = 7 * 24 * 60 * 60 * 1000

/** Handover through the state database, so that any replica can redeem what another one issued. */
export function createNotebookHandover(deps: NotebookHandoverDeps): NotebookHandover {
  const { inTransaction, now, newSecret } = deps
  const expiry = (ms: number): string => new Date(now().getTime() + ms).toISOString()
  return {
    async issue(sessionSecret, host) {
      const ticket = newSecret()
      await inTransaction(async (tx) => {
        const handovers = createHandoverStore(tx)
        await handovers.deleteOver(now().toISOString())
        const sessionSha256 = sha256Hex(sessionSecret)
        const secretSha256 = sha256Hex(ticket)
        await handovers.insert({ secretSha256, kind: 'ticket', host, sessionSha256, expiresAt: expiry(TICKET_MS) })
      })
      return ticket
    },
    async redeem(ticket, host, requestId) {
      const found = await find(deps, { secret: ticket, host, kind: 'ticket' })
      const caller = found && (await deps.sessions.checkHash(found.sessionSha256))
      if (!found || !caller) return undefined
      const secret = newSecret()
      const context = { caller, requestId }
      const taken = await inTransaction((tx) =>
        exchange(deps, { found, secret, context, handovers: createHandoverStore(tx), tx }, expiry(COOKIE_MS)),
      )
      return taken ? { caller, secret } : undefined
    },
    async check(secret, host) {
      const found = await find(deps, { secret, host, kind: 'cookie' })
      return found && deps.sessions.checkHash(found.sessionSha256)
    },
  }
}

interface Shown {
  readonly secret: string
  readonly host: string
  readonly kind: Handover['kind']
}

async function find({ handovers, now }: NotebookHandoverDeps, shown: Shown): Promise<Handover | undefined> {
  const found = await handovers.find(sha256Hex(shown.secret))
  if (!found || found.kind !== shown.kind || found.host !== shown.host) return undefined
  return found.expiresAt > now().toISOString() ? found : undefined
}

interface Exchange {
  readonly tx: Parameters<AuditRecorder['record']>[0]
  readonly handovers: HandoverStore
  readonly found: Handover
  readonly secret: string
  readonly context: RequestContext
}

/** Exchanges the ticket for the cookie; false when it was redeemed at the same time. */
async function exchange(
  { audit }: NotebookHandoverDeps,
  { tx, handovers, found, secret, context }: Exchange,
  expiresAt: string,
): Promise<boolean> {
  if (!(await handovers.delete(found.secretSha256))) return false
  await handovers.insert({ ...found, kind: 'cookie', secretSha256: sha256Hex(secret), expiresAt })
  const details = { host: found.host }
  await audit.record(tx, { ...context, action: 'session.hand-over', objectType: 'session', details })
  return true
}
