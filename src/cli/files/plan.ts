import type { JsonChange } from '../../domain/json/json-changes.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import { sha256Hex } from '../../lib/sha256.ts'
import type { Call } from '../command.ts'
import { compareObjects, type Found, listObjects, type Pair, PARALLEL, type ServiceObjects } from './compare.ts'
import { KINDS } from './kinds/all-kinds.ts'
import { type Kind, type KindName, KIND_NAMES, type Notice } from './kinds/kind.ts'
import type { Place } from './place.ts'
import type { Wanted } from './wanted.ts'

/** What becomes of objects, in the order of their number in a summary. */
export const ACTIONS = ['create', 'update', 'delete', 'release', 'refused', 'unchanged'] as const

export type Action = (typeof ACTIONS)[number]

/** What becomes of one object. */
export interface PlannedObject {
  readonly action: Action
  readonly kind: KindName
  readonly name: string
  /** Undefined: the files do not describe it. */
  readonly place?: Place
  readonly changes: readonly JsonChange[]
  /** Why it is refused. */
  readonly reason?: string
  /** The version of the object that the change is based on. */
  readonly tag?: string
  /** Undefined: there is nothing to do. */
  readonly run?: () => Promise<Notice>
}

/** What an application of the files does. */
export interface FilePlan {
  readonly owner: string
  /** Changes first, then removals, each in the order in which they are made. */
  readonly objects: readonly PlannedObject[]
  /** Objects of the owner that the files do not describe, and that stay. */
  readonly left: number
  /** Changes with everything that the plan does. */
  readonly fingerprint: string
}

export interface PlanOptions {
  readonly owner: string
  /** Whether objects of others, and those made by hand, are taken over. */
  readonly adopt: boolean
  /** Whether objects of the owner that the files do not describe are removed. */
  readonly prune: boolean
}

/** Plans how the service becomes what the files describe; changes nothing. */
export async function makePlan(call: Call, wanted: readonly Wanted[], options: PlanOptions): Promise<FilePlan> {
  const { owner, prune } = options
  const isNeeded = (kind: Kind): boolean => prune || wanted.some((one) => one.kind === kind)
  const objects = await listObjects(call, KINDS, isNeeded)
  const pairs = await compareObjects(wanted, objects, owner)
  const changes = inOrder(pairs.map((pair) => planned(call, pair, options)))
  const undescribed = findUndescribed({ wanted, objects, owner })
  const removals = prune ? await mapBounded(undescribed, PARALLEL, (one) => removal(call, one)) : []
  const all = [...changes, ...inOrder(removals).toReversed()]
  return { owner, objects: all, left: undescribed.length - removals.length, fingerprint: fingerprintOf(owner, all) }
}

function inOrder(objects: readonly PlannedObject[]): readonly PlannedObject[] {
  const rank = ({ kind }: PlannedObject): number => KIND_NAMES.indexOf(kind)
  return objects.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
}

function planned(call: Call, { wanted, found }: Pair, { owner, adopt }: PlanOptions): PlannedObject {
  const { kind, name, place } = wanted
  const common = { kind: kind.kind, name, place, changes: [] }
  if (found === undefined) {
    const content = [{ op: 'add', path: '', to: wanted.settings }] as const
    return { ...common, changes: content, action: 'create', run: () => kind.create(call, wanted, owner) }
  }
  if (found === 'ambiguous') {
    return { ...common, action: 'refused', reason: `several have this name, and none of them is of ${owner}` }
  }
  const { existing, state } = found
  const isOwn = existing.managedBy === owner
  const changes = isOwn ? found.changes : [...ownerChange(found, owner), ...found.changes]
  const reason = refusal(wanted, found, { isOwn, adopt })
  if (reason !== undefined) return { ...common, changes, action: 'refused', reason }
  if (changes.length === 0) return { ...common, action: 'unchanged' }
  const update = { id: existing.id, from: state, to: wanted, owner, adopts: !isOwn }
  return { ...common, changes, action: 'update', tag: state.tag, run: () => kind.update(call, update) }
}

function ownerChange({ existing: { managedBy } }: Found, owner: string): readonly JsonChange[] {
  return [{ op: 'replace', path: '/managed_by', from: managedBy, to: owner }]
}

function refusal(
  { settings }: Wanted,
  { existing, state }: Found,
  { isOwn, adopt }: { readonly isOwn: boolean; readonly adopt: boolean },
): string | undefined {
  const { managedBy, isUntouched } = existing
  if (!isOwn && !isUntouched && !adopt) {
    return `${managedBy === null ? 'made by hand' : `managed by ${managedBy}`}: --adopt takes it over`
  }
  return state.changeLock?.(settings)
}

interface Described {
  readonly wanted: readonly Wanted[]
  readonly objects: ServiceObjects
  readonly owner: string
}

interface Undescribed {
  readonly kind: Kind
  readonly existing: Found['existing']
  readonly owner: string
}

/** The objects of the owner that the files do not describe. */
function findUndescribed({ wanted, objects, owner }: Described): readonly Undescribed[] {
  return KINDS.flatMap((kind) => {
    const names = new Set(wanted.filter((one) => one.kind === kind).map(({ name }) => name))
    const own = (objects.get(kind.kind) ?? []).filter(({ managedBy }) => managedBy === owner)
    return own.filter(({ name }) => !names.has(name)).map((existing) => ({ kind, existing, owner }))
  })
}

async function removal(call: Call, { kind, existing, owner }: Undescribed): Promise<PlannedObject> {
  const { id, name } = existing
  const from = await existing.read()
  const common = { kind: kind.kind, name, changes: [] }
  if (from.deletionLock !== undefined) return { ...common, action: 'refused', reason: from.deletionLock }
  const run = (): Promise<Notice> => kind.remove(call, { id, from, owner })
  return { ...common, action: kind.removal, tag: from.tag, run }
}

function fingerprintOf(owner: string, objects: readonly PlannedObject[]): string {
  const content = objects.map(({ action, kind, name, changes, tag = null }) => [action, kind, name, changes, tag])
  return sha256Hex(JSON.stringify([owner, content])).slice(0, 16)
}
