import { defineConfig } from 'vitest/config'
import { SlowestFirst } from './scripts/testing/slowest-first.ts'

// Under Bun 1.4 vitest's forks do not start: its watchdog needs `ChildProcess.channel.unref`.
const pool = 'Bun' in globalThis ? ('threads' as const) : ('forks' as const)
// Where nobody can look at once a test may be tried again; the runner names those that needed it.
const retry = process.env['CI'] ? 1 : 0
// There suites, builds and other people's services share two cores.
const timeout = process.env['CI'] ? 180_000 : 60_000
/** `1` runs all tests, `only` just those with the tag `long`, and no value those without the tag. */
const tagsFilter = { '1': undefined, only: 'long', '': '!long' }[process.env['LOCKHOUSE_TEST_LONG'] ?? '']
/** Patterns of test files that a run of the suite leaves out, separated by commas. */
const leftOut = process.env['LOCKHOUSE_TEST_LEAVE_OUT']?.split(',') ?? []
const shared = {
  pool,
  retry,
  testTimeout: timeout,
  hookTimeout: timeout,
  // A test that asserts nothing cannot fail: it is refused. `expect.poll` waits a second unless told otherwise.
  expect: { requireAssertions: true, poll: { timeout: 45_000 } },
}

/**
 * `suite` needs nothing but npm packages; `interop` and `faults` need Python, Java or minutes, `web` a Chromium,
 * `cluster` a Kubernetes cluster.
 */
export default defineConfig({
  test: {
    // Tests wait for services about a third of the time. CI runs most steps side by side.
    maxWorkers: Number(process.env['LOCKHOUSE_TEST_WORKERS'] ?? (process.env['CI'] ? 2 : 3)),
    sequence: { sequencer: SlowestFirst },
    tags: [{ name: 'long', description: 'takes many seconds: only with LOCKHOUSE_TEST_LONG, as .ci/run sets it' }],
    ...(tagsFilter === undefined ? {} : { tagsFilter: [tagsFilter] }),
    projects: [
      {
        test: {
          ...shared,
          name: 'suite',
          // Files of one worker share loaded modules, so that they are loaded once: half the time of the suite.
          isolate: false,
          globalSetup: 'test/support/state/state-template.ts',
          include: ['test/**/*.test.ts'],
          exclude: ['test/interop/**', 'test/faults/**', 'test/web/**', 'test/cluster/**', ...leftOut],
        },
      },
      {
        test: {
          ...shared,
          name: 'interop',
          include: ['test/interop/**/*.test.ts'],
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'web',
          include: ['test/web/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
    ],
  },
})
