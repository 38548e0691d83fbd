import { verified } from '../../strings/table-actions.ts'

/** The format of a figure. */
export type FigureKind = 'count' | 'bytes' | 'duration' | 'text'

/** A field of a result that is shown first. */
export interface ResultFigure {
  readonly key: string
  readonly kind: FigureKind
  readonly value: number | string
}

/** A field that does not fit into one line: lists and objects, for the fold-out. */
export interface ResultPart {
  readonly key: string
  readonly value: unknown
}

export interface ResultView {
  readonly figures: readonly ResultFigure[]
  readonly parts: readonly ResultPart[]
}

/** Shown in other places of the page: in the header, above the figures and in the health comparison. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'table',
  'duration_ms',
  'before',
  'after',
  'base_snapshot_id',
  'snapshot_id',
  'engine',
  'engine_reason',
])

/** Splits a result into figures and other values, in the order of the response. */
export function viewResult(result: unknown): ResultView {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) {
    return { figures: [], parts: result === null || result === undefined ? [] : [{ key: '', value: result }] }
  }
  const figures: ResultFigure[] = []
  const parts: ResultPart[] = []
  for (const [key, value] of Object.entries(result)) {
    if (ELSEWHERE.has(key) || value === null) continue
    const figure = figureOf(key, value)
    if (figure) figures.push(figure)
    else if (Object.keys(value as object).length > 0) parts.push({ key, value })
  }
  return { figures, parts }
}

function figureOf(key: string, value: unknown): ResultFigure | undefined {
  if (key === 'verified') return { key, kind: 'text', value: verified[String(value)] ?? String(value) }
  if (typeof value === 'number' || typeof value === 'string') return { key, kind: kindOf(key, value), value }
  if (typeof value === 'boolean') return { key, kind: 'text', value: value ? 'yes' : 'no' }
  return undefined
}

/** The unit of a value, from the name of its field. */
export function kindOf(key: string, value: number | string): FigureKind {
  if (typeof value === 'string') return 'text'
  if (/(^|_)bytes(_|$)/.test(key)) return 'bytes'
  return key.endsWith('_ms') ? 'duration' : 'count'
}

/** A field name as text: `rewritten_bytes_count` → `Rewritten bytes`. */
export function humanKey(key: string): string {
  const words = key.replace(/_(count|bytes_count|ms)$/, (suffix) => (suffix === '_bytes_count' ? '_bytes' : ''))
  const text = words.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** One measure of a table's health before and after. */
export interface HealthChange {
  readonly key: string
  readonly kind: FigureKind
  readonly before: number | null
  readonly after: number | null
  /** Whether the change is for the better; `none` for measures that are neither good nor bad. */
  readonly verdict: 'better' | 'worse' | 'none'
}

const MORE_IS_BETTER: ReadonlySet<string> = new Set(['score', 'avg_file_size_bytes'])
const LESS_IS_BETTER: ReadonlySet<string> = new Set(['data_file_count', 'small_file_count', 'delete_file_count'])
/** Every change adds one of these, so only a decrease is worth showing. */
const LESS_IS_NEWS: ReadonlySet<string> = new Set(['snapshot_count', 'manifest_count'])

/** Compares two health reports of an operation; measures that either has, in the order of the service. */
export function healthChanges(before: unknown, after: unknown): HealthChange[] {
  const from = measures(before)
  const to = measures(after)
  return [...new Set([...from.keys(), ...to.keys()])].map((key) => {
    const change = { before: from.get(key) ?? null, after: to.get(key) ?? null }
    return { key, kind: kindOf(key, 0), ...change, verdict: verdictOf(key, change) }
  })
}

function measures(report: unknown): ReadonlyMap<string, number> {
  if (typeof report !== 'object' || report === null) return new Map()
  const entries = Object.entries(report).flatMap(([key, value]) =>
    typeof value === 'number' ? [[key, value] as const] : [],
  )
  return new Map(entries)
}

function verdictOf(key: string, { before, after }: Pick<HealthChange, 'before' | 'after'>): HealthChange['verdict'] {
  if (before === null || after === null || before === after) return 'none'
  if (MORE_IS_BETTER.has(key)) return after > before ? 'better' : 'worse'
  if (LESS_IS_NEWS.has(key)) return after < before ? 'better' : 'none'
  if (LESS_IS_BETTER.has(key)) return after < before ? 'better' : 'worse'
  return 'none'
}

/** The snapshot that the result of a failed operation says to roll back to. */
export function rollbackTarget(result: unknown): string | undefined {
  const rollback = fieldOf(result, 'rollback')
  const snapshot = fieldOf(rollback, 'snapshot_id')
  return typeof snapshot === 'string' ? snapshot : undefined
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined
}
