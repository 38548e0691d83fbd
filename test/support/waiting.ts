import { setTimeout as timer } from 'node:timers/promises'

/** By how much longer things may take in CI, where several suites share the machine. */
export const CI_SLOWNESS = process.env['CI'] ? 3 : 1
/** How long `until` waits, in milliseconds: generous, for a busy machine. */
const PATIENCE_MS = 45_000
const LONGEST_PAUSE_MS = 20
/** After this long a file that is written again has another time; clocks of file systems tick every 10 ms or more often. */
export const FILE_CLOCK_MS = 20

/** What a check of `until` has to answer for the wait to end. */
export type Found<T> = Exclude<T, undefined | null | false>

/**
 * Waits until the check returns something other than `undefined`, `null` or `false`, and returns that. It asks often at
 * first (1 ms), then every 20 ms. Throws when `ms` milliseconds have passed, three times that in CI, with what was waited for.
 */
export async function until<T>(
  check: () => T | Promise<T>,
  what: string | (() => string | Promise<string>) = check.toString(),
  ms = PATIENCE_MS,
): Promise<Found<T>> {
  const limit = ms * CI_SLOWNESS
  const deadline = performance.now() + limit
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const found = await check()
    if (isFound(found)) return found
    if (performance.now() > deadline) {
      throw new Error(`not within ${limit} ms: ${typeof what === 'string' ? what : await what()}`)
    }
    await sleep(pause)
  }
}

function isFound<T>(value: T): value is Found<T> {
  return value !== undefined && value !== null && value !== false
}

/** Lets real time pass, in milliseconds: only to show that nothing happens meanwhile. To wait for an event, use `until`. */
export async function sleep(ms: number): Promise<void> {
  await timer(ms)
}

/** Runs the work after `ms` milliseconds (a fault at some moment, a limit); returns what cancels it. */
export function later(ms: number, work: () => void): () => void {
  const handle = setTimeout(work, ms)
  return () => clearTimeout(handle)
}

/** Runs the work every `ms` milliseconds; returns what ends it. */
export function every(ms: number, work: () => void): () => void {
  const handle = setInterval(work, ms)
  return () => clearInterval(handle)
}
