// A reporter for vitest: appends one line of JSON to the file LOCKHOUSE_TEST_REPORT when a test file starts or ends, so that
// the file is complete up to a crash of the runtime; `report.mjs` reads it.
import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'

export default class {
  #ended = new Set()

  onTestRunStart(specifications) {
    write({ all: specifications.map(({ moduleId }) => shortName(moduleId)) })
  }

  onTestModuleQueued(module) {
    write({ started: shortName(module.moduleId) })
  }

  onTestModuleEnd(module) {
    this.#ended.add(module.id)
    write(resultOf(module))
  }

  onTestRunEnd(modules, errors) {
    for (const module of modules) if (!this.#ended.has(module.id)) write(resultOf(module))
    const troubles = errors.map((error) => {
      const file = error.VITEST_TEST_PATH && shortName(error.VITEST_TEST_PATH)
      return { ...failure(`${file ?? 'unknown file'}: outside of a test`, error), file }
    })
    write({ end: true, troubles })
  }
}

function write(line) {
  appendFileSync(process.env.LOCKHOUSE_TEST_REPORT, `${JSON.stringify(line)}\n`)
}

function shortName(path) {
  return relative(process.cwd(), path)
}

/**
 * The counts of a file, with everything that failed or needed a retry: tests, hooks of suites, and the file itself.
 * `isRetried`: nothing but tests failed, which the test runner has tried again.
 */
function resultOf(module) {
  const file = shortName(module.moduleId)
  const counts = { passed: 0, failed: 0, skipped: 0, leftOut: 0 }
  let failedTests = 0
  const tests = [...module.children.allTests()]
  const troubles = [...module.errors().map((error) => failure(file, error)), ...hookFailures(file, module)]
  const isRetried = troubles.length === 0 && tests.every((test) => test.result().state !== 'pending')
  for (const test of tests) {
    const { state, errors } = test.result()
    const name = `${file}: ${test.fullName}`
    if (state === 'passed') counts.passed += 1
    else if (state !== 'failed') counts.skipped += 1
    if (state === 'skipped' && test.tags.includes('long')) counts.leftOut += 1
    if (state === 'failed') {
      failedTests += 1
      troubles.push(failure(name, errors[0]))
    } else if (state === 'passed' && errors?.length > 0) {
      troubles.push({ ...failure(name, errors[0]), how: 'passed only after a retry' })
    }
  }
  counts.failed = troubles.filter(({ how }) => how === 'failed').length
  return { ended: file, counts, failedTests, troubles, isRetried }
}

function hookFailures(file, module) {
  return [...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map((error) => failure(`${file}: ${suite.fullName}: a hook`, error)),
  )
}

function failure(name, error) {
  const causes = []
  for (let { cause } = error ?? {}; cause && causes.length < 3; { cause } = cause)
    causes.push(`caused by: ${textOf(cause)}`)
  return { how: 'failed', name, reason: [textOf(error), ...causes].join('\n') }
}

function textOf(error) {
  return String(error?.stack || error?.message || error)
}
