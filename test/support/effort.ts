/** True if tests tagged `long` run: `LOCKHOUSE_TEST_LONG` is `1` (with all other tests) or `only` (without them). */
export const isLongRun: boolean = ['1', 'only'].includes(process.env['LOCKHOUSE_TEST_LONG'] ?? '')

/** Options of a test or a suite that only a long run includes. */
export const LONG: { readonly tags: string[] } = { tags: ['long'] }

/**
 * True in a long run that repeats everything in full: on Bun, which the service is run with and on which what a test repeats depends
 * little, and not in CI, whose time is limited.
 */
export const isWholeRun: boolean = isLongRun && 'Bun' in globalThis && !process.env['CI']

/** How often a test repeats something: `full` times in a whole run, an eighth of that in another long run, otherwise a tenth, or `short`. */
export function runs(full: number, short: number = Math.ceil(full / 10)): number {
  if (isWholeRun) return full
  return isLongRun ? Math.max(short, Math.ceil(full / 8)) : short
}

/** The step of a loop over calls or cases: 1 in a whole run, a third of `short` in another long run, otherwise `short`. */
export function everyNth(short: number): number {
  if (isWholeRun) return 1
  return isLongRun ? Math.ceil(short / 3) : short
}

/** All cases in a whole run, otherwise a third of them. */
export function shareOf<T>(cases: readonly T[]): readonly T[] {
  return isWholeRun ? cases : cases.filter((_, at) => at % 3 === 0)
}

/**
 * Divides the cases of a table test: the first `quick` are always tested, the others only in a long run, and a third of them in CI.
 * Gives each part with the options of its tests.
 */
export function shares<T>(cases: readonly T[], quick: number): readonly [cases: readonly T[], options: object][] {
  return [
    [cases.slice(0, quick), {}],
    [shareOf(cases.slice(quick)), LONG],
  ]
}
