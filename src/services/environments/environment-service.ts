import { type ChangeRequest, managerChange, requireManager, type Versioned } from '../../domain/change-request.ts'
import { RUN_ENVIRONMENTS, type RunEnvironment } from '../../domain/environments.ts'
import { DomainError } from '../../domain/errors.ts'
import type { PipelineGraph } from '../../domain/graph.ts'
import { requireVersion } from '../../domain/precondition.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { EnvironmentSettings, EnvironmentView, SetEnvironmentRequest } from '../../schemas/environments.ts'
import { createEnvironmentStore, type EnvironmentRecord } from '../../storage/stores/environment-store.ts'
import type { EnvironmentStore } from '../../storage/stores/environment-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import { type CheckpointRoots, resolveCheckpointLocation } from '../../streaming/checkpoint/location.ts'
import { type ParameterValues, secretName } from '../../streaming/graph/parameter-text.ts'
import { type ResolvedGraph, resolveParameters } from '../../streaming/graph/parameters.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { EventWriter } from '../events/event-log.ts'
import { fieldRefusal } from '../../schemas/issues.ts'
import { DEFAULT_APPROVAL_RULE } from '../../domain/approvals.ts'
import { DEFAULT_SETTINGS, type EnvironmentRules, needsApproval, readRules, requireRules } from './environment-rules.ts'

export interface EnvironmentServiceDeps {
  /** For reading; changes create their own store in a transaction. */
  readonly store: EnvironmentStore
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  /** The value of a variable of the server; undefined when it is not set. Throws `INVALID_ARGUMENT` for a forbidden name. */
  readonly secretOf: (name: string) => string | undefined
  /** Folders that may contain checkpoints. */
  readonly roots: () => CheckpointRoots
  readonly now: () => Date
}

/** Settings of the environments in which versions run (docs/api.md#environments). */
export interface EnvironmentService {
  /** All of them, development first; secrets as `env:NAME`. */
  list(): Promise<readonly EnvironmentView[]>
  get(environment: RunEnvironment): Promise<Versioned<EnvironmentView>>
  /** The rules for moves and deployments; in a transaction, use `readRules`. */
  rules(environment: RunEnvironment): Promise<EnvironmentRules>
  /**
   * Changes the given members, which are replaced; members of `defaults` one by one. Throws `PRECONDITION_FAILED`, `MANAGED`, and
   * `UNPROCESSABLE` for a variable that parameters must not read, a `checkpoint_root` outside of the warehouse and
   * `LOCKHOUSE_HOME`, or rules that mean nothing.
   */
  update(
    environment: RunEnvironment,
    change: SetEnvironmentRequest,
    changeRequest: ChangeRequest,
  ): Promise<Versioned<EnvironmentView>>
  /** A graph with these parameters, and the values of its secrets: never show them. */
  resolve(graph: PipelineGraph, parameters: ParameterValues): ResolvedGraph
  /** The same to show: secrets as `env:NAME`, whether they are set or not. */
  resolveForDisplay(graph: PipelineGraph, parameters: ParameterValues): ResolvedGraph
}

/** Settings of environments in the state database. */
export function createEnvironmentService(deps: EnvironmentServiceDeps): EnvironmentService {
  const { store, secretOf } = deps
  return {
    async list() {
      const stored = new Map((await store.list()).map((record) => [record.environment, record]))
      return RUN_ENVIRONMENTS.map((environment) => viewOf(environment, stored.get(environment)))
    },
    get: async (environment) => versioned(viewOf(environment, await store.find(environment))),
    rules: (environment) => readRules(store, environment),
    update: (environment, change, changeRequest) => update(deps, environment, { change, changeRequest }),
    resolve: (graph, parameters) => resolveParameters(graph, { parameters, secretOf }),
    resolveForDisplay: (graph, parameters) =>
      resolveParameters(graph, { parameters, secretOf: (name) => `env:${name}` }),
  }
}

