import type { EnvironmentSettings } from '../../api/types.ts'
import { environmentRules as words } from '../../strings/environments.ts'
import { policies } from '../../strings/policies.ts'

/** What a move into the environment needs, each in a few words. */
export function approvalTexts({ approvals }: EnvironmentSettings): readonly string[] {
  if (approvals === null) return [words.noApproval]
  return [
    words.required(approvals.required),
    ...(approvals.forbid_self ? [words.forbidSelf] : []),
    ...(approvals.expires_after === null ? [] : [words.expires(approvals.expires_after)]),
  ]
}

/** When versions may move into the environment and be deployed there, a line for each window. */
export function windowTexts({ windows }: EnvironmentSettings): readonly string[] {
  return windows.map(({ kind, days, from, to, timezone, dates }) => {
    const which = days.length === 7 ? policies.everyDay : days.map((day) => policies.days[day]).join(', ')
    const time = `${which}, ${policies.window(from, to, timezone)}`
    return words.window(words.kinds[kind], dates === null ? time : words.onDates(time, dates.join(', ')))
  })
}

/** When a deployment is rolled back by itself. */
export function rollbackText({ rollback_if: rule }: EnvironmentSettings): string {
  if (rule === null) return words.noRollback
  const conditions = [
    rule.failed_batches !== null && words.failedBatches(rule.failed_batches),
    rule.lag_over !== null && words.lagOver(rule.lag_over),
  ].filter((text) => text !== false)
  return words.rollbackIf(conditions, rule.within)
}
