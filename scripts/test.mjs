// `npm test`: installs what is missing and runs the suite under Bun and under Node, then adds up both.
// `npm run test:interop` runs the projects that need Python, Java or minutes: `node scripts/test.mjs --project interop …`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureInstalled, root, runtimePath } from './ensure-installed.mjs'

ensureInstalled()
const args = process.argv.slice(2)
const chosen = args.includes('--project')
const selection = chosen ? args : ['--project', 'suite', ...args]
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const reports = mkdtempSync(join(tmpdir(), 'lockhouse-test-'))
// What needs Python, Java, a browser or minutes runs on Bun alone; the suite and a real cluster on both.
const runtimes = chosen && !args.includes('cluster') ? ['bun'] : ['bun', 'node']
const total = { passed: 0, failed: 0, skipped: 0 }
/** What has to be looked at, told again at the end where it is found. */
const troubles = []

for (const name of runtimes) {
  const runtime = runtimePath(name)
  if (!runtime) {
    console.log(`\nThe suite was not run under Node: it needs Node 22 or newer, this is ${process.version}.`)
    continue
  }
  console.log(`\n# ${name}`)
  const report = join(reports, `${name}.json`)
  const flags = name === 'bun' ? ['--bun', vitest] : ['--disable-warning=ExperimentalWarning', vitest]
  const run = spawnSync(
    runtime,
    [...flags, 'run', ...selection, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
    { cwd: root, stdio: 'inherit' },
  )
  const counts = readCounts(report, name)
  total.passed += counts.passed
  total.failed += counts.failed
  total.skipped += counts.skipped
  if (run.status !== 0 && counts.failed === 0) total.failed += 1
}
rmSync(reports, { recursive: true, force: true })
if (troubles.length > 0) console.log(`\n${troubles.join('\n')}`)
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exit(total.failed > 0 || total.passed + total.skipped === 0 ? 1 : 0)

function readCounts(path, runtime) {
  try {
    const report = JSON.parse(readFileSync(path, 'utf8'))
    for (const file of report.testResults) {
      if (file.status === 'failed' && file.message) troubles.push(`failed on ${runtime}: ${file.name}: ${file.message}`)
      for (const test of file.assertionResults) {
        if (test.status === 'pending' || test.failureMessages.length === 0) continue
        const how = test.status === 'passed' ? 'passed only when tried again' : 'failed'
        troubles.push(`${how} on ${runtime}: ${test.fullName}\n  ${test.failureMessages[0]?.split('\n', 1)[0]}`)
      }
    }
    return {
      passed: report.numPassedTests,
      failed: report.numFailedTests,
      skipped: report.numPendingTests + report.numTodoTests,
    }
  } catch {
    return { passed: 0, failed: 1, skipped: 0 }
  }
}
