import type { PipelineGraph, PipelineNode } from '../../domain/graph.ts'
import type { ReadMode, SinkWrite } from '../../domain/pipelines/modes.ts'
import { check, fieldErrors, sentenceOf } from '../../schemas/issues.ts'
import {
  isNodeType,
  NODE_TYPE_INFO,
  NODE_TYPES,
  nodeConfigs,
  type NodeSpec,
  type NodeType,
} from '../../schemas/node-types.ts'
import { graphError, type GraphProblem } from './graph-problem.ts'

/** A node that leads to the sink, with its input nodes in the order of the edges. */
export type PlannedNode = NodeSpec & { readonly id: string; readonly inputs: readonly string[] }

/** What a graph does, as far as its structure shows. */
export interface GraphPlan {
  /** Every node after its inputs; the sink is last. */
  readonly nodes: readonly PlannedNode[]
  /** The tables that are read, each once. */
  readonly sources: readonly string[]
  /** What is read of each. */
  readonly reads: readonly SourceRead[]
  readonly sink: string
  readonly write: SinkWrite
  /** The tables of lookup nodes, each once. */
  readonly lookups: readonly string[]
  /** The tables that get diverted rows, each once. */
  readonly diverts: readonly string[]
}

/** Whether a graph reads changes of a table. */
export function followsChanges({ reads }: Pick<GraphPlan, 'reads'>): boolean {
  return reads.some(({ mode }) => mode === 'changes')
}

/** What is read of a table. */
export interface SourceRead {
  readonly mode: ReadMode
  /** Columns by which an inserted and a deleted row are an update. */
  readonly key: readonly string[]
}

export interface PlannedGraph {
  /** Undefined when the problems prevent the graph from running. */
  readonly plan: GraphPlan | undefined
  readonly problems: readonly GraphProblem[]
}

/**
 * Plans a graph without cycles (docs/api.md#pipeline-definitions): exactly one sink, and all nodes that
 * lead to it, with their configs checked. Nodes that do not lead to the sink become warnings.
 */
export function planGraph(graph: PipelineGraph): PlannedGraph {
  const sinks = graph.nodes.filter(({ type }) => type === 'iceberg-sink')
  const [sink] = sinks
  if (sink === undefined) {
    return { plan: undefined, problems: [graphError(null, 'NO_SINK', 'the graph has no iceberg-sink node')] }
  }
  if (sinks.length > 1) {
    const problems = sinks.map(({ id }) => graphError(id, 'SEVERAL_SINKS', 'a pipeline has one iceberg-sink node'))
    return { plan: undefined, problems }
  }
  const inputs = inputsByNode(graph)
  const order = upstream(sink.id, inputs)
  const byId = new Map(graph.nodes.map((node) => [node.id, node]))
  const problems: GraphProblem[] = []
  const nodes = order.flatMap((id) => {
    const node = byId.get(id)
    const planned = node && planNode(node, inputs.get(id) ?? [], problems)
    return planned ? [planned] : []
  })
  problems.push(...outputProblems(graph, new Set(order)), ...unused(graph, new Set(order)))
  const reads = sourceReads(nodes, problems)
  const target = nodes.find((node) => node.type === 'iceberg-sink')
  const write = target?.type === 'iceberg-sink' ? sinkWrite(target, problems) : undefined
  const isWrong = problems.some(({ severity }) => severity === 'error')
  if (isWrong || target?.type !== 'iceberg-sink' || write === undefined) return { plan: undefined, problems }
  const lookups = nodes.flatMap((node) => (node.type === 'lookup' ? [node.config.table] : []))
  const diverts = nodes.flatMap((node) => divertTable(node) ?? [])
  const plan = {
    nodes,
    sources: [...reads.keys()],
    reads: [...reads.values()],
    sink: target.config.table,
    write,
    lookups: [...new Set(lookups)],
    diverts: [...new Set(diverts)],
  }
  return { plan, problems }
}

/** The table that gets the rows that a node diverts. */
export function divertTable(node: PlannedNode): string | undefined {
  return node.type === 'check' ? node.config.divert_to : undefined
}

/** What is read of each table, by its name: a batch reads a table once. */
function sourceReads(nodes: readonly PlannedNode[], problems: GraphProblem[]): ReadonlyMap<string, SourceRead> {
  const reads = new Map<string, SourceRead>()
  for (const node of nodes) {
    if (node.type !== 'iceberg-source') continue
    const { table, read: mode, key = [] } = node.config
    const problem = readProblem(table, { mode, key }, reads)
    if (problem !== undefined) problems.push(graphError(node.id, 'INVALID_CONFIG', problem))
    if (!reads.has(table)) reads.set(table, { mode, key })
  }
  return reads
}

