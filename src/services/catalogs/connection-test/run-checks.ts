import { sleep } from '../../../lib/sleep.ts'
import type { CheckResult } from '../../../catalog/catalog-checks.ts'
import { DomainError } from '../../../domain/errors.ts'
import { isIcebergError } from '../../../iceberg/errors.ts'
import {
  CONNECTION_CHECK_NAMES,
  CONNECTION_CHECKS,
  type ConnectionCheck,
  type ConnectionCheckName,
} from '../../../schemas/tables/catalog-test.ts'
import { CHECK_WORK, type TestRun } from './checks.ts'
import { hintFor } from './hints.ts'
import type { Redact } from '../secret-texts.ts'

/** How long a test may take. */
export interface TestLimits {
  /** One check, ms. */
  readonly checkMs: number
  /** All checks, ms. */
  readonly wholeMs: number
}

/** The limits of a test: 10 s per check, 60 s for all. */
export const TEST_LIMITS: TestLimits = { checkMs: 10_000, wholeMs: 60_000 }

export interface RunOptions {
  readonly limits: TestLimits
  /** Aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal
  readonly redact: Redact
  /** Called with the work of each check, which may outlive its time: the catalog stays open until then. */
  readonly onWork: (work: Promise<unknown>) => void
  /** Called with an error that is neither a failure of the catalog nor one of its settings. */
  readonly onUnexpected: (check: ConnectionCheckName, error: unknown) => void
}

const CREATES_NOTHING = 'A test creates nothing. Set the catalog with create: true, then test it again.'

/** Longer texts are cut: a server chooses them. */
const MAX_TEXT = 1000

/** Runs every check in order. A check whose needs are not met is skipped; one for which no time remains fails. Never throws. */
export async function runChecks(run: TestRun, options: RunOptions): Promise<readonly ConnectionCheck[]> {
  const endsAt = performance.now() + options.limits.wholeMs
  const done = new Map<ConnectionCheckName, ConnectionCheck>()
  for (const check of CONNECTION_CHECK_NAMES) {
    const startedAt = performance.now()
    const { outcome, detail, hint } = notRun(check, done, options) ?? (await runOne(check, run, { ...options, endsAt }))
    done.set(check, {
      check,
      outcome,
      detail: shown(detail, options.redact),
      ...(hint === undefined ? {} : { hint: shown(hint, options.redact) }),
      duration_ms: Math.max(0, Math.round(performance.now() - startedAt)),
    })
  }
  return [...done.values()]
}

type Finding = CheckResult | { readonly outcome: 'failed'; readonly detail: string; readonly hint?: string }

/** Why a check is not run; undefined: it is run. */
function notRun(
  check: ConnectionCheckName,
  done: ReadonlyMap<ConnectionCheckName, ConnectionCheck>,
  { signal }: RunOptions,
): Finding | undefined {
  if (signal.aborted) return { outcome: 'skipped', detail: 'The test was cancelled.' }
  for (const need of CONNECTION_CHECKS[check].needs) {
    const found = done.get(need)
    if (found?.outcome === 'failed') return { outcome: 'skipped', detail: `The check “${need}” failed.` }
    if (found?.outcome === 'skipped') return { outcome: 'skipped', detail: found.detail }
  }
  return undefined
}

async function runOne(
  check: ConnectionCheckName,
  run: TestRun,
  { limits, endsAt, signal, onWork, onUnexpected }: RunOptions & { readonly endsAt: number },
): Promise<Finding> {
  const limitMs = Math.min(limits.checkMs, endsAt - performance.now())
  if (limitMs <= 0)
    return { outcome: 'failed', detail: `The test ended after ${seconds(limits.wholeMs)}, before this check.` }
  const ended = new AbortController()
  const work = CHECK_WORK[check](run, AbortSignal.any([signal, ended.signal]))
  onWork(work)
  const hint = hintFor(check, run.settings.catalogType)
  try {
    const winner = await Promise.race([work, sleep(limitMs, AbortSignal.any([signal, ended.signal]))])
    if (winner !== undefined) return winner
    if (signal.aborted) return { outcome: 'skipped', detail: `The test was cancelled.${remains(run)}` }
    return { outcome: 'failed', detail: `There was no result within ${seconds(limitMs)}.${remains(run)}`, hint }
  } catch (error) {
    if (isIcebergError(error) || error instanceof DomainError) {
      const isMissing = error instanceof DomainError && error.message.includes('create: true')
      return { outcome: 'failed', detail: sentence(error), hint: isMissing ? CREATES_NOTHING : hint }
    }
    onUnexpected(check, error)
    return { outcome: 'failed', detail: 'The check failed unexpectedly; the log of the service has the error.', hint }
  } finally {
    ended.abort()
  }
}

/** The check `write` deletes its file also after its time, as soon as the store responds. */
function remains({ probe }: TestRun): string {
  return probe === undefined
    ? ''
    : ` The file ${probe} is deleted as soon as the store responds; delete it if it remains.`
}

function sentence({ message }: Error): string {
  return /[.!?…]$/.test(message) ? message : `${message}.`
}

function shown(text: string, redact: Redact): string {
  const clean = redact(text)
  return clean.length > MAX_TEXT ? `${clean.slice(0, MAX_TEXT)}…` : clean
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1000)} s`
}
