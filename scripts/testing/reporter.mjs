// A reporter for vitest: appends one line of JSON to the file LOCKHOUSE_TEST_REPORT when a test file starts or ends, so that
// the file is complete up to a crash of the runtime; `report.mjs` reads it.
import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'

export default class {
  #ended = new Set()
  #isChosen = () => true

  onInit(vitest) {
    this.#isChosen = chosenByTag(vitest.config.tagsFilter?.[0])
  }

  onTestRunStart(specifications) {
    write({ all: specifications.map(({ moduleId }) => shortName(moduleId)) })
  }

  onTestModuleQueued(module) {
    write({ started: shortName(module.moduleId) })
  }

  onTestModuleEnd(module) {
    this.#ended.add(module.id)
    write(resultOf(module, this.#isChosen))
  }

  onTestRunEnd(modules, errors) {
    for (const module of modules) if (!this.#ended.has(module.id)) write(resultOf(module, this.#isChosen))
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
 * The duration and counts of a file, with everything that failed or needed a retry: tests, hooks of suites, and the file
 * itself. `skipped` counts selected tests that did not run; `leftOut` counts tests that the tag filter excludes.
 * `isRetried`: nothing but tests failed, which the test runner has tried again.
 */
function resultOf(module, isChosen) {
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
    else if (state !== 'failed' && isChosen(test)) counts.skipped += 1
    else if (state !== 'failed') counts.leftOut += 1
    if (state === 'failed') {
      failedTests += 1
      troubles.push(failure(name, errors[0]))
    } else if (state === 'passed' && errors?.length > 0) {
      troubles.push({ ...failure(name, errors[0]), how: 'passed only after a retry' })
    }
  }
  counts.failed = troubles.filter(({ how }) => how === 'failed').length
  const seconds = Math.round(module.diagnostic().duration / 1000)
  return { ended: file, seconds, counts, failedTests, troubles, isRetried }
}

/** Tells whether a tag filter (`long`, `!long` or none) selects a test; vitest reports all other tests as skipped. */
function chosenByTag(filter) {
  if (!filter) return () => true
  const isLong = filter === 'long'
  return ({ tags }) => tags.includes('long') === isLong
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
