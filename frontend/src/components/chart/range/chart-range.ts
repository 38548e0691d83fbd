const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The lengths of ranges that end now, ms; `all` begins with the oldest stored value. */
const PRESET_MS = {
  '15m': HOUR_MS / 4,
  '1h': HOUR_MS,
  '24h': DAY_MS,
  '7d': 7 * DAY_MS,
  '30d': 30 * DAY_MS,
  '90d': 90 * DAY_MS,
  '1y': 366 * DAY_MS,
  all: undefined,
} as const

export type Preset = keyof typeof PRESET_MS

/** The time that charts show: one that ends now and moves on, or a part that the user chose. Times in ms since 1970. */
export type ChartRange =
  | { readonly kind: 'preset'; readonly preset: Preset }
  | { readonly kind: 'part'; readonly fromMs: number | undefined; readonly toMs: number | undefined }

/** The ranges that some charts offer. */
export interface RangeSpec {
  /** Shortest first. */
  readonly presets: readonly Preset[]
  /** The one without a choice; it is not in the address. */
  readonly fallback: Preset
  /** `day`: the values are of whole days in UTC, and a part ends with its last day. */
  readonly unit: 'time' | 'day'
}

/** Both ends of a range, ms since 1970. */
export interface RangeBounds {
  readonly fromMs: number
  readonly toMs: number
}

/** A range as parameters of the address; undefined parameters are not in it. */
export type RangeSearch = { readonly [Name in 'range' | 'from' | 'to']: string | undefined }

const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/
const DAY = /^\d{4}-\d{2}-\d{2}$/
/** The shortest range without a choice of its ends: a shorter one has no room for labels. */
const MIN_SPAN_MS = 10_000
const DAY_LENGTH = '2026-11-20'.length

/** Reads a range from the address; what is not a time or a preset is ignored. A part goes before a preset. */
export function parseRange(search: Readonly<Record<string, string | undefined>>, spec: RangeSpec): ChartRange {
  const fromMs = parseTime(search['from'], spec)
  const toMs = parseTime(search['to'], spec)
  if (fromMs !== undefined || toMs !== undefined) return { kind: 'part', fromMs, toMs }
  return { kind: 'preset', preset: spec.presets.find((one) => one === search['range']) ?? spec.fallback }
}

/** Writes a range for the address. */
export function formatRange(range: ChartRange, spec: RangeSpec): RangeSearch {
  if (range.kind === 'preset') {
    return { range: range.preset === spec.fallback ? undefined : range.preset, from: undefined, to: undefined }
  }
  const { fromMs, toMs } = range
  return { range: undefined, from: formatRangeTime(fromMs, spec), to: formatRangeTime(toMs, spec) }
}

/** A time of a range as the address and the API have it, in UTC: `2026-11-20T10:00:00Z`, or `2026-11-20` for days. */
export function formatRangeTime(ms: number | undefined, { unit }: Pick<RangeSpec, 'unit'>): string | undefined {
  if (ms === undefined) return undefined
  const text = new Date(ms).toISOString()
  return unit === 'day' ? text.slice(0, DAY_LENGTH) : text.replace('.000Z', 'Z')
}

/** The length of a preset, ms; undefined for `all`. */
export function presetMs(preset: Preset): number | undefined {
  return PRESET_MS[preset]
}

/** Whether a range ends now, so that new values are added. */
export function isOpenEnded(range: ChartRange): boolean {
  return range.kind === 'preset' || range.toMs === undefined
}

/** What determines the ends of a range. */
export interface Ends extends Pick<RangeSpec, 'unit'> {
  readonly nowMs: number
  /** The oldest stored value; undefined: none, or not known. */
  readonly oldestMs?: number | undefined
}

/**
 * The ends of a range at a time. A preset begins with the oldest stored value, if there is nothing before it. Without stored
 * values, `all` is the last hour. Of days, today is the last one.
 */
export function boundsOf(range: ChartRange, { nowMs, oldestMs, unit }: Ends): RangeBounds {
  const toMs = range.kind === 'part' ? (range.toMs ?? nowMs) : nowMs
  const oldest = Math.min(oldestMs ?? toMs - HOUR_MS, toMs - MIN_SPAN_MS)
  if (range.kind === 'part') return { fromMs: range.fromMs ?? oldest, toMs }
  const length = presetMs(range.preset)
  if (length === undefined) return { fromMs: oldest, toMs }
  if (unit === 'day') {
    const today = nowMs - (nowMs % DAY_MS)
    return { fromMs: today - length + DAY_MS, toMs: today }
  }
  return { fromMs: oldestMs === undefined ? nowMs - length : Math.max(nowMs - length, oldest), toMs }
}

/** A part of some bounds that was dragged, from fractions of their width: whole seconds that contain it, at least one. */
export function partOf({ fromMs, toMs }: RangeBounds, from: number, to: number): ChartRange {
  const at = (fraction: number): number => fromMs + fraction * (toMs - fromMs)
  const begin = Math.floor(at(Math.min(from, to)) / 1000) * 1000
  const end = Math.ceil(at(Math.max(from, to)) / 1000) * 1000
  return { kind: 'part', fromMs: begin, toMs: Math.max(end, begin + 1000) }
}

/** A line whose values hold until the next one. `x` are seconds since 1970, ascending. */
export interface StepLine<V> {
  readonly x: readonly number[]
  readonly values: readonly V[]
}

/** The part of a step line in some bounds. It begins with the value that holds there, and its last value holds until the end. */
export function cutSteps<V>({ x, values }: StepLine<V>, { fromMs, toMs }: RangeBounds): StepLine<V> {
  const from = fromMs / 1000
  const to = toMs / 1000
  const first = x.findIndex((at) => at > from)
  const begin = first === -1 ? x.length : first
  const after = x.findIndex((at) => at > to)
  const end = after === -1 ? x.length : after
  const held = values.slice(Math.max(0, begin - 1), begin)
  if (to < from) return { x: [], values: [] }
  const shownX = [...held.map(() => from), ...x.slice(begin, end)]
  const shown = [...held, ...values.slice(begin, end)]
  const last = shown.slice(-1)
  const isShort = (shownX.at(-1) ?? to) < to
  return isShort ? { x: [...shownX, to], values: [...shown, ...last] } : { x: shownX, values: shown }
}

function parseTime(text: string | undefined, { unit }: RangeSpec): number | undefined {
  if (text === undefined || !(unit === 'day' ? DAY : TIME).test(text)) return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

/** Points that a chart asks for: about one for each pixel of a wide window. */
const CHART_POINTS = 1000

/** A range as parameters of the API, at the time of the request. */
export function rangeQuery(range: ChartRange): Readonly<Record<string, string | number | undefined>> {
  const isAll = range.kind === 'preset' && presetMs(range.preset) === undefined
  const unit = 'time'
  const { fromMs } = boundsOf(range, { nowMs: Date.now(), unit })
  const from = range.kind === 'part' ? range.fromMs : isAll ? undefined : fromMs
  const to = range.kind === 'part' ? range.toMs : undefined
  return { from: formatRangeTime(from, { unit }), to: formatRangeTime(to, { unit }), points: CHART_POINTS }
}
