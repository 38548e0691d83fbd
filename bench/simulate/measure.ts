import { processMemory } from '../support/process-memory.ts'
import { median } from '../support/report.ts'

/** Figures of one run by their names: times in ms, memory and sizes in bytes. */
export type Figures = Readonly<Record<string, number | string>>

/** Highest resident memory of this process, bytes. */
export const peakBytes = (): number => processMemory(process.pid).peak

/** How long `work` takes, ms. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** Median of several runs after one that is not counted, ms. */
export async function typical(work: () => Promise<unknown>, runs = 7): Promise<number> {
  const times: number[] = []
  for (let run = 0; run <= runs; run += 1) {
    const ms = await timed(work)
    if (run > 0) times.push(ms)
    if (ms > 10_000) return ms // its second run would not tell more
  }
  return median(times)
}

const TICK_MS = 5

/** The longest time in which the process could not answer a request meanwhile, ms. */
export async function longestStall(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last - TICK_MS)
    last = now
  }, TICK_MS)
  await work()
  await new Promise((resolve) => setTimeout(resolve, TICK_MS * 2))
  clearInterval(timer)
  return longest
}
