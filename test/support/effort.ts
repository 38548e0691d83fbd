/** Whether everything is tested, as CI does: `LOCKHOUSE_TEST_LONG=1`. Otherwise tests tagged `long` are left out. */
export const isLongRun: boolean = process.env['LOCKHOUSE_TEST_LONG'] === '1'

/** Options of a test or a suite that only a long run includes. */
export const LONG: { readonly tags: string[] } = { tags: ['long'] }

/** How often a test repeats something: `full` times in a long run, otherwise a tenth of that, or `short`. */
export function runs(full: number, short: number = Math.ceil(full / 10)): number {
  return isLongRun ? full : short
}

/**
 * Divides the cases of a table test: the first `quick` are always tested, the others only in a long run. Gives each part
 * with the options of its tests.
 */
export function shares<T>(cases: readonly T[], quick: number): readonly [cases: readonly T[], options: object][] {
  return [
    [cases.slice(0, quick), {}],
    [cases.slice(quick), LONG],
  ]
}
