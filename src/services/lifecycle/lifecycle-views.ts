import { diffGraphs } from '../../domain/graph-diff.ts'
import type { ApprovalSummary } from '../../storage/stores/approval-store.ts'
import type { DefinitionRecord } from '../../storage/stores/definition-store.ts'
import type { VersionRecord, VersionSummary } from '../../storage/stores/version-store.ts'

/** A definition as the API returns it. */
export function definitionView(definition: DefinitionRecord) {
  return {
    id: definition.id,
    name: definition.name,
    description: definition.description,
    created_by: definition.createdBy,
    created_at: definition.createdAt,
    updated_at: definition.updatedAt,
  }
}

/** A version without its content. */
export function versionSummaryView(version: VersionSummary) {
  return {
    id: version.id,
    definition_id: version.definitionId,
    version: version.version,
    format_version: version.formatVersion,
    environment: version.environment,
    content_hash: version.contentHash,
    node_count: version.nodeCount,
    edge_count: version.edgeCount,
    created_by: version.createdBy,
    created_at: version.createdAt,
    updated_at: version.updatedAt,
  }
}

/** A version with its content. */
export function versionView(version: VersionRecord) {
  return { ...versionSummaryView(version), nodes: version.graph.nodes, edges: version.graph.edges }
}

/** An approval request without snapshot and diff. */
export function approvalView(request: ApprovalSummary) {
  const decision = request.status === 'pending' ? undefined : request
  return {
    id: request.id,
    definition_id: request.definitionId,
    definition_name: request.definitionName,
    version_id: request.versionId,
    version: request.version,
    from_environment: request.fromEnvironment,
    to_environment: request.toEnvironment,
    status: request.status,
    requested_by: request.requestedBy,
    requested_at: request.requestedAt,
    decided_by: decision?.decidedBy ?? null,
    decided_at: decision?.decidedAt ?? null,
    reason: decision?.reason ?? null,
    content_hash: request.contentHash,
  }
}

const NOTHING = { nodes: [], edges: [] }

/** The differences between two versions; without `from`, everything is added. */
export function diffView(from: VersionRecord | undefined, to: VersionRecord) {
  return {
    from: from ? compared(from) : null,
    to: compared(to),
    identical: from?.contentHash === to.contentHash,
    ...diffGraphs(from?.graph ?? NOTHING, to.graph),
  }
}

function compared({ id, version, environment, contentHash }: VersionSummary) {
  return { id, version, environment, content_hash: contentHash }
}

/** What every Auditor may see of a request: all but the text of the decision. */
export function approvalEventData(request: ApprovalSummary) {
  const { id: _, reason: __, content_hash: ___, ...data } = approvalView(request)
  return data
}

export type DefinitionView = ReturnType<typeof definitionView>
export type VersionSummaryView = ReturnType<typeof versionSummaryView>
export type VersionView = ReturnType<typeof versionView>
export type ApprovalView = ReturnType<typeof approvalView>
export type DiffView = ReturnType<typeof diffView>
