import type { ApprovalStatus } from '../../domain/approvals.ts'
import { diffGraphs } from '../../domain/graph-diff.ts'
import type { ApprovalSummary } from '../../storage/stores/approvals/approval-store.ts'
import type { DefinitionRecord } from '../../storage/stores/definition-store.ts'
import type { VersionRecord, VersionSummary } from '../../storage/stores/version-store.ts'
import type { ApprovalProgress } from './approval-progress.ts'

/** A definition as the API returns it. */
export function definitionView(definition: DefinitionRecord) {
  return {
    id: definition.id,
    name: definition.name,
    description: definition.description,
    managed_by: definition.managedBy ?? null,
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
export function approvalView(request: ApprovalSummary, progress: ApprovalProgress) {
  const decision = request.status === 'pending' ? undefined : request
  return {
    id: request.id,
    definition_id: request.definitionId,
    definition_name: request.definitionName,
    version_id: request.versionId,
    version: request.version,
    from_environment: request.fromEnvironment,
    to_environment: request.toEnvironment,
    status: statusOf(request),
    approvals_given: progress.given.filter(({ counts }) => counts).length,
    approvals_required: progress.required,
    opens_at: progress.opensAt,
    expires_at: progress.expiresAt,
    requested_by: request.requestedBy,
    requested_at: request.requestedAt,
    decided_by: decision?.decidedBy ?? null,
    decided_at: decision?.decidedAt ?? null,
    reason: decision?.reason ?? null,
    override: decision?.override ?? null,
    content_hash: request.contentHash,
  }
}

/** The status of a request as the API shows it. */
export function statusOf(request: ApprovalSummary): ApprovalStatus {
  return request.status === 'pending' && request.waitingSince !== undefined ? 'waiting_for_window' : request.status
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

/** What every Auditor may see of a request: all but the texts of decisions. */
export function approvalEventData(request: ApprovalSummary, progress: ApprovalProgress) {
  const { id: _, reason: __, content_hash: ___, override, ...data } = approvalView(request, progress)
  return { ...data, overridden_by: override?.by ?? null }
}

export type DefinitionView = ReturnType<typeof definitionView>
export type VersionSummaryView = ReturnType<typeof versionSummaryView>
export type VersionView = ReturnType<typeof versionView>
export type ApprovalView = ReturnType<typeof approvalView>
export type DiffView = ReturnType<typeof diffView>
