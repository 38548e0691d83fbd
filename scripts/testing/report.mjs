import { readFileSync } from 'node:fs'

/** Enough for the counterexample of a random test: a retry shows its error nowhere else. */
const REASON_LINES = 12
const LINE_LENGTH = 1000
/** Files in the list of slow files. */
const SLOWEST = 10
/** Signals of someone who wants the run to end, and the exit codes that stand for them. */
const ENDED = ['SIGINT', 'SIGTERM', 'SIGHUP']
const ENDED_CODES = [129, 130, 143]
/** Lines of the test runner and of the runtime itself, which do not say what failed. */
const NOISE =
  /^\s+at (?:native|(?:new )?Promise \((?:native|<anonymous>)\)|process\w+ \(native\)|.*\/node_modules\/vite(?:st)?\/)/

/**
 * What the reporter wrote about a run of vitest: the result of each file, and what failed outside of them. `end` is how the
 * process of vitest ended, as spawnSync tells it.
 */
export function readRun(path, end) {
  const lines = readLines(path)
  const files = new Map(lines.flatMap((line) => (line.ended ? [[line.ended, line]] : [])))
  const last = lines.find((line) => line.end)
  const all = lines.find((line) => line.all)?.all ?? []
  const outside = last?.troubles ?? [{ how: 'failed', name: crash(lines, files, end), reason: 'see its output' }]
  const isInterrupted = ENDED.includes(end.signal) || ENDED_CODES.includes(end.status)
  const unfinished = last ? [] : all.filter((file) => !files.has(file))
  return { files, outside, unfinished, isGood: end.status === 0, isInterrupted }
}

/**
 * Files to run once more: the test runner repeats tests that fail, but not hooks, errors outside of tests, and files of a
 * process that crashed. None when that cannot help.
 */
export function filesToRepeat({ files, outside, unfinished, isInterrupted }) {
  if (isInterrupted || [...files.values()].some(({ failedTests }) => failedTests > 0)) return []
  const given = [...files.values()].filter(({ isRetried }) => !isRetried).map(({ ended }) => ended)
  const named = outside.flatMap(({ file }) => (file ? [file] : []))
  const again = [...new Set([...given, ...unfinished])]
  const isUnknown = outside.length > named.length && again.length === 0
  return isUnknown ? [] : [...new Set([...again, ...named])]
}

/** The run with the results of the files that were repeated; their failures count as retries when they passed now. */
export function withRepeated(run, repeated) {
  const passed = ({ troubles, ...rest }) => ({ ...rest, troubles: troubles.map(asRetry) })
  const files = new Map(run.files)
  for (const [file, result] of repeated.files) {
    const before = run.files.get(file)?.troubles ?? []
    files.set(file, {
      ...result,
      troubles: [...before.map(repeated.isGood ? asRetry : (it) => it), ...result.troubles],
    })
  }
  const first = repeated.isGood ? passed({ troubles: run.outside }).troubles : run.outside
  const others = [...run.files.values()].filter(({ ended }) => !repeated.files.has(ended))
  const isGood = repeated.isGood && others.every(({ counts }) => counts.failed === 0)
  return { files, outside: [...first, ...repeated.outside], unfinished: repeated.unfinished, isGood }
}

function asRetry(trouble) {
  return { ...trouble, how: 'passed only after a retry' }
}

/**
 * Numbers of tests, and a text for each that failed or needed a retry, which begins with `failed on` or `passed only after a
 * retry on`.
 */
export function summarize({ files, outside, isGood }, runtime) {
  const counts = { passed: 0, failed: 0, skipped: 0, leftOut: 0 }
  for (const key of Object.keys(counts)) for (const file of files.values()) counts[key] += file.counts[key]
  const found = [...[...files.values()].flatMap(({ troubles }) => troubles), ...outside]
  if (!isGood && counts.failed === 0) counts.failed = 1
  if (!isGood && !found.some(({ how }) => how === 'failed')) {
    found.push({
      how: 'failed',
      name: 'the test runner',
      reason: 'it found no test, or failed for a reason in its output',
    })
  }
  return { counts, troubles: [...new Set(found.map((trouble) => textOf(trouble, runtime)))] }
}

/** The slowest test files of a run, one line each, slowest first: `  <seconds> s <file>`. */
export function slowestFiles({ files }) {
  const slowest = [...files.values()].toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)
  return slowest.map(({ ended, seconds }) => `  ${seconds} s ${ended}`)
}

function readLines(path) {
  try {
    const lines = readFileSync(path, 'utf8').trim().split('\n')
    return lines.map((line) => JSON.parse(line))
  } catch {
    return []
  }
}

function textOf({ how, name, reason }, runtime) {
  const lines = reason.split('\n').filter((line) => !NOISE.test(line))
  const shown = lines.slice(0, REASON_LINES).map((line) => `  ${line.slice(0, LINE_LENGTH)}`)
  return `${how} on ${runtime}: ${name}\n${shown.join('\n')}`
}

function crash(lines, files, { status, signal, error }) {
  const running = lines.flatMap(({ started }) => (started && !files.has(started) ? [started] : []))
  const how = error?.message ?? (signal ? `signal ${signal}` : `exit code ${status}`)
  return `the test runner crashed (${how})${running.length > 0 ? ` while it ran ${running.join(', ')}` : ''}`
}
