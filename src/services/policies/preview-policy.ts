import { isOpen, nextOpening } from '../../domain/policies/calendar.ts'
import type { PolicySettings, policyPreview } from '../../schemas/policies.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { TableHealthTable } from '../../storage/fleet-schema.ts'
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
  const rows = (await index.all())
    .filter(({ table_name: table }) => matchesPolicy(settings, table))
    .toSorted((a, b) => (a.score ?? 101) - (b.score ?? 101))
  const calendar = new Calendar(settings, nowMs)
  const runs: PlannedRun[] = []
  let elsewhere = 0
  for (const row of rows) {
    const own = governingPolicies([...others, candidate], row.table_name).filter(({ policy }) => policy === candidate)
    if (own.length === 0) elsewhere += 1
    const isMaintained = row.is_off === 0 && row.score !== null
    for (const governing of isMaintained ? own : []) {
      const run = plannedRun({ governing, row, nowMs, calendar })
      if (run !== undefined) runs.push(run)
    }
  }
  const within = runs.filter(({ at }) => at !== null)
  return {
    success: true,
    matched_count: rows.length,
    matched_tables: rows.slice(0, MAX_LISTED).map(({ table_name: table }) => table),
    governed_elsewhere_count: elsewhere,
    runs: runs.slice(0, MAX_LISTED),
    runs_count: runs.length,
    planned_bytes: within.reduce((total, { planned_bytes: bytes }) => total + (bytes ?? 0), 0),
    mean_score: mean(rows.map(({ score }) => score)),
    projected_mean_score: mean(projectedScores(rows, within)),
  }
}

function candidateOf(settings: PolicySettings, nowMs: number): PolicyRecord {
  const at = new Date(nowMs).toISOString()
  return { id: '', settings, managedBy: undefined, revision: 0, createdBy: '', createdAt: at, updatedAt: at }
}

interface PlanInput {
  readonly governing: Governing
  readonly row: TableHealthTable
  readonly nowMs: number
  readonly calendar: Calendar
}

function plannedRun({ governing, row, nowMs, calendar }: PlanInput): PlannedRun | undefined {
  const due = dueReason({ governing, row, state: undefined, nowMs })
  const scheduled = due === undefined ? nextScheduled(governing.policy, undefined) : nowMs
  if (scheduled === undefined || scheduled > nowMs + DAY_MS) return undefined
  const action = actionOf({ governing, row })
  if (action === undefined && isKnownWork(governing)) return undefined
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

function projectedScores(rows: readonly TableHealthTable[], runs: readonly PlannedRun[]): (number | null)[] {
  const best = new Map<string, number>()
  for (const { table, projected_score: score } of runs) best.set(table, Math.max(best.get(table) ?? 0, score ?? 0))
  return rows.map(({ table_name: table, score }) => (score === null ? null : Math.max(score, best.get(table) ?? 0)))
}

function mean(scores: readonly (number | null)[]): number | null {
  const known = scores.filter((score) => score !== null)
  if (known.length === 0) return null
  return Math.round((known.reduce((total, score) => total + score, 0) / known.length) * 10) / 10
}
