import type { Caller } from './roles.ts'

/** Through which door a change came. */
export const AUDIT_CHANNELS = ['api', 'web', 'agent', 'system'] as const

export type AuditChannel = (typeof AUDIT_CHANNELS)[number]

/**
 * `done`: it has its effect; `refused`: nothing changed, by a rule; `failed`: it was tried and did not succeed;
 * `begun`: it changes something outside the state database, and a later entry tells how it ended.
 */
export const AUDIT_OUTCOMES = ['done', 'refused', 'failed', 'begun'] as const

export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number]

/** Who asks, in which request: what a service needs to know for the audit log. */
export interface RequestContext {
  readonly caller: Caller
  readonly requestId: string
  /** Default: `web` for a browser session, else `api`. */
  readonly channel?: AuditChannel
}

/** The channel of a caller, unless a door of its own is named. */
export function channelOf(caller: Caller): AuditChannel {
  return caller.via === 'session' ? 'web' : 'api'
}
