import type { RequestContext } from '../../domain/audit.ts'
import { sha256Hex } from '../../lib/sha256.ts'
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
const HASH_DIGITS = 12

/** A sink that a pipeline begins to write. */
export interface MaintainedSink {
  readonly table: string
  readonly context: RequestContext
}

/**
 * Creates the policy that compacts a sink whenever its small files and deletes add up, in the transaction that starts the pipeline. A sink
 * that has this policy keeps it as it is. Throws as {@link missingSinkPolicy}.
 */
export async function maintainSink(deps: PolicyChangeDeps, tx: Tx, { table, context }: MaintainedSink): Promise<void> {
  const request = await missingSinkPolicy(tx, table)
  if (request !== undefined) await insertPolicy(deps, tx, { request, context })
}

/**
 * The policy that a sink still needs; undefined when it has it. Throws `CONFLICT` when another policy with as high a priority compacts the
 * sink, or has the name, and `INVALID_REQUEST` when the sink's name cannot be written as a pattern. Errors name `maintain_sink`.
 */
export async function missingSinkPolicy(tx: Tx, table: string): Promise<PolicyRequest | undefined> {
  if (table.includes('*'))
    throw refuse('INVALID_REQUEST', `cannot be true: in policies, the * in ${table} stands for any characters`)
  const request = sinkPolicy(table)
  const policies = await createPolicyStore(tx).list()
  const { policy } = governingPolicies(policies, table).find(({ operation }) => operation === 'compact') ?? {}
  if (policy?.settings.name === request.name) return undefined
  if (policy !== undefined && policy.settings.priority >= PRIORITY) {
    throw refuse('CONFLICT', `cannot be true: policy “${policy.settings.name}” already compacts ${table}`)
  }
  if (policies.some(({ settings }) => settings.name === request.name)) {
    throw refuse('CONFLICT', `cannot be true: policy “${request.name}” exists, and does not compact ${table}`)
  }
  return request
}

function sinkPolicy(table: string): PolicyRequest {
  return {
    name: policyName(table),
    tables: [table],
    priority: PRIORITY,
    operations: [{ operation: 'compact' }],
    when: { health_below: LEAST_HEALTH, small_files_over: SMALL_FILES, delete_ratio_over: DELETE_RATIO },
    mode: 'active',
  }
}

/** Names of policies have fewer characters than names of tables: what is left out is told apart by a hash. */
function policyName(table: string): string {
  const plain = `sink ${table}`.replaceAll(/[^A-Za-z0-9 ._-]/g, '_')
  if (plain === `sink ${table}` && plain.length <= MAX_NAME) return plain
  const hash = sha256Hex(table).slice(0, HASH_DIGITS)
  return `${plain.slice(0, MAX_NAME - HASH_DIGITS - 1)}-${hash}`
}

function refuse(code: 'CONFLICT' | 'INVALID_REQUEST', message: string) {
  return fieldRefusal(code, [{ path: 'maintain_sink', message }])
}
