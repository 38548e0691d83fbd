import type { Policy, PolicyDecision, PolicyPreview } from '../../api/types.ts'
import { currentDecisions, whyText } from '../policies/policy-words.ts'

type PlannedRun = PolicyPreview['runs'][number]

/** A run that a policy plans, from the tables as they are now. */
export interface NextRun {
  readonly policy: Pick<Policy, 'id' | 'name'>
  readonly operation: string
  readonly table: string
  /** When the run may start, RFC 3339; null: not within 24 hours. */
  readonly at: string | null
  readonly why: string
  /** `deferred`: the policy waits, `would_run`: the policy is in shadow mode, `running`: the run starts at its time. */
  readonly outcome: 'deferred' | 'would_run' | 'running'
}

/**
 * The planned runs of a policy. A preview knows no cooldowns, so that the latest decision about a run gives its time and
 * reason while the policy defers the run.
 */
export function nextRuns(
  policy: Policy,
  runs: readonly PlannedRun[],
  decisions: readonly PolicyDecision[],
): readonly NextRun[] {
  const latest = new Map(currentDecisions(decisions).map((decision) => [keyOf(decision), decision]))
  return runs.map(({ operation, table, at, detail }) => {
    const decision = latest.get(keyOf({ operation, table }))
    if (decision?.outcome === 'deferred') {
      return { policy, operation, table, at: decision.not_before, why: whyText(decision), outcome: 'deferred' }
    }
    return { policy, operation, table, at, why: detail, outcome: policy.mode === 'active' ? 'running' : 'would_run' }
  })
}

/** Orders runs by their time; runs without a time come last. */
export function byTime({ at: a }: NextRun, { at: b }: NextRun): number {
  if (a === b) return 0
  if (a === null) return 1
  if (b === null) return -1
  return a < b ? -1 : 1
}

function keyOf({ operation, table }: { readonly operation: string; readonly table: string }): string {
  return `${operation} ${table}`
}
