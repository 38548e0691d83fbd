import { matchesGlob } from '../../domain/tables/table-globs.ts'
import type { AlertRequest } from '../../schemas/alerts.ts'
import type { EventView } from '../events/event-feed.ts'

/** A state of an object that begins with one event and ends with another. */
interface Condition {
  readonly name: string
  readonly opens: readonly string[]
  readonly closes: readonly string[]
}

/** The conditions that events open and close; all other events just happen. */
const CONDITIONS: readonly Condition[] = [
  {
    name: 'pipeline',
    opens: ['pipeline.failed', 'pipeline.degraded'],
    closes: ['pipeline.recovered', 'pipeline.started', 'pipeline.stopped', 'pipeline.deleted'],
  },
  { name: 'health', opens: ['table.unhealthy'], closes: ['table.healthy'] },
  { name: 'freshness', opens: ['table.stale'], closes: ['table.fresh'] },
  {
    name: 'deployment',
    opens: ['deployment.failed', 'deployment.rolled_back'],
    closes: ['deployment.finished', 'deployment.undeployed'],
  },
  {
    name: 'policy',
    opens: ['policy.suspended'],
    closes: ['policy.resumed', 'policy.updated', 'policy.deleted'],
  },
]

/** What an event does to a condition. */
export interface ConditionChange {
  readonly does: 'open' | 'close'
  /** Identifies the condition of the object among all. */
  readonly key: string
}

/** What an event does to a condition of its object; undefined when it belongs to none. */
export function conditionChange(event: EventView): ConditionChange | undefined {
  const condition = CONDITIONS.find(({ opens, closes }) => [...opens, ...closes].includes(event.type))
  if (condition === undefined) return undefined
  return {
    does: condition.opens.includes(event.type) ? 'open' : 'close',
    key: `${condition.name} ${event.object_type}:${event.object_id}`,
  }
}

/** The object that a cooldown is about: an operation stands for its table. */
export function objectOf({ object_type: type, object_id: id, data }: EventView): string {
  return type === 'operation' && typeof data['table'] === 'string' ? `table:${data['table']}` : `${type}:${id}`
}

/** Whether an alert is about an event. */
export function matchesAlert({ events, tables, pipelines }: AlertRequest, event: EventView): boolean {
  if (!events.some((glob) => matchesGlob(glob, event.type))) return false
  if (tables === undefined && pipelines === undefined) return true
  return anyMatches(tables, tablesOf(event)) || anyMatches(pipelines, pipelinesOf(event))
}

function anyMatches(globs: readonly string[] | undefined, names: readonly string[]): boolean {
  return (globs ?? []).some((glob) => names.some((name) => matchesGlob(glob, name)))
}

function tablesOf({ data }: EventView): readonly string[] {
  const lists = [data['source_tables'], data['divert_tables']].flatMap((list) => (Array.isArray(list) ? list : []))
  return textsIn([data['table'], data['sink_table'], ...lists])
}

function pipelinesOf({ object_type: type, object_id: id, data }: EventView): readonly string[] {
  const own = type === 'pipeline' || type === 'definition' ? id : undefined
  return textsIn([own, data['pipeline_id'], data['definition_id'], data['definition']])
}

function textsIn(values: readonly unknown[]): readonly string[] {
  return values.filter((value) => typeof value === 'string')
}
