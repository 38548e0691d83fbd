import type { AccessedKind, Role, SignedInUser } from '../../domain/roles.ts'
import { requireNamedObjects, textsOf } from '../../services/identity/access/named-objects.ts'
import { isLimited, requireUnlimited } from '../../services/identity/access/require-access.ts'
import { withoutHiddenTables } from '../../services/identity/access/without-hidden-tables.ts'

/**
 * How a route keeps tables from callers whom grants limit (ADR 0028). `none`: it names no table. `objects`: on the table,
 * pipeline, definition, operation or other object of its path, or the `table` of its query or body, the caller needs the
 * route's role, which is checked before the handler runs; the response is about these objects only. `filtered`: the same
 * check of path and body, and the handler shows what the caller may see. A route without it refuses such callers, so that
 * a new route shows nothing by mistake.
 */
export type Reach = 'none' | 'objects' | 'filtered'

/** A request to a route with a minimum role. */
export interface ReachedRequest {
  readonly reach?: Reach | undefined
  readonly minRole: Role
  readonly caller: SignedInUser
  readonly input: { readonly params: unknown; readonly query: unknown; readonly body: unknown }
}

/** Objects by the names of path parameters. Versions belong to the definition before them. */
const PARAMETERS: Readonly<Record<string, AccessedKind | 'part'>> = {
  table_name: 'table',
  pipeline_id: 'pipeline',
  def_id: 'definition',
  ver_id: 'part',
  a: 'part',
  b: 'part',
  operation_id: 'operation',
  quarantine_id: 'quarantine',
  req_id: 'approval',
}

/** Runs a handler, for a caller whom grants limit only after the checks of the route's reach. */
export function withReach<T>(request: ReachedRequest, run: () => T | Promise<T>): T | Promise<T> {
  return isLimited(request.caller) ? runLimited(request, run) : run()
}

async function runLimited<T>(request: ReachedRequest, run: () => T | Promise<T>): Promise<T> {
  const { caller, input } = request
  if (request.reach === undefined) requireUnlimited(caller)
  if (request.reach !== 'none') await requireNamed(request)
  try {
    return await run()
  } catch (error) {
    throw withoutHiddenTables(error, { caller, named: namesIn(input) })
  }
}

async function requireNamed({ reach, caller, minRole, input }: ReachedRequest): Promise<void> {
  const { params, query, body } = input
  const environment = textIn(body, 'environment')
  for (const [name, id] of textsOf(params)) {
    const kind = PARAMETERS[name]
    if (kind === undefined && name !== 'environment') requireUnlimited(caller)
    if (kind !== undefined && kind !== 'part') await caller.access?.requireObject({ kind, id, environment }, minRole)
  }
  // a filter of a list that names a hidden object finds nothing
  if (reach === 'objects') await requireNamedObjects(caller, query, minRole)
  await requireNamedObjects(caller, body, minRole)
}

function namesIn({ params, query, body }: ReachedRequest['input']): readonly string[] {
  return [...textsOf(params), ...textsOf(query), ...textsOf(body)].map(([, text]) => text)
}

function textIn(value: unknown, member: string): string | undefined {
  return textsOf(value).find(([name]) => name === member)?.[1]
}
