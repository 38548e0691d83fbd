import { DomainError } from '../../domain/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { ApprovalSummary } from '../../storage/stores/approvals/approval-store.ts'
import type { DeploymentStore } from '../../storage/stores/deployments/deployment-store.ts'
import type { LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { VersionSummary } from '../../storage/stores/version-store.ts'
import type { GraphRows, NamedSchema } from '../../streaming/query/graph-query.ts'
import type { CompiledVersion } from '../pipelines/pipeline-deps.ts'
import { baseOf } from './approval-decision.ts'
import type { RehearsalSource, RehearsalTables } from './rehearsal-sources.ts'

/** Compiles a version as it would run in the target environment. */
export type CompileVersion = (versionId: string) => Promise<CompiledVersion>

/** The version in the target environment, and either what it is compiled to or why it cannot run. */
export interface RehearsalBase<Compiled> {
  readonly version: VersionSummary
  /** Whether it runs there; otherwise nothing does, and it is the newest there. */
  readonly isRunning: boolean
  readonly compiled?: Compiled
  readonly problem?: string
}

/** The requested version and the one that it would follow. */
export interface RehearsalPair<Compiled> {
  readonly candidate: Compiled
  /** Undefined: the target environment has no version. */
  readonly base: RehearsalBase<Compiled> | undefined
}

export interface PairDeps {
  readonly stores: LifecycleStores
  readonly deployments: Pick<DeploymentStore, 'find'>
}

/** Compiles both versions. Throws `UNPROCESSABLE` when the requested one cannot run. */
export async function compilePair(
  deps: PairDeps,
  approval: ApprovalSummary,
  compile: CompileVersion,
): Promise<RehearsalPair<CompiledVersion>> {
  const candidate = await compile(approval.versionId)
  const base = await baseVersion(deps, approval)
  if (base === undefined) return { candidate, base }
  try {
    return { candidate, base: { ...base, compiled: await compile(base.version.id) } }
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'UNPROCESSABLE') throw error
    return { candidate, base: { ...base, problem: error.message } }
  }
}

/** The version that runs in the target environment; the newest there if none does. */
async function baseVersion(
  { stores, deployments }: PairDeps,
  approval: ApprovalSummary,
): Promise<Pick<RehearsalBase<never>, 'version' | 'isRunning'> | undefined> {
  const { definitionId, toEnvironment: environment } = approval
  const deployment = environment === 'retired' ? undefined : await deployments.find({ definitionId, environment })
  const running = deployment?.runningVersionId
  const id = running ?? (await baseOf(stores, approval))
  const version = id === undefined ? undefined : await stores.versions.find(definitionId, id)
  return version && { version, isRunning: id === running }
}

/** The queries of both versions over the same tables. Throws `UNPROCESSABLE` when the requested one cannot run. */
export async function queryPair(
  { candidate, base }: RehearsalPair<CompiledVersion>,
  approval: ApprovalSummary,
  tables: RehearsalTables,
): Promise<RehearsalPair<GraphRows>> {
  const named = { sources: tables.sources.map(namedSchema), lookups: tables.lookups.map(namedSchema) }
  const rows = await candidate.query.rowsOver({ ...named, prefix: '' })
  const [problem] = rows.problems
  if (problem !== undefined) throw cannotRun(approval, problem)
  if (base === undefined) return { candidate: rows, base }
  const { compiled, problem: known, ...version } = base
  const baseRows = await compiled?.query.rowsOver({ ...named, prefix: 'base_' })
  const why = known ?? baseRows?.problems[0] ?? (baseRows && otherReading(rows, baseRows))
  if (baseRows === undefined || why !== undefined) return { candidate: rows, base: { ...version, problem: why ?? '' } }
  return { candidate: rows, base: { ...version, compiled: baseRows } }
}

/** Why two versions do not read the same rows; undefined when they do. */
function otherReading(rows: GraphRows, base: GraphRows): string | undefined {
  const isSame = rows.inputs.every(
    ({ changes }, at) => (changes === undefined) === (base.inputs[at]?.changes === undefined),
  )
  return isSame ? undefined : 'one of the versions reads changes of a table, and the other one its rows'
}

function namedSchema({ name, table }: RehearsalSource): NamedSchema {
  return { name, schema: currentSchema(table.metadata) }
}

/** The error for a requested version that cannot run. */
export function cannotRun({ version }: ApprovalSummary, why: string, cause?: Error): DomainError {
  return new DomainError('UNPROCESSABLE', `version ${version} cannot run: ${why}`, cause ? { cause } : {})
}
