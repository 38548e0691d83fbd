import type { Policy, PolicyDecision } from '../../api/types.ts'
import type { StatusTone } from '../../components/status/status-dot.tsx'
import { formatBytes, formatPercent } from '../../strings/everywhere/units.ts'
import { operations } from '../../strings/everywhere/common.ts'
import { policies as words } from '../../strings/policies.ts'

/** The conditions of a policy, each in a few words. */
export function conditionTexts({ when }: Policy): readonly string[] {
  const texts = words.when
  return [
    when.health_below !== undefined && texts.health_below(when.health_below),
    when.small_files_over !== undefined && texts.small_files_over(when.small_files_over),
    when.delete_ratio_over !== undefined && texts.delete_ratio_over(formatPercent(when.delete_ratio_over)),
    when.equality_delete_files_over !== undefined && texts.equality_delete_files_over(when.equality_delete_files_over),
    when.snapshots_over !== undefined && texts.snapshots_over(when.snapshots_over),
    when.commits_since_last_over !== undefined && texts.commits_since_last_over(when.commits_since_last_over),
    when.schedule !== undefined && texts.schedule(when.schedule.cron, when.schedule.timezone),
  ].filter((text) => text !== false)
}

/** When runs of a policy may start. */
export function windowText({ window }: Policy): string {
  if (window === undefined) return words.facts.anyTime
  const days = window.days.length === 7 ? words.everyDay : window.days.map((day) => words.days[day]).join(', ')
  return `${days}, ${words.window(window.from, window.to, window.timezone)}`
}

/** The limits of a policy. */
export function budgetText({ budget }: Policy): string {
  const limits = [
    budget?.bytes_per_hour !== undefined && words.perHour(formatBytes(budget.bytes_per_hour)),
    words.atOnce(budget?.concurrent_operations ?? DEFAULT_AT_ONCE),
  ].filter((text) => text !== false)
  return limits.join(', ')
}

/** What the service does without `concurrent_operations` (docs/api.md#policies). */
const DEFAULT_AT_ONCE = 2

/** The operations of a policy with their options. */
export function operationTexts({ operations: chosen }: Policy): readonly string[] {
  return chosen.map(({ operation, options }) => {
    const name = operations.names[operation] ?? operation
    const given = Object.entries(options ?? {}).map(([key, value]) => `${key} ${JSON.stringify(value)}`)
    return given.length === 0 ? name : `${name} (${given.join(', ')})`
  })
}

/** The color of each outcome. */
export const OUTCOME_TONES: Readonly<Record<PolicyDecision['outcome'], StatusTone>> = {
  running: 'active',
  ran: 'ok',
  failed: 'bad',
  cancelled: 'idle',
  would_run: 'active',
  deferred: 'warn',
  skipped: 'idle',
}

/** Why a decision was made: the reason, and what it waits for. */
export function whyText({ reason, detail }: PolicyDecision): string {
  const short = words.decisions.reasons[reason]
  return short === '' || detail === '' ? short + detail : `${short} (${detail})`
}

/** The decisions that still hold: the latest for each table and operation, out of decisions newest first. */
export function currentDecisions(decisions: readonly PolicyDecision[]): readonly PolicyDecision[] {
  const latest = new Map<string, PolicyDecision>()
  const byTime = decisions.toSorted((a, b) => (a.updated_at < b.updated_at ? 1 : -1))
  for (const decision of byTime) {
    const key = `${decision.operation} ${decision.table}`
    if (!latest.has(key)) latest.set(key, decision)
  }
  return [...latest.values()]
}
