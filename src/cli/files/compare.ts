import { type JsonChange, jsonChanges } from '../../domain/json/json-changes.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import type { Call } from '../command.ts'
import { CommandError } from '../errors.ts'
import type { Existing, Kind, KindName, ObjectState } from './kinds/kind.ts'
import type { Wanted } from './wanted.ts'

/** A described object and that of the service with its name. */
export interface Pair {
  readonly wanted: Wanted
  /** Undefined: the service has none. `ambiguous`: several have the name. */
  readonly found: Found | 'ambiguous' | undefined
}

/** An object of the service with what differs from its description. */
export interface Found {
  readonly existing: Existing
  readonly state: ObjectState
  /** From the service to the files. */
  readonly changes: readonly JsonChange[]
}

/** Requests at the same time. */
export const PARALLEL = 4

/** The objects of the service, by kind. */
export type ServiceObjects = ReadonlyMap<KindName, readonly Existing[]>

/** Lists what the service has of these kinds; a kind that is not needed may be hidden from the caller. */
export async function listObjects(
  call: Call,
  kinds: readonly Kind[],
  isNeeded: (kind: Kind) => boolean = () => true,
): Promise<ServiceObjects> {
  const list = async (kind: Kind) => {
    try {
      return await kind.list(call)
    } catch (error) {
      if (!isNeeded(kind) && error instanceof CommandError && error.code === 'FORBIDDEN') return []
      throw error
    }
  }
  return new Map(await mapBounded(kinds, PARALLEL, async (kind) => [kind.kind, await list(kind)] as const))
}

/** Compares described objects with those of the service; where several have a name, with that of the owner. */
export async function compareObjects(
  wanted: readonly Wanted[],
  objects: ServiceObjects,
  owner: string | undefined,
): Promise<readonly Pair[]> {
  const named = Map.groupBy(
    [...objects].flatMap(([kind, list]) => list.map((existing) => ({ kind, existing }))),
    ({ kind, existing }) => keyOf(kind, existing.name),
  )
  return mapBounded(wanted, PARALLEL, async (one): Promise<Pair> => {
    const candidates = (named.get(keyOf(one.kind.kind, one.name)) ?? []).map(({ existing }) => existing)
    const existing = candidates.find(({ managedBy }) => managedBy !== null && managedBy === owner) ?? candidates[0]
    if (existing === undefined) return { wanted: one, found: undefined }
    if (candidates.length > 1 && existing.managedBy !== (owner ?? '')) return { wanted: one, found: 'ambiguous' }
    const state = await existing.read()
    const stored = one.kind.shared?.(state.settings, one.settings) ?? state.settings
    return { wanted: one, found: { existing, state, changes: jsonChanges(stored, one.settings) } }
  })
}

function keyOf(kind: KindName, name: string): string {
  return `${kind} ${name}`
}
