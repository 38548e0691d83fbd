import { isOpen, nextOpening } from '../../domain/policies/calendar.ts'
import type { PolicySettings, policyPreview } from '../../schemas/policies.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { TableHealth } from '../../storage/stores/tables/health-index-store.ts'
import type { PolicyRecord } from '../../storage/stores/policies/policy-store.ts'
import { actionOf, dueReason, isKnownWork, nextScheduled, plannedBytes } from './assess.ts'
import { governingPolicies, type Governing, matchesPolicy } from './governance.ts'
import type { PolicyDeps } from './policy-deps.ts'

type Preview = Wire<typeof policyPreview>
type PlannedRun = Preview['runs'][number]

const MAX_LISTED = 1000
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/**
 * What a policy would do in the next 24 hours, from the health index: tables as they are now, without future commits.
 * The policy takes the place of the stored one with its name.
 */
export async function previewPolicy(
  { policies, index, now }: Pick<PolicyDeps, 'policies' | 'index' | 'now'>,
  settings: PolicySettings,
): Promise<Preview> {
  const nowMs = now().getTime()
  const candidate = candidateOf(settings, nowMs)
  const others = (await policies.list()).filter((policy) => policy.settings.name !== settings.name)
  const calendar = new Calendar(settings, nowMs)
  const sum = newSummary()
  for await (const rows of index.walk()) {
    for (const row of rows) {
      if (!matchesPolicy(settings, row.table_name)) continue
      const own = governingPolicies([...others, candidate], row.table_name).filter(({ policy }) => policy === candidate)
      if (own.length === 0) addElsewhere(sum, governors(others, settings, row.table_name))
      const isMaintained = !row.is_off && row.score !== null
      const runs = (isMaintained ? own : []).flatMap(
        (governing) => plannedRun({ governing, row, nowMs, calendar }) ?? [],
      )
      addTable(sum, row, runs)
    }
  }
  return {
    success: true,
    matched_count: sum.matched,
    matched_tables: sum.tables,
    governed_elsewhere_count: sum.elsewhere,
    governed_elsewhere_by: [...sum.governors]
      .map(([policy, tables]) => ({ policy, tables }))
      .toSorted((a, b) => b.tables - a.tables),
    runs: sum.runs,
    runs_count: sum.runsCount,
    planned_bytes: sum.bytes,
    mean_score: mean(sum.scores, sum.scored),
    projected_mean_score: mean(sum.projectedScores, sum.scored),
  }
}

/** Sums over the tables that a policy names; lists have at most {@link MAX_LISTED} entries. */
interface Summary {
  matched: number
  elsewhere: number
  /** Numbers of tables by the name of the policy that governs them. */
  readonly governors: Map<string, number>
  runsCount: number
  bytes: number
  /** Tables with a score, and the sums of their scores, now and after their runs. */
  scored: number
  scores: number
  projectedScores: number
  readonly tables: string[]
  readonly runs: PlannedRun[]
}

function newSummary(): Summary {
  return {
    matched: 0,
    elsewhere: 0,
    governors: new Map(),
    runsCount: 0,
    bytes: 0,
    scored: 0,
    scores: 0,
    projectedScores: 0,
    tables: [],
    runs: [],
  }
}

/** Names of the policies that govern the operations of `settings` on a table. */
function governors(
  others: readonly PolicyRecord[],
  { operations }: PolicySettings,
  table: string,
): ReadonlySet<string> {
  const wanted = new Set<string>(operations.map(({ operation }) => operation))
  const governing = governingPolicies(others, table).filter(({ operation }) => wanted.has(operation))
  return new Set(governing.map(({ policy }) => policy.settings.name))
}

function addElsewhere(sum: Summary, names: ReadonlySet<string>): void {
  sum.elsewhere += 1
  for (const name of names) sum.governors.set(name, (sum.governors.get(name) ?? 0) + 1)
}

function addTable(sum: Summary, { table_name: table, score }: TableHealth, runs: readonly PlannedRun[]): void {
  sum.matched += 1
  if (sum.tables.length < MAX_LISTED) sum.tables.push(table)
  sum.runsCount += runs.length
  sum.runs.push(...runs.slice(0, MAX_LISTED - sum.runs.length))
  const within = runs.filter(({ at }) => at !== null)
  for (const { planned_bytes: bytes } of within) sum.bytes += bytes ?? 0
  if (score === null) return
  sum.scored += 1
  sum.scores += score
  sum.projectedScores += Math.max(score, ...within.map(({ projected_score: projected }) => projected ?? 0))
}

function candidateOf(settings: PolicySettings, nowMs: number): PolicyRecord {
  const at = new Date(nowMs).toISOString()
  return { id: '', settings, managedBy: undefined, revision: 0, createdBy: '', createdAt: at, updatedAt: at }
}

interface PlanInput {
  readonly governing: Governing
  readonly row: TableHealth
  readonly nowMs: number
  readonly calendar: Calendar
}

function plannedRun({ governing, row, nowMs, calendar }: PlanInput): PlannedRun | undefined {
  const due = dueReason({ governing, row, state: undefined, nowMs })
  const scheduled = due === undefined ? nextScheduled(governing.policy, undefined) : nowMs
  if (scheduled === undefined || scheduled > nowMs + DAY_MS) return undefined
  const action = actionOf({ governing, row })
  if (action === undefined && isKnownWork(governing, row)) return undefined
  const bytes = plannedBytes(action) ?? null
  return {
    table: row.table_name,
    operation: governing.operation,
    at: timeText(calendar.place(scheduled, bytes ?? 0)),
    detail: due ?? 'scheduled',
    planned_bytes: bytes,
    score: row.score,
    projected_score: action?.projected['score'] ?? null,
  }
}

function timeText(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

/** Finds times in the window that the bytes per hour allow. */
class Calendar {
  readonly #settings: PolicySettings
  readonly #endMs: number
  /** Planned bytes by the hour since the start. */
  readonly #spent = new Map<number, number>()
  readonly #startMs: number

  constructor(settings: PolicySettings, startMs: number) {
    this.#settings = settings
    this.#startMs = startMs
    this.#endMs = startMs + DAY_MS
  }

  /** The first time from `fromMs` on; undefined when there is none within the day. */
  place(fromMs: number, bytes: number): number | undefined {
    const { window, budget } = this.#settings
    const perHour = budget?.bytes_per_hour
    let at: number | undefined = fromMs
    while (at !== undefined && at < this.#endMs) {
      if (window !== undefined && !isOpen(window, at)) {
        at = nextOpening(window, at)
        continue
      }
      const hour = Math.floor((at - this.#startMs) / HOUR_MS)
      const spent = this.#spent.get(hour) ?? 0
      if (perHour === undefined || spent + bytes <= perHour) {
        this.#spent.set(hour, spent + bytes)
        return at
      }
      at = this.#startMs + (hour + 1) * HOUR_MS
    }
    return undefined
  }
}

function mean(sum: number, count: number): number | null {
  return count === 0 ? null : Math.round((sum / count) * 10) / 10
}
