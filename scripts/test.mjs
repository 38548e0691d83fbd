// `npm test`: installs what is missing and runs the suite under Bun and under Node, then sums up both. Without
// LOCKHOUSE_TEST_LONG=1 tests tagged `long` are skipped; without a PostgreSQL server on this machine, the tests that need it. Other projects: `node scripts/test.mjs --project interop …`.
// Only one runtime: `npm test -- --runtime node`; on Deno: `npm run test:deno`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureInstalled, root, runtimePath } from './ensure-installed.mjs'
import { startPostgres } from './test-postgres.mjs'

ensureInstalled()
const { runtime: only, args } = readArguments(process.argv.slice(2))
const chosen = args.includes('--project')
const selection = chosen ? args : ['--project', 'suite', ...args]
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const reports = mkdtempSync(join(tmpdir(), 'lockhouse-test-'))
// Tests that need Python, Java, a browser or minutes run on Bun only; the suite and the tests of a real cluster run on both.
const runtimes = only === 'deno' ? ['deno'] : chosen && !args.includes('cluster') ? ['bun'] : ['bun', 'node']
const total = { passed: 0, failed: 0, skipped: 0, leftOut: 0 }
/** Enough for the counterexample of a random test: a retry shows its error nowhere else. */
const REASON_LINES = 12
/** Before the arguments of vitest, for each runtime. */
const FLAGS = {
  bun: ['--bun', vitest],
  node: ['--disable-warning=ExperimentalWarning', vitest],
  deno: ['run', '--quiet', '--allow-all', vitest],
}
/** Failures and retries, repeated at the end of the output, where they are easy to find. */
const troubles = []
const summary = []
const isLong = process.env.LOCKHOUSE_TEST_LONG === '1'
const needsPostgres = !chosen || args.includes('interop') || args.includes('faults')
const postgres = needsPostgres ? startPostgres() : { env: {}, stop() {}, note: undefined, isThere: false }
// CI must not skip tests because of a missing server.
if (process.env.CI && needsPostgres && !postgres.isThere) total.failed += 1

for (const name of runtimes.filter((one) => only === undefined || one === only)) run(name)
postgres.stop()
rmSync(reports, { recursive: true, force: true })
for (const trouble of troubles) console.log(`\n${trouble}`)
console.log(`\n${[...summary, ...notes()].join('\n')}`)
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exit(total.failed > 0 || total.passed + total.skipped === 0 ? 1 : 0)

function readArguments(all) {
  const at = all.indexOf('--runtime')
  return at === -1 ? { runtime: undefined, args: all } : { runtime: all[at + 1], args: all.toSpliced(at, 2) }
}

/** Runs the tests under one runtime; vitest prints each file as it finishes. */
function run(name) {
  const runtime = runtimePath(name)
  if (!runtime) {
    summary.push(`${name}: not run: it needs Node 22 or newer, but this is ${process.version}`)
    return
  }
  console.log(`\n# ${name}`)
  const report = join(reports, `${name}.json`)
  const flags = FLAGS[name]
  const started = Date.now()
  const { status } = spawnSync(
    runtime,
    [...flags, 'run', ...selection, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
    { cwd: root, stdio: 'inherit', env: { ...process.env, ...postgres.env } },
  )
  const counts = readCounts(report, name)
  if (status !== 0 && counts.failed === 0) counts.failed = 1
  for (const key of Object.keys(total)) total[key] += counts[key]
  const seconds = Math.round((Date.now() - started) / 1000)
  const time = `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  summary.push(`${name}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped, in ${time}`)
}

function readCounts(path, runtime) {
  try {
    const report = JSON.parse(readFileSync(path, 'utf8'))
    let leftOut = 0
    for (const file of report.testResults) {
      if (file.status === 'failed' && file.message) troubles.push(`failed on ${runtime}: ${file.name}: ${file.message}`)
      for (const test of file.assertionResults) {
        if (test.status === 'skipped' && test.tags.includes('long')) leftOut += 1
        if (test.status === 'pending' || test.failureMessages.length === 0) continue
        const how = test.status === 'passed' ? 'passed only after a retry' : 'failed'
        const reason = (test.failureMessages[0] ?? '').split('\n').slice(0, REASON_LINES).join('\n  ')
        troubles.push(`${how} on ${runtime}: ${test.fullName}\n  ${reason}`)
      }
    }
    return {
      passed: report.numPassedTests,
      failed: report.numFailedTests,
      skipped: report.numPendingTests + report.numTodoTests,
      leftOut,
    }
  } catch {
    return { passed: 0, failed: 1, skipped: 0, leftOut: 0 }
  }
}

/** Which tests were skipped, and how to run them. */
function notes() {
  const found = [postgres.note]
  if (!isLong) {
    found.push(
      `Skipped: ${total.leftOut} long tests, most runs of random tests, and services on PostgreSQL (its stores are tested ` +
        'when a server is installed). To run them: LOCKHOUSE_TEST_LONG=1 npm test',
    )
  }
  if (!chosen) found.push('Not included: npm run test:web, npm run test:interop, npm run test:cluster')
  return found.filter((note) => note !== undefined)
}
