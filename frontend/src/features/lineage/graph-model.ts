import type { Lineage, LineageEdge } from '../../api/types.ts'
import { type Flow, flowsOf, type TableNode } from './flows.ts'

/** Tables and flows of one or more answers, each once. */
export interface LineageGraph {
  readonly tables: ReadonlyMap<string, TableNode>
  readonly flows: ReadonlyMap<string, Flow>
  /** Only `reads` and `writes`, between these. */
  readonly edges: readonly LineageEdge[]
  /** How many flows each table has, also those that no answer has. */
  readonly flowCounts: ReadonlyMap<string, number>
}

/** Merges answers; of a node that several have, the first counts. */
export function mergeLineage(answers: readonly Pick<Lineage, 'nodes' | 'edges'>[]): LineageGraph {
  const tables = new Map<string, TableNode>()
  const flows = new Map<string, Flow>()
  const edges = new Map<string, LineageEdge>()
  const flowCounts = new Map<string, number>()
  for (const answer of answers) {
    const own = answer.edges.filter(({ kind }) => kind === 'reads' || kind === 'writes')
    const shown = flowsByTable(own)
    for (const node of answer.nodes) {
      if (node.kind !== 'table') continue
      if (!tables.has(node.id)) tables.set(node.id, node)
      flowCounts.set(node.id, node.hidden_flows + (shown.get(node.id)?.size ?? 0))
    }
    for (const flow of flowsOf(answer)) if (!flows.has(flow.node.id)) flows.set(flow.node.id, flow)
    for (const edge of own) if (!edges.has(edge.id)) edges.set(edge.id, edge)
  }
  return { tables, flows, edges: [...edges.values()], flowCounts }
}

function flowsByTable(edges: readonly LineageEdge[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  for (const { kind, from, to } of edges) {
    const [table, flow] = kind === 'reads' ? [from, to] : [to, from]
    const known = found.get(table)
    if (known === undefined) found.set(table, new Set([flow]))
    else known.add(flow)
  }
  return found
}

/** What of a graph is drawn. */
export interface VisibleGraph {
  readonly ids: ReadonlySet<string>
  readonly edges: readonly LineageEdge[]
  /** How many flows of a table are not drawn; absent: none. */
  readonly hidden: ReadonlyMap<string, number>
  /** Tables behind which something is drawn, which can be hidden. */
  readonly collapsible: ReadonlySet<string>
}

interface Step {
  readonly id: string
  /** Whether it goes from a source to what reads it. */
  readonly isForward: boolean
}

/**
 * The part of a graph that is visible when the tables in `collapsed` hide what lies behind them: as seen from the table in the middle
 * (`focus`), or, without one, from the tables that nothing writes.
 */
export function visibleGraph(
  graph: LineageGraph,
  focus: string | undefined,
  collapsed: ReadonlySet<string>,
): VisibleGraph {
  const steps = stepsOf(graph)
  const isTaken = ({ isForward }: Step): boolean => focus !== undefined || isForward
  const ids = new Set<string>()
  const collapsible = new Set<string>()
  const walk = (start: string, stops: ReadonlySet<string>): void => {
    const waiting = [start]
    ids.add(start)
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const next = (steps.get(id) ?? []).filter(isTaken)
      if (id !== focus && graph.tables.has(id) && next.some((step) => !ids.has(step.id))) collapsible.add(id)
      if (stops.has(id) && id !== focus) continue
      for (const step of next) {
        if (ids.has(step.id)) continue
        ids.add(step.id)
        waiting.push(step.id)
      }
    }
  }
  for (const start of startsOf(graph, steps, focus)) if (!ids.has(start)) walk(start, collapsed)
  const edges = graph.edges.filter(({ from, to }) => ids.has(from) && ids.has(to))
  return { ids, edges, hidden: hiddenFlows(graph, ids, edges), collapsible }
}

function stepsOf({ edges }: LineageGraph): ReadonlyMap<string, readonly Step[]> {
  const steps = new Map<string, Step[]>()
  const add = (from: string, step: Step): void => {
    const known = steps.get(from)
    if (known === undefined) steps.set(from, [step])
    else known.push(step)
  }
  for (const { from, to } of edges) {
    add(from, { id: to, isForward: true })
    add(to, { id: from, isForward: false })
  }
  return steps
}

/** Where the drawing begins: every node is behind one of these, also those of cycles. */
function startsOf(
  { tables, flows }: LineageGraph,
  steps: ReadonlyMap<string, readonly Step[]>,
  focus: string | undefined,
): readonly string[] {
  if (focus !== undefined) return tables.has(focus) ? [focus] : []
  const all = [...tables.keys(), ...flows.keys()]
  const first = all.filter((id) => (steps.get(id) ?? []).every(({ isForward }) => isForward))
  const reached = new Set<string>()
  const reach = (start: string): void => {
    const waiting = [start]
    reached.add(start)
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      for (const { id: next, isForward } of steps.get(id) ?? []) {
        if (!isForward || reached.has(next)) continue
        reached.add(next)
        waiting.push(next)
      }
    }
  }
  for (const id of first) reach(id)
  const ofCycles = all.filter((id) => {
    if (reached.has(id)) return false
    reach(id)
    return true
  })
  return [...first, ...ofCycles]
}

function hiddenFlows(
  { tables, flowCounts }: LineageGraph,
  ids: ReadonlySet<string>,
  edges: readonly LineageEdge[],
): ReadonlyMap<string, number> {
  const drawn = flowsByTable(edges)
  const counts = [...tables.keys()].flatMap((id): (readonly [string, number])[] => {
    const left = (flowCounts.get(id) ?? 0) - (drawn.get(id)?.size ?? 0)
    return ids.has(id) && left > 0 ? [[id, left]] : []
  })
  return new Map(counts)
}
