import { type PolicyOperation, POLICY_OPERATIONS } from '../../domain/tables/operations.ts'
import { matchesGlob } from '../../domain/tables/table-globs.ts'
import type { PolicySettings } from '../../schemas/policies.ts'
import type { PolicyRecord } from '../../storage/stores/policies/policy-store.ts'

/** An operation of a policy with its options. */
export type ConfiguredOperation = PolicySettings['operations'][number]

/** The policy that governs an operation of a table, and those that it overrides. */
export interface Governing {
  readonly operation: PolicyOperation
  readonly policy: PolicyRecord
  readonly configured: ConfiguredOperation
  readonly overridden: readonly PolicyRecord[]
}

/** Whether a policy names the table. */
export function matchesPolicy({ tables, except }: Pick<PolicySettings, 'tables' | 'except'>, table: string): boolean {
  return tables.some((glob) => matchesGlob(glob, table)) && !except.some((glob) => matchesGlob(glob, table))
}

/**
 * Who governs each operation of a table: of the matching policies that have the operation the one with the highest
 * priority, and of equal ones the first by name. Operations without a policy are left out.
 */
export function governingPolicies(policies: readonly PolicyRecord[], table: string): readonly Governing[] {
  const matching = policies
    .filter(({ settings }) => matchesPolicy(settings, table))
    .toSorted((a, b) => b.settings.priority - a.settings.priority || compareText(a.settings.name, b.settings.name))
  return POLICY_OPERATIONS.flatMap((operation) => {
    const having = matching.filter(({ settings }) => operationOf(settings, operation) !== undefined)
    const [policy, ...overridden] = having
    const configured = policy && operationOf(policy.settings, operation)
    return policy && configured ? [{ operation, policy, configured, overridden }] : []
  })
}

function operationOf({ operations }: PolicySettings, wanted: PolicyOperation): ConfiguredOperation | undefined {
  return operations.find(({ operation }) => operation === wanted)
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
