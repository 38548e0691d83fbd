/** Runs of each size; the fastest counts, because others were interrupted. */
const RUNS = 4
const TIMES = 8

/**
 * How many times longer work of eight times the size takes: about 8 when the time grows with the size, about 64 when it
 * grows with its square. `prepare` makes the work of a size, whose making is not measured.
 */
export async function growthOf(size: number, prepare: (size: number) => () => unknown): Promise<number> {
  await fastest(prepare, size) // compiled before it is measured
  const small = await fastest(prepare, size)
  return (await fastest(prepare, TIMES * size)) / small
}

/** Above this, the time grows with the square of the size, also on a busy machine. */
export const LINEAR = 32

async function fastest(prepare: (size: number) => () => unknown, size: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < RUNS; run++) {
    const work = prepare(size)
    const begun = performance.now()
    await work()
    best = Math.min(best, performance.now() - begun)
  }
  return best
}
