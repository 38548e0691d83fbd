import type { AccessedKind, Caller, Role } from '../../../domain/roles.ts'
import { isLimited } from './require-access.ts'

/** Members of queries, bodies and arguments of tools that name objects. */
const MEMBERS: Readonly<Record<string, AccessedKind>> = {
  table: 'table',
  source_table: 'table',
  sink_table: 'table',
  pipeline_id: 'pipeline',
  definition_id: 'definition',
  version_id: 'version',
}

/** The texts of an object with the names of their members. */
export function textsOf(value: unknown): readonly (readonly [string, string])[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, text]) => (typeof text === 'string' ? [[name, text] as const] : []))
}

/** Requires a role on all tables of the objects that a request names; errors of `TableAccess.requireObject`. */
export async function requireNamedObjects(caller: Caller, request: unknown, minimum: Role): Promise<void> {
  if (!isLimited(caller)) return
  const texts = textsOf(request)
  const environment = texts.find(([name]) => name === 'environment')?.[1]
  const hasDefinition = texts.some(([name]) => name === 'definition_id')
  for (const [name, id] of texts) {
    const kind = Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined
    if (kind === undefined || (kind === 'version' && hasDefinition)) continue
    await caller.access?.requireObject({ kind, id, environment }, minimum)
  }
}
