import { mayBeSameTable } from '../../catalog/table-identifier.ts'
import type { RunEnvironment } from '../../domain/environments.ts'
import type { PipelineGraph } from '../../domain/graph.ts'
import { matchesGlob } from '../../domain/tables/table-globs.ts'
import type { TouchedColumn } from '../../maintenance/evolve.ts'
import type { ColumnUse } from '../../maintenance/table-guard.ts'
import type { LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import { type ColumnUsesDeps, nodesUsing, TABLE_FIELDS } from '../../streaming/graph/column-uses.ts'
import { type ParameterValues, textParts } from '../../streaming/graph/parameter-text.ts'
import type { EnvironmentService } from '../environments/environment-service.ts'

/** Environments whose versions must not break. */
const GUARDED = ['uat', 'production'] as const satisfies readonly RunEnvironment[]

export interface VersionsUsingDeps extends ColumnUsesDeps {
  readonly stores: LifecycleStores
  readonly environments: EnvironmentService
}

/**
 * Versions in uat and production that would break when the columns are renamed or dropped, by definition and number; each
 * with the parameters of its environment. A table name that cannot be resolved counts for every table that it could name.
 */
export async function versionsUsing(
  table: string,
  columns: readonly TouchedColumn[],
  { stores, environments, ...deps }: VersionsUsingDeps,
): Promise<readonly ColumnUse[]> {
  const uses: ColumnUse[] = []
  const parameters = new Map<string, ParameterValues>()
  for (const view of await environments.list()) parameters.set(view.environment, view.parameters)
  for await (const { id, graph, definitionName, version, environment } of stores.versions.inEnvironments(GUARDED)) {
    const resolved = environments.resolveForDisplay(graph, parameters.get(environment) ?? {})
    const asked = assumed(resolved.graph, resolved.problems, table)
    if (!namesTable(asked, table)) continue
    for (const column of columns) {
      const nodeIds = await nodesUsing(asked, { table, path: column.path }, deps)
      if (nodeIds.length === 0) continue
      uses.push({ column, user: { kind: 'version', id, definition: definitionName, version, environment, nodeIds } })
    }
  }
  return uses
}

function namesTable({ nodes }: PipelineGraph, table: string): boolean {
  return nodes.some(({ config }) =>
    TABLE_FIELDS.some((field) => typeof config[field] === 'string' && mayBeSameTable(config[field], table)),
  )
}

/** The graph, in which nodes with a problem name the table if their own text could. */
function assumed(
  graph: PipelineGraph,
  problems: readonly { readonly nodeId: string | null }[],
  table: string,
): PipelineGraph {
  if (problems.length === 0) return graph
  const unresolved = new Set(problems.map(({ nodeId }) => nodeId))
  const nodes = graph.nodes.map((node) => {
    if (!unresolved.has(node.id)) return node
    const fields = TABLE_FIELDS.filter((field) => couldName(node.config[field], table))
    return { ...node, config: { ...node.config, ...Object.fromEntries(fields.map((field) => [field, table])) } }
  })
  return { ...graph, nodes }
}

function couldName(text: unknown, table: string): boolean {
  if (typeof text !== 'string') return false
  const pattern = textParts(text).map((part) => (part.kind === 'text' ? part.text : '*'))
  return matchesGlob(pattern.join('').toLowerCase(), table.toLowerCase())
}