/** Why a table cannot be read so beside the others; undefined when it can. */
function readProblem(
  table: string,
  { mode, key }: SourceRead,
  others: ReadonlyMap<string, SourceRead>,
): string | undefined {
  if (mode === 'appends' && key.length > 0) return 'key: only changes have one'
  const known = others.get(table)
  if (known !== undefined && (known.mode !== mode || known.key.join('\n') !== key.join('\n'))) {
    return `read: another node reads ${table} in another way`
  }
  if (mode === 'appends') return undefined
  const [followed] = [...others].find(([name, read]) => name !== table && read.mode === 'changes') ?? []
  return followed && `read: changes of ${followed} are read already, and changes of two tables have no common order`
}

function sinkWrite(
  { id, config }: Extract<PlannedNode, { type: 'iceberg-sink' }>,
  problems: GraphProblem[],
): SinkWrite | undefined {
  const { write: mode, key } = config
  if (mode === 'append') {
    if (key === undefined) return { mode }
    problems.push(graphError(id, 'INVALID_CONFIG', 'key: rows that are appended need none'))
  } else if (key !== undefined) return { mode, key }
  else problems.push(graphError(id, 'INVALID_CONFIG', `key: is required for ${mode}`))
  return undefined
}

function inputsByNode({ edges }: PipelineGraph): ReadonlyMap<string, readonly string[]> {
  const inputs = new Map<string, string[]>()
  for (const { source, target } of edges) {
    const known = inputs.get(target)
    if (known) known.push(source)
    else inputs.set(target, [source])
  }
  return inputs
}

/** The node and all nodes that lead to it, each after its inputs. */
function upstream(id: string, inputs: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>()
  const waiting = [{ id, next: 0 }]
  while (waiting.length > 0) {
    const top = waiting.at(-1)
    if (top === undefined) break
    const before = inputs.get(top.id)?.[top.next]
    top.next += 1
    if (before === undefined) {
      done.add(top.id)
      waiting.pop()
    } else if (!done.has(before)) waiting.push({ id: before, next: 0 })
  }
  return [...done]
}

function planNode(
  { id, type, config }: PipelineNode,
  inputs: readonly string[],
  problems: GraphProblem[],
): PlannedNode | undefined {
  if (!isNodeType(type)) {
    problems.push(
      graphError(id, 'UNKNOWN_NODE_TYPE', `nodes of type "${type}" cannot run; use ${NODE_TYPES.join(', ')}`),
    )
    return undefined
  }
  const wrong = wrongInputs(type, inputs)
  if (wrong !== undefined) {
    const code =
      type === 'iceberg-source' || inputs.length > 0 || NODE_TYPE_INFO[type].inputs.min > 1
        ? 'WRONG_INPUTS'
        : 'NO_SOURCE'
    problems.push(graphError(id, code, wrong))
  }
  const parsed = check(nodeConfigs[type], config)
  if (!parsed.success) {
    for (const error of fieldErrors(parsed.error.issues)) {
      problems.push(graphError(id, 'INVALID_CONFIG', sentenceOf(error, 'the configuration')))
    }
    return undefined
  }
  // The schema belongs to the type.
  return { id, type, config: parsed.data, inputs } as PlannedNode
}

function wrongInputs(type: NodeType, inputs: readonly string[]): string | undefined {
  const { min, max } = NODE_TYPE_INFO[type].inputs
  if (new Set(inputs).size < inputs.length) return 'two edges come from the same node'
  if (inputs.length >= min && (max === null || inputs.length <= max)) return undefined
  const needed = min === max ? `${min}` : `at least ${min}`
  return `${type} takes ${needed} input${needed === '1' ? '' : 's'}, but this node has ${inputs.length}`
}

function outputProblems({ edges, nodes }: PipelineGraph, used: ReadonlySet<string>): GraphProblem[] {
  const types = new Map(nodes.map(({ id, type }) => [id, type]))
  return edges
    .filter(({ source, target }) => types.get(source) === 'iceberg-sink' && used.has(source) && source !== target)
    .map(({ source }) => graphError(source, 'WRONG_INPUTS', 'an iceberg-sink cannot have outgoing edges'))
}

function unused({ nodes }: PipelineGraph, used: ReadonlySet<string>): GraphProblem[] {
  return nodes
    .filter(({ id }) => !used.has(id))
    .map(({ id }) => ({
      nodeId: id,
      code: 'UNUSED_NODE',
      message: 'no path leads from this node to the sink, so it has no effect',
      severity: 'warning',
    }))
}
