/** Triggers without rows are reported every 10 s: a longer silence is a time without reports, such as a restart. */
const SILENCE_MS = 25_000

/** The longest time between two reports that the trigger interval explains, ms. A longer one is a gap in the history. */
export function longestSilenceMs(triggerMs: number): number {
  return Math.max(SILENCE_MS, 3 * triggerMs)
}
