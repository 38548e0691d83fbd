import { isOpen, nextClosing, nextOpening, type PolicyWindow } from './calendar.ts'

/** Windows that permit changes of an environment, or forbid them. */
export const WINDOW_KINDS = ['allow', 'deny'] as const

/** When versions may move into an environment and be deployed there (docs/api.md#change-windows). */
export interface ChangeWindow extends PolicyWindow {
  readonly kind: (typeof WINDOW_KINDS)[number]
}

/** Whether changes are permitted: no `deny` window is open, and an `allow` window is, unless there are none. */
export function isChangeOpen(windows: readonly ChangeWindow[], nowMs: number): boolean {
  if (windows.some((window) => window.kind === 'deny' && isOpen(window, nowMs))) return false
  const allowing = windows.filter(({ kind }) => kind === 'allow')
  return allowing.length === 0 || allowing.some((window) => isOpen(window, nowMs))
}

const LONGEST_SEARCH_MS = 400 * 86_400_000
/** Two windows of each day of the longest search. */
const MAX_STEPS = 800

/** When changes are permitted next, ms since the epoch; `nowMs` when they are; undefined: not within 400 days. */
export function nextChangeOpening(windows: readonly ChangeWindow[], nowMs: number): number | undefined {
  const allowing = windows.filter(({ kind }) => kind === 'allow')
  let time = nowMs
  for (let step = 0; step < MAX_STEPS && time <= nowMs + LONGEST_SEARCH_MS; step += 1) {
    if (isChangeOpen(windows, time)) return time
    const at = time
    const denying = windows.find((window) => window.kind === 'deny' && isOpen(window, at))
    if (denying === undefined) {
      const openings = allowing.map((window) => nextOpening(window, at)).filter((opening) => opening !== undefined)
      if (openings.length === 0) return undefined
      time = Math.min(...openings)
    } else {
      time = nextClosing(denying, at)
    }
  }
  return undefined
}
