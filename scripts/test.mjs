// `npm test`: installs what is missing and runs the suite under Bun and under Node, then sums up both. Without
// LOCKHOUSE_TEST_LONG=1 tests tagged `long` are skipped; without a PostgreSQL server on this machine, the tests that need it. Other projects: `node scripts/test.mjs --project interop …`.
// Only one runtime: `npm test -- --runtime node`; on Deno: `npm run test:deno`. LOCKHOUSE_TEST_LONG=only runs the long tests alone.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureInstalled, root, runtimePath } from './ensure-installed.mjs'
import { makeMemoryFolder } from './testing/memory-folder.mjs'
import { startPostgres } from './testing/postgres.mjs'
import { filesToRepeat, readRun, slowestFiles, summarize, withRepeated } from './testing/report.mjs'

ensureInstalled()
const { runtime: only, args } = readArguments(process.argv.slice(2))
const chosen = args.includes('--project')
const selection = chosen ? args : ['--project', 'suite', ...args]
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const reports = mkdtempSync(join(tmpdir(), 'lockhouse-test-'))
// Tests that need Python, Java, a browser or minutes run on Bun only; the suite and the tests of a real cluster run on both.
const runtimes = only === 'deno' ? ['deno'] : chosen && !args.includes('cluster') ? ['bun'] : ['bun', 'node']
const total = { passed: 0, failed: 0, skipped: 0, leftOut: 0 }
/** Before the arguments of vitest, for each runtime. */
const FLAGS = {
  bun: ['--bun', vitest],
  node: ['--disable-warning=ExperimentalWarning', vitest],
  deno: ['run', '--quiet', '--allow-all', vitest],
}
/** Sessions of Spark end before the second compiler pays: a test of 260 s on two busy cores takes 100 s without it. */
const QUICK_JAVA = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
/** Failures and retries, repeated at the end of the output, where they are easy to find. */
const troubles = []
const summary = []
const slow = []
const isLong = ['1', 'only'].includes(process.env.LOCKHOUSE_TEST_LONG)
// What ends this process usually ends the test run too, as a key or a time limit does; it cleans up afterwards.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined)
const memory = makeMemoryFolder()
const needsPostgres = !chosen || args.includes('interop') || args.includes('faults')
const postgres = needsPostgres ? startPostgres() : { env: {}, stop() {}, note: undefined, isThere: false }
// CI must not skip tests because of a missing server.
if (process.env.CI && needsPostgres && !postgres.isThere) {
  fail(`every runtime: ${postgres.note}`)
}

for (const name of runtimes.filter((one) => only === undefined || one === only)) run(name)
postgres.stop()
memory.remove()
rmSync(reports, { recursive: true, force: true })
// Failures last, where they are easy to find.
for (const trouble of troubles.toSorted((a, b) => Number(a.startsWith('failed')) - Number(b.startsWith('failed')))) {
  console.log(`\n${trouble}`)
}
console.log(`\n${slow.join('\n')}`)
console.log(`\n${[...summary, ...notes()].join('\n')}`)
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exit(total.failed > 0 || total.passed + total.skipped === 0 ? 1 : 0)

function fail(why) {
  total.failed += 1
  troubles.push(`failed on ${why}`)
}

function readArguments(all) {
  const at = all.indexOf('--runtime')
  return at === -1 ? { runtime: undefined, args: all } : { runtime: all[at + 1], args: all.toSpliced(at, 2) }
}

/** Runs the tests under one runtime; vitest prints each file as it finishes. */
function run(name) {
  const runtime = runtimePath(name)
  if (!runtime) {
    const why = `${name}: not run: it needs Node 22 or newer, but this is ${process.version}`
    summary.push(why)
    if (process.env.CI) fail(why)
    return
  }
  console.log(`\n# ${name}`)
  const started = Date.now()
  let done = vitestRun(name, runtime, selection)
  // Where nobody can look at once: as the setting `retry` in vitest.config.ts, for what that does not repeat.
  const again = process.env.CI ? filesToRepeat(done) : []
  if (again.length > 0) {
    console.log(`\n# ${name}, once more: ${again.join(' ')}`)
    done = withRepeated(done, vitestRun(name, runtime, [...optionsOf(selection), ...again]))
  }
  const { counts, troubles: found } = summarize(done, name)
  troubles.push(...found)
  slow.push(`slowest files on ${name}:`, ...slowestFiles(done))
  for (const key of Object.keys(total)) total[key] += counts[key]
  const seconds = Math.round((Date.now() - started) / 1000)
  const time = `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  summary.push(`${name}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped, in ${time}`)
}

function vitestRun(name, runtime, args) {
  const report = join(mkdtempSync(join(reports, name)), 'report.jsonl')
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'testing', 'reporter.mjs')}`]
  const java = { JDK_JAVA_OPTIONS: process.env.JDK_JAVA_OPTIONS ?? QUICK_JAVA }
  // Tests start hundreds of processes: with compiled modules at hand, the command line takes a third of the processor time.
  const compiled = name === 'node' ? { NODE_COMPILE_CACHE: join(memory.env.TMPDIR ?? reports, 'compiled') } : {}
  const env = { ...process.env, ...java, ...compiled, ...postgres.env, ...memory.env, LOCKHOUSE_TEST_REPORT: report }
  const end = spawnSync(runtime, [...FLAGS[name], 'run', ...args, ...reporters], { cwd: root, stdio: 'inherit', env })
  return readRun(report, end)
}

/** Arguments without the files that they choose. */
function optionsOf(args) {
  return args.filter((arg, at) => arg.startsWith('-') || ['--project', '-t'].includes(args[at - 1]))
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
