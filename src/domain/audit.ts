import type { Caller } from './roles.ts'

/** The channel of a change. */
export const AUDIT_CHANNELS = ['api', 'web', 'agent', 'system'] as const

export type AuditChannel = (typeof AUDIT_CHANNELS)[number]

/**
 * `done`: it took effect; `refused`: a rule prevented it; `failed`: it was tried and did not succeed;
 * `begun`: it changes something outside of the state database, and a later entry has the outcome.
 */
export const AUDIT_OUTCOMES = ['done', 'refused', 'failed', 'begun'] as const

export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number]

/** The caller and the request, for the audit log. */
export interface RequestContext {
  readonly caller: Caller
  readonly requestId: string
  /** Default: that of the caller, see {@link channelOf}. */
  readonly channel?: AuditChannel
  /** What the operation of this request has in common with others that are started with it. */
  readonly group?: string
  /**
   * The id of the operation that the request begins; default: a new one. A policy makes the id before the operation begins, so
   * that its decision names the operation without the request id, which callers may choose.
   */
  readonly operationId?: string
}

/** The channel of a caller: `web` for a browser session, `system` for a part of the service, else `api`. */
export function channelOf(caller: Caller): AuditChannel {
  if (caller.via === 'system') return 'system'
  return caller.via === 'session' ? 'web' : 'api'
}
