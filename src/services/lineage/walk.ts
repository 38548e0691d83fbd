import type { LINEAGE_DIRECTIONS } from '../../schemas/lineage.ts'
import type { Flow } from './flow.ts'

/** What to follow, and how far. */
export interface WalkRequest {
  /** Undefined: all flows. */
  readonly table: string | undefined
  readonly direction: (typeof LINEAGE_DIRECTIONS)[number]
  /** Flows one after the other. */
  readonly depth: number
  /** Most tables and flows together. */
  readonly limit: number
}

/** A part of the lineage, nearest first. */
export interface Walked {
  readonly tables: ReadonlySet<string>
  readonly flows: ReadonlySet<Flow>
  readonly truncated: boolean
}

/** Follows flows from a table. Each table and flow counts once, so that cycles end. */
export function walkLineage(flows: readonly Flow[], request: WalkRequest): Walked {
  const { table, direction, depth, limit } = request
  const picked = new Picked(limit)
  if (table === undefined) {
    for (const flow of flows) picked.add(flow, [...flow.sources, ...flow.sinks])
    return picked
  }
  picked.tables.add(table)
  const ways: Way[] = []
  if (direction !== 'downstream') ways.push(wayFrom(table, byTable(flows, 'sinks'), ({ sources }) => sources))
  if (direction !== 'upstream') ways.push(wayFrom(table, byTable(flows, 'sources'), ({ sinks }) => sinks))
  for (let hop = 0; hop < depth; hop++) for (const way of ways) step(way, picked)
  return picked
}

/** How many flows of each table are not in an answer. */
export function countHidden(flows: readonly Flow[], { tables, flows: shown }: Walked): ReadonlyMap<string, number> {
  const hidden = new Map<string, number>()
  for (const flow of flows) {
    if (shown.has(flow)) continue
    for (const table of new Set([...flow.sources, ...flow.sinks])) {
      if (tables.has(table)) hidden.set(table, (hidden.get(table) ?? 0) + 1)
    }
  }
  return hidden
}

/** The tables and flows of an answer, up to a limit. */
class Picked implements Walked {
  readonly tables = new Set<string>()
  readonly flows = new Set<Flow>()
  truncated = false
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Adds as much of a flow and its tables as the limit allows; returns the tables that are in the answer. */
  add(flow: Flow, tables: readonly string[]): readonly string[] {
    if (!this.flows.has(flow)) {
      if (this.#isFull()) return []
      this.flows.add(flow)
    }
    return tables.filter((table) => {
      if (this.tables.has(table)) return true
      if (this.#isFull()) return false
      this.tables.add(table)
      return true
    })
  }

  #isFull(): boolean {
    if (this.tables.size + this.flows.size < this.#limit) return false
    this.truncated = true
    return true
  }
}

/** One direction of a walk. */
interface Way {
  readonly flowsAt: ReadonlyMap<string, readonly Flow[]>
  readonly next: (flow: Flow) => readonly string[]
  readonly seen: Set<string>
  frontier: readonly string[]
}

function wayFrom(table: string, flowsAt: Way['flowsAt'], next: Way['next']): Way {
  return { flowsAt, next, seen: new Set([table]), frontier: [table] }
}

function step(way: Way, picked: Picked): void {
  const reached: string[] = []
  for (const table of way.frontier) {
    for (const flow of way.flowsAt.get(table) ?? []) reached.push(...picked.add(flow, way.next(flow)))
  }
  way.frontier = [...new Set(reached)].filter((table) => !way.seen.has(table))
  for (const table of way.frontier) way.seen.add(table)
}

function byTable(flows: readonly Flow[], end: 'sources' | 'sinks'): ReadonlyMap<string, readonly Flow[]> {
  const found = new Map<string, Flow[]>()
  for (const flow of flows) {
    for (const table of flow[end]) {
      const known = found.get(table)
      if (known === undefined) found.set(table, [flow])
      else known.push(flow)
    }
  }
  return found
}
