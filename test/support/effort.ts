/** True if tests tagged `long` run: `LOCKHOUSE_TEST_LONG` is `1` (with all other tests) or `only` (without them). */
export const isLongRun: boolean = ['1', 'only'].includes(process.env['LOCKHOUSE_TEST_LONG'] ?? '')

/** Options of a test or a suite that only a long run includes. */
export const LONG: { readonly tags: string[] } = { tags: ['long'] }

/** The runtime that the service is run with; what a test repeats depends on it little. */
const isMainRuntime = 'Bun' in globalThis

/**
 * How often a test repeats something: `full` times in a long run on Bun, a quarter of that on the other runtimes and in CI,
 * whose time is limited, otherwise a tenth, or `short`.
 */
export function runs(full: number, short: number = Math.ceil(full / 10)): number {
  if (!isLongRun) return short
  return isMainRuntime && !process.env['CI'] ? full : Math.max(short, Math.ceil(full / 4))
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
