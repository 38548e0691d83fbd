import { matchesGlob } from './tables/table-globs.ts'

/** Every type of event, `<object>.<past participle>` (docs/api.md#event-types). */
export const EVENT_TYPES = [
  'agent_action.confirmed',
  'agent_action.dismissed',
  'agent_action.done',
  'agent_action.failed',
  'agent_action.proposed',
  'alert.created',
  'alert.deleted',
  'alert.silenced',
  'alert.updated',
  'approval.approved',
  'approval.commented',
  'approval.endorsed',
  'approval.expired',
  'approval.held',
  'approval.rejected',
  'approval.reopened',
  'approval.requested',
  'approval.withdrawn',
  'config.changed',
  'definition.created',
  'definition.deleted',
  'definition.updated',
  'deployment.cancelled',
  'deployment.failed',
  'deployment.finished',
  'deployment.held',
  'deployment.rolled_back',
  'deployment.started',
  'deployment.undeployed',
  'environment.updated',
  'grants.updated',
  'notebook.idle',
  'notebook.started',
  'notebook.stopped',
  'operation.failed',
  'operation.finished',
  'operation.started',
  'pipeline.degraded',
  'pipeline.deleted',
  'pipeline.diverted',
  'pipeline.failed',
  'pipeline.recovered',
  'pipeline.started',
  'pipeline.stopped',
  'pipeline.stopping',
  'policy.created',
  'policy.deleted',
  'policy.resumed',
  'policy.suspended',
  'policy.updated',
  'table.created',
  'table.fresh',
  'table.healthy',
  'table.registered',
  'table.stale',
  'table.unhealthy',
  'version.created',
  'version.moved',
] as const

/** A type of {@link EVENT_TYPES}. */
export type EventType = (typeof EVENT_TYPES)[number]

/** A filter for event types: one type (`approval.requested`), the types of a group (`approval.*`), or all (`*`). */
export const EVENT_FILTER = /^([a-z_]+\.([a-z_]+|\*)|\*)$/

/** True if the filter or pattern matches a type of event that exists; without one, nothing would ever be sent. */
export function matchesAnyType(pattern: string): boolean {
  return EVENT_TYPES.some((type) => matchesGlob(pattern, type))
}

/** The refusal of a pattern that matches no type, with the types of its group if the group exists. */
export function unknownTypeMessage(pattern: string): string {
  const [group = ''] = pattern.split('.')
  const near = EVENT_TYPES.filter((type) => type.startsWith(`${group}.`))
  const groups = [...new Set(EVENT_TYPES.map((type) => `${type.split('.')[0]}.*`))]
  const known = near.length > 0 ? `events of this object are ${near.join(', ')}` : `use ${groups.join(', ')}, or *`
  return `no event has the type ${pattern}; ${known}`
}

/** Whether an event type matches a filter such as `approval.requested`, `approval.*` or `*`. */
export function matchesFilter(type: string, filter: string): boolean {
  const prefix = filterPrefix(filter)
  return prefix === undefined ? type === filter : type.startsWith(prefix)
}

/** The prefix of the types that match a filter; undefined: the filter matches exactly one type. */
export function filterPrefix(filter: string): string | undefined {
  return filter.endsWith('*') ? filter.slice(0, -1) : undefined
}
