/** Runs of each size; the fastest counts. */
const RUNS = 4
const TIMES = 16
/** Work that grows with the square of its size is above the limit each time. */
const ATTEMPTS = 4

/**
 * How many times more processor time work of 16 times the size needs: about 16 when it grows with the size, about 256
 * when it grows with its square. `prepare` makes the work of a size, whose making is not measured.
 */
export async function growthOf(size: number, prepare: (size: number) => () => unknown): Promise<number> {
  await cheapest(prepare, size) // compiled before it is measured
  let growth = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < ATTEMPTS && growth > LINEAR; attempt++) {
    const small = await cheapest(prepare, size)
    growth = Math.min(growth, (await cheapest(prepare, TIMES * size)) / small)
  }
  return growth
}

/** Above this, the time grows with the square of the size; far above 16, because memory and caches count, too. */
export const LINEAR = 100

/** In processor time of this process, which does not grow while other processes work. */
async function cheapest(prepare: (size: number) => () => unknown, size: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < RUNS; run++) {
    const work = prepare(size)
    const begun = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(begun)
    best = Math.min(best, user + system)
  }
  return Math.max(best, 1)
}
