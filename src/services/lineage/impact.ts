import { type ChangedPart, findTableUse, type TableUse } from '../../domain/tables/table-use.ts'
import type { changeImpact } from '../../schemas/lineage.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { LineageEdge, LineageNode, LineageView } from './lineage-view.ts'

/** Who reads or writes a table or column that is about to change, nearest first; `impact` in the details of a preview. */
export type Impact = Wire<typeof changeImpact>

/** Pipelines and versions that an impact lists. */
export const MAX_AFFECTED = 200

/** The impact of a change, from the lineage one step around the table; with `column` the lineage has columns. */
export function impactOf(lineage: LineageView, part: ChangedPart): Impact {
  const { nodes, edges, truncated, similar_tables } = lineage
  const used = nodes.flatMap((node) => {
    const use = findTableUse(edges, node.id, part)
    return use.reads === null && use.writes === null ? [] : (affectedFlow(node, { use, nodes, edges }) ?? [])
  })
  return {
    column: part.column ?? null,
    used_by: used.slice(0, MAX_AFFECTED),
    truncated: truncated || used.length > MAX_AFFECTED,
    similar_tables,
  }
}

interface Known {
  readonly use: TableUse
  readonly nodes: readonly LineageNode[]
  readonly edges: readonly LineageEdge[]
}

function affectedFlow(node: LineageNode, { use, nodes, edges }: Known): Impact['used_by'][number] | undefined {
  if (node.kind === 'version') {
    const { definition_name: definition, version, environment } = node
    return { pipeline_id: null, state: null, definition, version, environment, ...use }
  }
  if (node.kind !== 'pipeline') return undefined
  const { pipeline_id, state, environment } = node
  const versionId = edges.find(({ kind, to }) => kind === 'runs' && to === node.id)?.from
  const run = nodes.find(({ id }) => id === versionId)
  const isKnown = run?.kind === 'version'
  const definition = isKnown ? run.definition_name : null
  return { pipeline_id, state, definition, version: isKnown ? run.version : null, environment, ...use }
}
