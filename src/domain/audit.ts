import type { Caller } from './roles.ts'

/** Through which door a change came. */
export type AuditChannel = 'api' | 'web' | 'agent' | 'system'

/** `done`: it has its effect; `refused`: nothing changed, by a rule; `failed`: it was tried and did not succeed. */
export type AuditOutcome = 'done' | 'refused' | 'failed'

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