async function update(
  deps: EnvironmentServiceDeps,
  environment: RunEnvironment,
  { change, changeRequest }: { readonly change: SetEnvironmentRequest; readonly changeRequest: ChangeRequest },
): Promise<Versioned<EnvironmentView>> {
  requireReadable(change.parameters ?? {}, deps.secretOf)
  requireRules(environment, change, deps.now())
  await requireCheckpointRoot(change.defaults?.checkpoint_root, deps.roots)
  return deps.inTransaction(async (tx) => {
    const store = createEnvironmentStore(tx)
    const old = await store.find(environment)
    requireVersion(changeRequest.precondition, old?.revision ?? 0)
    const managedBy = nextManager(old, changeRequest)
    const before = { ...DEFAULT_SETTINGS, ...old?.settings }
    const record: EnvironmentRecord = {
      environment,
      settings: merged(before, change),
      managedBy,
      revision: (old?.revision ?? 0) + 1,
      updatedAt: deps.now().toISOString(),
    }
    if (!(await store.save(record))) requireVersion(() => false, '')
    const object = { objectType: 'environment', objectId: environment } as const
    const action = 'environment.update'
    const details = { before, after: record.settings, ...managerChange(old?.managedBy, managedBy) }
    await deps.audit.record(tx, { ...changeRequest.context, action, ...object, details })
    const data = { environment, fields: Object.keys(change), revision: record.revision }
    await deps.events.append(tx, { type: 'environment.updated', ...object, data })
    return versioned(viewOf(environment, record))
  })
}

/** An environment that nobody ever changed may be taken without adopting it. */
function nextManager(old: EnvironmentRecord | undefined, { manager }: ChangeRequest): string | undefined {
  return old === undefined ? manager?.name : requireManager(old.managedBy, manager)
}

function merged(before: EnvironmentSettings, change: SetEnvironmentRequest): EnvironmentSettings {
  return {
    parameters: change.parameters ?? before.parameters,
    writes: change.writes ?? before.writes,
    deploy: change.deploy ?? before.deploy,
    defaults: mergedDefaults(before.defaults, change.defaults ?? {}),
    approvals: change.approvals === undefined ? before.approvals : change.approvals,
    windows: change.windows ?? before.windows,
    rollback_if: change.rollback_if === undefined ? before.rollback_if : change.rollback_if,
  }
}

function mergedDefaults(
  before: EnvironmentSettings['defaults'],
  change: NonNullable<SetEnvironmentRequest['defaults']>,
): EnvironmentSettings['defaults'] {
  return {
    trigger_interval: change.trigger_interval ?? before.trigger_interval,
    checkpoint_root: change.checkpoint_root ?? before.checkpoint_root,
    max_files_per_batch: change.max_files_per_batch ?? before.max_files_per_batch,
    max_bytes_per_batch: change.max_bytes_per_batch ?? before.max_bytes_per_batch,
    engine: change.engine ?? before.engine,
  }
}

/** Refuses a folder below which no pipeline could have its checkpoint. */
async function requireCheckpointRoot(root: string | undefined, roots: () => CheckpointRoots): Promise<void> {
  if (root === undefined) return
  try {
    await resolveCheckpointLocation(`${root.replace(/\/+$/, '')}/checkpoint`, roots(), [])
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'INVALID_REQUEST') throw error
    const path = 'defaults.checkpoint_root'
    const message = error.fields?.[0]?.message ?? error.message
    throw fieldRefusal('UNPROCESSABLE', [{ path, message }])
  }
}

/** Refuses variables that the rule forbids; one that is not set yet is accepted, and is a problem when a version uses it. */
function requireReadable(parameters: ParameterValues, secretOf: EnvironmentServiceDeps['secretOf']): void {
  const fields = Object.entries(parameters).flatMap(([name, value]) => {
    const variable = secretName(value)
    if (variable === undefined || isReadable(variable, secretOf)) return []
    const message = `env:${variable} cannot be read: only names that start with LAKE_, or are listed in CONFIG_ENV_ALLOW, can be used`
    return [{ path: `parameters.${name}`, message }]
  })
  const [first, ...others] = fields
  if (first) throw fieldRefusal('UNPROCESSABLE', [first, ...others])
}

function isReadable(variable: string, secretOf: EnvironmentServiceDeps['secretOf']): boolean {
  try {
    secretOf(variable)
    return true
  } catch (error) {
    if (isIcebergError(error, 'INVALID_ARGUMENT')) return false
    throw error
  }
}

function viewOf(environment: RunEnvironment, record: EnvironmentRecord | undefined): EnvironmentView {
  const { managedBy = null, revision = 0, updatedAt = null } = record ?? {}
  const settings = { ...DEFAULT_SETTINGS, ...record?.settings }
  const approvals = needsApproval(environment) ? (settings.approvals ?? DEFAULT_APPROVAL_RULE) : null
  return { environment, ...settings, approvals, managed_by: managedBy, revision, updated_at: updatedAt }
}

function versioned(value: EnvironmentView): Versioned<EnvironmentView> {
  return { value, tag: value.revision }
}
