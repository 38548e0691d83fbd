import type { AccessedKind, Caller } from '../../../domain/roles.ts'
import type { EventView } from '../../events/event-feed.ts'
import { isLimited, seesTable, seesTables } from './require-access.ts'

/** The events that are about what exists for the caller, by the grants as they are now. */
export async function visibleEvents(caller: Caller, events: readonly EventView[]): Promise<readonly EventView[]> {
  if (!isLimited(caller)) return events
  const visible: EventView[] = []
  for (const event of events) if (await isVisibleEvent(caller, event)) visible.push(event)
  return visible
}

/** Whether an event is about what exists for the caller. An event of another kind, such as of a policy, may name any table. */
export async function isVisibleEvent(caller: Caller, event: EventView): Promise<boolean> {
  if (!isLimited(caller)) return true
  const { data, object_id: id } = event
  switch (event.object_type) {
    case 'config':
    case 'environment':
    case 'grants':
    case 'notebook':
      return true
    case 'table':
      return seesTable(caller, id)
    case 'operation':
      return typeof data['table'] === 'string' && seesTable(caller, data['table'])
    case 'pipeline':
      return seesTables(caller, tablesIn(data)) && sees(caller, 'pipeline', id)
    case 'definition':
      return sees(caller, 'definition', id)
    case 'version':
    case 'approval':
    case 'deployment':
      return sees(caller, 'definition', data['definition_id'])
    case 'agent_action':
      return data['user'] === caller.user && seesSubject(caller, data['subject'])
    default:
      return false
  }
}

async function sees(caller: Caller, kind: AccessedKind, id: unknown): Promise<boolean> {
  return typeof id === 'string' && (await caller.access?.isVisible({ kind, id })) === true
}

function tablesIn(data: EventView['data']): readonly string[] {
  const fields = [data['source_tables'], data['divert_tables'], data['sink_table']]
  return fields.flat().filter((name) => typeof name === 'string')
}

function seesSubject(caller: Caller, subject: unknown): boolean {
  return typeof subject !== 'string' || !subject.includes('.') || seesTable(caller, subject)
}
