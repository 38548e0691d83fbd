import type { Graph, Node } from '../../../components/graph/graph.ts'

/** The source tables of a node, without duplicates; for a node with a table, only that table. */
export function sourceTablesOf(graph: Graph, node: Node): string[] {
  const own = tableOf(node)
  return own === undefined ? tablesBefore(graph, node) : [own]
}

/** The tables of a node and of all nodes that lead to it, without duplicates, sorted. */
export function tablesBefore(graph: Graph, node: Node): string[] {
  const byId = new Map(graph.nodes.map((one) => [one.id, one]))
  const seen = new Set<string>()
  const tables = new Set<string>()
  const open = [node.id]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue
    seen.add(id)
    const one = byId.get(id)
    const table = one && tableOf(one)
    if (table !== undefined) tables.add(table)
    for (const { source, target } of graph.edges) if (target === id) open.push(source)
  }
  return [...tables].sort()
}

/** The table of a source or sink; undefined if it is not a valid name. */
function tableOf({ config }: Node): string | undefined {
  const { table } = config
  return typeof table === 'string' && /^[^.]+(\.[^.]+)+$/.test(table) ? table : undefined
}
