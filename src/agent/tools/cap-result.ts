/** Limits of one tool result (JSON, in UTF-8 bytes) and of every list in it. */
export const MAX_RESULT_BYTES = 16_384
export const MAX_RESULT_ROWS = 100
const MAX_TEXT = 2000
const MAX_DEPTH = 12
/** At most this many lists are named in `left_out`. */
const MAX_NAMED = 10

interface Limits {
  readonly rows: number
  readonly text: number
  readonly depth: number
}

/**
 * A tool result as models get it: `{"untrusted": true, "truncated": …, "data": …}` of at most 16 KB, with at most 100
 * items in every list. `left_out` then says how many items of which list are missing.
 */
export function capResult(data: unknown): string {
  let limits: Limits = { rows: MAX_RESULT_ROWS, text: MAX_TEXT, depth: MAX_DEPTH }
  for (;;) {
    const cutter = new Cutter(limits)
    const value = cutter.cut(data, 'data', 0)
    const { leftOut } = cutter
    const truncated = cutter.truncated || hasMore(data)
    const cut = cutter.truncated ? { left_out: leftOut } : {}
    const json = JSON.stringify({ untrusted: true, truncated, ...cut, data: value })
    if (byteLength(json) <= MAX_RESULT_BYTES) return json
    if (limits.rows === 0) {
      const note = 'the result is too large: request less'
      return JSON.stringify({ untrusted: true, truncated: true, data: null, note })
    }
    limits = tighter(limits)
  }
}

/** Whether the tool itself reports that its result is incomplete. */
function hasMore(data: unknown): boolean {
  if (typeof data !== 'object' || data === null) return false
  const isCut = 'truncated' in data && data.truncated === true
  return isCut || ('next_page_token' in data && typeof data.next_page_token === 'string')
}

function tighter({ rows, text, depth }: Limits): Limits {
  return {
    rows: Math.floor(rows / 2),
    text: Math.max(40, Math.floor(text / 2)),
    depth: rows < 10 ? Math.max(2, depth - 3) : depth,
  }
}

class Cutter {
  truncated = false
  readonly leftOut: Record<string, number> = {}
  readonly #limits: Limits

  constructor(limits: Limits) {
    this.#limits = limits
  }

  cut(value: unknown, path: string, depth: number): unknown {
    if (typeof value === 'string') return this.#cutText(value)
    if (typeof value === 'bigint') return value.toString()
    if (typeof value !== 'object' || value === null) return value
    if (depth >= this.#limits.depth) {
      this.truncated = true
      return '… (too deep)'
    }
    if (Array.isArray(value)) {
      const { rows } = this.#limits
      if (value.length > rows) this.#leaveOut(path, value.length - rows)
      return value.slice(0, rows).map((item) => this.cut(item, `${path}[]`, depth + 1))
    }
    const entries = Object.entries(value)
    const kept = entries.slice(0, Math.max(this.#limits.rows, 30))
    if (kept.length < entries.length) this.#leaveOut(path, entries.length - kept.length)
    return Object.fromEntries(
      kept.map(([name, member]) => [this.#cutText(name), this.cut(member, `${path}.${name}`, depth + 1)]),
    )
  }

  #leaveOut(path: string, count: number): void {
    this.truncated = true
    const name = path.slice(0, 100)
    if (name in this.leftOut || Object.keys(this.leftOut).length < MAX_NAMED) {
      this.leftOut[name] = (this.leftOut[name] ?? 0) + count
    }
  }

  #cutText(text: string): string {
    const { text: max } = this.#limits
    if (text.length <= max) return text
    this.truncated = true
    return `${text.slice(0, max).toWellFormed()}… (${text.length - max} more characters)`
  }
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length
}
