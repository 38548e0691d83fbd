import { toBigint } from '../../json/json-fields.ts'
import type { TableUpdate } from '../table-update.ts'

type Removal = Extract<
  TableUpdate,
  { readonly action: 'remove-snapshot-ref' | 'remove-snapshots' | 'remove-statistics' | 'remove-partition-statistics' }
>

/** A change as few steps, each of which rebuilds a part of the document once. */
export type UpdateStep =
  | Exclude<TableUpdate, Removal>
  | {
      readonly action: 'remove'
      readonly refs: ReadonlySet<string>
      readonly statistics: ReadonlySet<bigint>
      readonly partitionStatistics: ReadonlySet<bigint>
      readonly snapshots: ReadonlySet<bigint>
    }

/**
 * The same change in fewer steps: what consecutive updates set or remove becomes one step, because clients send one update
 * for each of thousands of snapshots or properties. Of consecutive removals, branches and tags go first.
 */
export function mergeUpdates(updates: readonly TableUpdate[]): readonly UpdateStep[] {
  const steps: UpdateStep[] = []
  for (let at = 0; at < updates.length;) {
    const { step, next } = stepAt(updates, at)
    steps.push(step)
    at = next
  }
  return steps
}

interface Taken {
  readonly step: UpdateStep
  /** Index of the first update after the step. */
  readonly next: number
}

function stepAt(updates: readonly TableUpdate[], at: number): Taken {
  const update = updates[at]
  if (update === undefined) throw new RangeError(`there is no update ${at}`)
  switch (update.action) {
    case 'set-properties':
      return propertiesFrom(updates, at)
    case 'remove-properties':
      return propertyRemovalsFrom(updates, at)
    case 'remove-snapshot-ref':
    case 'remove-snapshots':
    case 'remove-statistics':
    case 'remove-partition-statistics':
      return removalsFrom(updates, at)
    default:
      return { step: update, next: at + 1 }
  }
}

function propertiesFrom(updates: readonly TableUpdate[], from: number): Taken {
  const all: (readonly [string, string])[] = []
  let next = from
  for (let update = updates[next]; update?.action === 'set-properties'; update = updates[next]) {
    for (const entry of Object.entries(update.updates)) all.push(entry)
    next += 1
  }
  return { step: { action: 'set-properties', updates: Object.fromEntries(all) }, next }
}

function propertyRemovalsFrom(updates: readonly TableUpdate[], from: number): Taken {
  const removals = new Set<string>()
  let next = from
  for (let update = updates[next]; update?.action === 'remove-properties'; update = updates[next]) {
    for (const name of update.removals) removals.add(name)
    next += 1
  }
  return { step: { action: 'remove-properties', removals: [...removals] }, next }
}

function removalsFrom(updates: readonly TableUpdate[], from: number): Taken {
  const refs = new Set<string>()
  const statistics = new Set<bigint>()
  const partitionStatistics = new Set<bigint>()
  const snapshots = new Set<bigint>()
  let next = from
  for (; ; next += 1) {
    const update = updates[next]
    if (update?.action === 'remove-snapshot-ref') refs.add(update['ref-name'])
    else if (update?.action === 'remove-statistics') statistics.add(toBigint(update['snapshot-id']))
    else if (update?.action === 'remove-partition-statistics') partitionStatistics.add(toBigint(update['snapshot-id']))
    else if (update?.action === 'remove-snapshots') for (const id of update['snapshot-ids']) snapshots.add(toBigint(id))
    else return { step: { action: 'remove', refs, statistics, partitionStatistics, snapshots }, next }
  }
}
