/** How long to wait between attempts, in ms. */
export interface BackOff {
  readonly firstMs: number
  readonly maxMs: number
}

/**
 * The wait after a number of failures (1 for the first): doubles with each failure, up to the maximum. Random in the upper
 * half, so that those who failed together do not meet again.
 */
export function backOffMs({ firstMs, maxMs }: BackOff, failures: number): number {
  const doublings = Math.min(40, Math.max(0, failures - 1))
  return Math.min(maxMs, firstMs * 2 ** doublings) * (0.5 + Math.random() / 2)
}
