/** Times in ms since the epoch. */
export interface IdleInput {
  readonly nowMs: number
  /** Whether a kernel computes. */
  readonly busy: boolean
  /** When something was last done in the notebook. */
  readonly activeMs: number
  /** When it will be stopped, as it was announced; undefined: it was not. */
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
 * Whether a notebook is idle: never while a kernel computes, and never without an announcement a whole warning time
 * before, also when this service slept through the moment to announce it.
 */
export function idleVerdict({ nowMs, busy, activeMs, stopsMs }: IdleInput, limits: IdleLimits): IdleVerdict {
  const { idleMs, warningMs } = limits
  if (busy || nowMs - activeMs < idleMs - warningMs) return { do: 'nothing' }
  if (stopsMs === undefined) return { do: 'announce', stopsMs: Math.max(activeMs + idleMs, nowMs + warningMs) }
  return nowMs >= stopsMs ? { do: 'stop' } : { do: 'nothing' }
}
