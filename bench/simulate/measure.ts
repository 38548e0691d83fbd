import { processMemory } from '../support/process-memory.ts'
import { median } from '../support/report.ts'

/** Figures of one run by their names: times in ms, memory and sizes in bytes. */
export type Figures = Readonly<Record<string, number | string>>

/** Prints a figure with all those before it, as one line of JSON: a run that is ended too early has told what it knew. */
export type RecordFigure = (name: string, value: number | string) => void

/** Prints to standard output. */
export function recorder(): RecordFigure {
  const figures: { [name: string]: number | string } = {}
  return (name, value) => {
    figures[name] = value
    process.stdout.write(`${JSON.stringify({ ...figures, 'peak memory': processMemory(process.pid).peak })}\n`)
  }
}

/** Which time counts: `processor`, which other programs on the machine change little, or `wall`. */
export const CLOCK = process.env['BENCH_CLOCK'] === 'wall' ? 'wall' : 'processor'

/** The time now, ms; only differences mean something. The database counts with SQLite, which runs in this process. */
export function clock(): number {
  if (CLOCK === 'wall') return performance.now()
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** How long `work` takes, ms. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = clock()
  await work()
  return clock() - startedAt
}

/** A measurement shorter than this says little: the work is repeated. */
const SHORT_MS = 20
const LONG_MS = 3000

/** Median of several runs after one that is not counted, ms. */
export async function typical(work: () => Promise<unknown>, runs = 5): Promise<number> {
  const first = await timed(work)
  if (first > LONG_MS) return first // a second run would not tell more
  const repeats = Math.max(1, Math.ceil(SHORT_MS / Math.max(first, 0.1)))
  const times: number[] = []
  for (let run = 0; run < runs; run += 1) {
    const startedAt = clock()
    for (let n = 0; n < repeats; n += 1) await work()
    times.push((clock() - startedAt) / repeats)
  }
  return median(times)
}

const TICK_MS = 5

/** The longest time in which the process could not answer a request meanwhile, ms. */
export async function longestStall(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = clock()
  const timer = setInterval(() => {
    const now = clock()
    longest = Math.max(longest, now - last)
    last = now
  }, TICK_MS)
  await work()
  await new Promise((resolve) => setTimeout(resolve, TICK_MS * 2))
  clearInterval(timer)
  return longest
}
