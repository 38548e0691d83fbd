import type { RequestContext } from '../../domain/audit.ts'
import { fieldRefusal } from '../../schemas/issues.ts'
import type { PolicyRequest } from '../../schemas/policies.ts'
import { createPolicyStore } from '../../storage/stores/policies/policy-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import { governingPolicies } from './governance.ts'
import { insertPolicy, type PolicyChangeDeps } from './policy-changes.ts'

/** Above the default, so that a policy for many tables does not decide about the sink. */
const PRIORITY = 200
/** A batch leaves one file or more, and a merge leaves deletes. */
const SMALL_FILES = 50
const DELETE_RATIO = 0.1
const LEAST_HEALTH = 80
const MAX_NAME = 100

/** A sink that a pipeline begins to write. */
export interface MaintainedSink {
  readonly table: string
  readonly context: RequestContext
}

/**
 * Creates the policy that compacts a sink whenever its small files and deletes add up, in the transaction that starts the pipeline. A sink
 * that has this policy keeps it as it is. Throws `CONFLICT` when another policy with as high a priority compacts the sink, and
 * `INVALID_REQUEST` when its name cannot be written as a pattern.
 */
export async function maintainSink(deps: PolicyChangeDeps, tx: Tx, { table, context }: MaintainedSink): Promise<void> {
  if (table.includes('*'))
    throw refuse('INVALID_REQUEST', `cannot be true: in policies, the * in ${table} stands for any characters`)
  const request = sinkPolicy(table)
  const governing = governingPolicies(await createPolicyStore(tx).list(), table)
  const { policy } = governing.find(({ operation }) => operation === 'compact') ?? {}
  if (policy?.settings.name === request.name) return
  if (policy !== undefined && policy.settings.priority >= PRIORITY) {
    throw refuse('CONFLICT', `cannot be true: policy “${policy.settings.name}” already compacts ${table}`)
  }
  await insertPolicy(deps, tx, { request, context })
}

function sinkPolicy(table: string): PolicyRequest {
  return {
    name: `sink ${table}`.replaceAll(/[^A-Za-z0-9 ._-]/g, '_').slice(0, MAX_NAME),
    tables: [table],
    priority: PRIORITY,
    operations: [{ operation: 'compact' }],
    when: { health_below: LEAST_HEALTH, small_files_over: SMALL_FILES, delete_ratio_over: DELETE_RATIO },
    mode: 'active',
  }
}

function refuse(code: 'CONFLICT' | 'INVALID_REQUEST', message: string) {
  return fieldRefusal(code, [{ path: 'maintain_sink', message }])
}
