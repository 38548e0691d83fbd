import { loadIfPresent } from '../../catalog/load-if-present.ts'
import type { RequestContext } from '../../domain/audit.ts'
import type { RunEnvironment } from '../../domain/environments.ts'
import { DomainError } from '../../domain/errors.ts'
import { withoutPaths } from '../../domain/without-paths.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import type { approvedDeployment } from '../../schemas/approvals.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { ApprovalSummary } from '../../storage/stores/approvals/approval-store.ts'
import type { VersionRecord } from '../../storage/stores/version-store.ts'
import { pairColumns } from '../../streaming/graph/sink-columns.ts'
import type { EnvironmentService } from '../environments/environment-service.ts'
import { approvalNotFound } from '../lifecycle/approval-steps.ts'
import type { GraphService, ValidationView } from '../lifecycle/graph-service.ts'
import { diffView } from '../lifecycle/lifecycle-views.ts'
import type { SinkColumnView } from '../pipelines/create-sink-table.ts'
import type { PlanDeps } from './deployment-deps.ts'
import { planDeployment } from './planning/deployment-plan.ts'
import { planView } from './deployment-views.ts'

export interface ApprovedDeploymentDeps extends PlanDeps {
  readonly graphs: Pick<GraphService, 'validate'>
  readonly environments: Pick<EnvironmentService, 'get' | 'resolveForDisplay'>
}

export type ApprovedDeploymentView = Wire<typeof approvedDeployment>

/** The preview of an approval, or why there is none now. */
export interface ApprovalPreview {
  readonly deploys: ApprovedDeploymentView | null
  readonly deploys_unavailable: string | null
}

/** What approvals would deploy (docs/api.md#approvals). */
export interface ApprovedDeployments {
  /**
   * What a deployment of the requested version would change in the target environment; only reads. Nothing for a decided
   * request. A catalog or store that is not available is told in the answer. Throws `NOT_FOUND`.
   */
  preview(requestId: string, context: RequestContext): Promise<ApprovalPreview>
}

const NOTHING: ApprovalPreview = { deploys: null, deploys_unavailable: null }

/** Previews over the current catalog and state. */
export function createApprovedDeployments(deps: ApprovedDeploymentDeps): ApprovedDeployments {
  return {
    async preview(requestId, context) {
      const request = await deps.stores.approvals.find(requestId)
      if (request === undefined) throw approvalNotFound(requestId)
      const { toEnvironment: environment } = request
      if (request.status !== 'pending' || environment === 'retired') return NOTHING
      try {
        return { ...NOTHING, deploys: await describe(deps, { request, environment, context }) }
      } catch (error) {
        if (!(error instanceof DomainError) && !isIcebergError(error)) throw error
        return { ...NOTHING, deploys_unavailable: withoutPaths(error.message) }
      }
    },
  }
}

interface Previewed {
  readonly request: ApprovalSummary & { readonly snapshot: VersionRecord }
  readonly environment: RunEnvironment
  readonly context: RequestContext
}

async function describe(
  deps: ApprovedDeploymentDeps,
  { request, environment, context }: Previewed,
): Promise<ApprovedDeploymentView> {
  const { definitionId, versionId, snapshot } = request
  const validate = (id: string): Promise<ValidationView> =>
    deps.graphs.validate({ definitionId, versionId: id, environment }, context.caller.user)
  const plan = await planDeployment(deps, {
    key: { definitionId, environment },
    action: 'deploy',
    versionId,
    checkpoint: 'continue',
    user: context.caller.user,
    rolloutId: deps.newId('dep'),
    isArriving: true,
  })
  const runningId = plan.deployment?.runningVersionId
  const running = runningId === undefined ? undefined : await deps.stores.versions.find(definitionId, runningId)
  const validation = await validate(versionId)
  const runs = running && (await validate(running.id))
  const { parameters, deploy } = (await deps.environments.get(environment)).value
  return {
    environment,
    deploy,
    plan: planView(plan, running),
    graph: deps.environments.resolveForDisplay(snapshot.graph, parameters).graph,
    diff: running ? diffView(running, snapshot) : null,
    validation,
    sink: await sinkOf(deps, { validation, runs }),
  }
}

interface Validations {
  readonly validation: ValidationView
  readonly runs: ValidationView | undefined
}

async function sinkOf(deps: PlanDeps, { validation, runs }: Validations): Promise<ApprovedDeploymentView['sink']> {
  const { sink_table: table, sink_columns: columns } = validation
  if (table === null || columns === null) return null
  const sink = await loadIfPresent(deps.catalog.current(), table)
  const schema = sink && currentSchema(sink.metadata)
  const written = runs?.sink_table === table ? (runs.sink_columns ?? []) : []
  return { table, exists: schema !== undefined, columns: affectedColumns(schema, { columns, written }) }
}

interface ResultColumns {
  readonly columns: readonly SinkColumnView[]
  /** Of the version that runs. */
  readonly written: readonly SinkColumnView[]
}

function affectedColumns(schema: Schema | undefined, { columns, written }: ResultColumns) {
  if (schema === undefined) {
    return columns.map(({ name, type }) => ({ name, type, in_sink: false, written_now: false, would_write: true }))
  }
  const next = pairColumns(columns, schema)
  const now = pairColumns(written, schema)
  const inSink = next.pairs.map(({ field, partner }, at) => ({
    name: field.name,
    type: formatType(field.type),
    in_sink: true,
    written_now: now.pairs[at]?.partner !== undefined,
    would_write: partner !== undefined,
  }))
  const others = next.others.map(({ name, type }) => ({
    name,
    type,
    in_sink: false,
    written_now: false,
    would_write: true,
  }))
  return [...inSink, ...others]
}
