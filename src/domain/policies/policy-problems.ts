import { isCronExpression, isTimezone, type PolicySchedule } from './calendar.ts'
import type { PolicyOperation } from '../tables/operations.ts'

/** The parts of a policy that can be well-formed and still mean nothing. */
export interface CheckedPolicy {
  readonly operations: readonly { readonly operation: PolicyOperation }[]
  readonly when: { readonly schedule?: PolicySchedule | undefined }
  readonly window?: { readonly timezone: string } | undefined
}

/** The refusal of a time zone that the platform does not have. */
export const TIMEZONE_RULE = 'must be an IANA time zone such as Europe/Berlin'

/** What is wrong with a well-formed policy, by the path of the member. */
export function policyProblems({ operations, when: { schedule }, window }: CheckedPolicy) {
  const problems: { readonly path: string; readonly message: string }[] = []
  if (new Set(operations.map(({ operation }) => operation)).size < operations.length) {
    problems.push({ path: 'operations', message: 'must have each operation at most once' })
  }
  if (schedule !== undefined && !isCronExpression(schedule.cron)) {
    const message = 'must be a valid cron expression of five fields with a next time, such as 0 3 * * *'
    problems.push({ path: 'when.schedule.cron', message })
  }
  for (const [path, timezone] of [
    ['when.schedule.timezone', schedule?.timezone],
    ['window.timezone', window?.timezone],
  ] as const) {
    if (timezone === undefined || isTimezone(timezone)) continue
    problems.push({ path, message: TIMEZONE_RULE })
  }
  return problems
}
