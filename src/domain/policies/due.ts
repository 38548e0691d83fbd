import { count, percent } from '../../lib/text.ts'
import { nextTime, type PolicySchedule } from './calendar.ts'

/** Conditions of a policy; any of them makes an operation due. */
export interface PolicyConditions {
  readonly health_below?: number | undefined
  readonly small_files_over?: number | undefined
  readonly delete_ratio_over?: number | undefined
  readonly equality_delete_files_over?: number | undefined
  readonly snapshots_over?: number | undefined
  readonly commits_since_last_over?: number | undefined
  readonly schedule?: PolicySchedule | undefined
}

/** What the conditions look at; `score` is undefined for a table that could not be read. */
export interface TableFigures {
  readonly score: number | undefined
  readonly smallFiles: number
  readonly deleteRatio: number
  readonly equalityDeleteFiles: number
  readonly snapshots: number
  /** Grows by one with each commit that adds a snapshot. */
  readonly sequenceNumber: number
}

/** The runs of an operation on a table; times in ms since the epoch. */
export interface RunHistory {
  /** The sequence number after the last run. */
  readonly lastSequence: number | undefined
  /** From when on times of the schedule count. */
  readonly scheduledFromMs: number
}

/** Why an operation is due, in words; undefined when no condition is true. */
export function dueBecause(
  when: PolicyConditions,
  table: TableFigures,
  { history, nowMs }: { readonly history: RunHistory; readonly nowMs: number },
): string | undefined {
  if (table.score === undefined) return undefined
  const { health_below: health } = when
  if (health !== undefined && table.score < health) return `health ${table.score} is below ${health}`
  const commits = commitsSince(table, history)
  return (
    over(table.smallFiles, when.small_files_over, (n) => `${count(n)} small files`) ??
    over(table.deleteRatio, when.delete_ratio_over, (ratio) => `${percent(ratio)} deleted rows`) ??
    over(table.equalityDeleteFiles, when.equality_delete_files_over, (n) => `${count(n)} equality delete files`) ??
    over(table.snapshots, when.snapshots_over, (n) => `${count(n)} snapshots`) ??
    over(commits, when.commits_since_last_over, (n) => `${count(n)} commits since the last run`) ??
    scheduledSince(when.schedule, { fromMs: history.scheduledFromMs, nowMs })
  )
}

/** A number below the one of the last run comes from an older state of the table, which was registered again. */
function commitsSince({ sequenceNumber }: TableFigures, { lastSequence = 0 }: RunHistory): number {
  return lastSequence > sequenceNumber ? sequenceNumber : sequenceNumber - lastSequence
}

/** `12 snapshots are over 10`; undefined when they are not. */
function over(value: number, limit: number | undefined, words: (value: number) => string): string | undefined {
  if (limit === undefined || value <= limit) return undefined
  const shown = limit > 0 && limit < 1 ? percent(limit) : count(limit)
  return `${words(value)} are over ${shown}`
}

function scheduledSince(
  schedule: PolicySchedule | undefined,
  { fromMs, nowMs }: { readonly fromMs: number; readonly nowMs: number },
): string | undefined {
  const at = schedule && nextTime(schedule, fromMs)
  return at === undefined || at > nowMs ? undefined : `scheduled for ${new Date(at).toISOString()}`
}

const LONGEST_COOLDOWN_MS = 30 * 86_400_000

/** The time between two runs: doubled by the second run in a row without effect, and by each further one. */
export function cooldownAfter(cooldownMs: number, runsWithoutEffect: number): number {
  const doublings = Math.min(20, Math.max(0, runsWithoutEffect - 1))
  return Math.min(Math.max(cooldownMs, LONGEST_COOLDOWN_MS), cooldownMs * 2 ** doublings)
}
