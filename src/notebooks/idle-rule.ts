/** Times in ms since the epoch. */
export interface IdleInput {
  readonly nowMs: number
  /** Whether a kernel is busy. */
  readonly busy: boolean
  /** Last activity in the notebook. */
  readonly activeMs: number
  /** The announced stop time; undefined when no stop was announced. */
  readonly stopsMs: number | undefined
}

export interface IdleLimits {
  readonly idleMs: number
  readonly warningMs: number
}

/** What to do with a notebook. */
export type IdleVerdict =
  | { readonly do: 'nothing' }
  | { readonly do: 'announce'; readonly stopsMs: number }
  | { readonly do: 'stop' }

/**
 * Decides whether an idle notebook is stopped: never while a kernel is busy, and never without an announcement at least
 * one warning time before, even when this service was not running at the usual time of the announcement.
 */
export function idleVerdict({ nowMs, busy, activeMs, stopsMs }: IdleInput, limits: IdleLimits): IdleVerdict {
  const { idleMs, warningMs } = limits
  if (busy || nowMs - activeMs < idleMs - warningMs) return { do: 'nothing' }
  if (stopsMs === undefined) return { do: 'announce', stopsMs: Math.max(activeMs + idleMs, nowMs + warningMs) }
  return nowMs >= stopsMs ? { do: 'stop' } : { do: 'nothing' }
}
