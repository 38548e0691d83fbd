import { sleep } from '../../../lib/sleep.ts'
import type { CatalogToCheck, CheckLimits } from '../../../catalog/open-catalog.ts'
import type { CatalogSettings } from '../../../catalog/settings.ts'
import type { RequestContext } from '../../../domain/audit.ts'
import { DomainError } from '../../../domain/errors.ts'
import { passwordIn } from '../../../domain/network/uri-password.ts'
import type { SetCatalogConfigRequest } from '../../../schemas/catalog-config.ts'
import type { ConnectionTest } from '../../../schemas/tables/catalog-test.ts'
import type { InTransaction } from '../../../storage/transactions.ts'
import type { AuditRecorder } from '../../audit/audit-service.ts'
import type { Logger } from '../../logger.ts'
import type { CatalogService } from '../catalog-service.ts'
import { findSettings } from '../configured-catalogs.ts'
import { mergeSettings } from '../merged-settings.ts'
import { isHarmless, secretsOf } from '../shown-settings.ts'
import type { TestRun } from './checks.ts'
import { runChecks, TEST_LIMITS, type TestLimits } from './run-checks.ts'
import { readValues, redactor } from '../secret-texts.ts'

export interface ConnectionTestsDeps {
  readonly catalog: Pick<CatalogService, 'settings' | 'others'>
  /** Opens a catalog for a test, which creates nothing. `isNew`: settings that are not stored, which must fulfil more. */
  readonly openToCheck: (
    settings: CatalogSettings,
    options: CheckLimits & { readonly isNew: boolean },
  ) => Promise<CatalogToCheck>
  readonly readSecret: (name: string) => string | undefined
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly log: Logger
  readonly limits?: TestLimits | undefined
}

/** Who asks for a test, and how. */
export interface ConnectionTestOptions {
  readonly context: RequestContext
  /** Whether a commit is sent that a REST catalog must refuse. */
  readonly commit: boolean
  /** Aborted when the caller is gone. */
  readonly signal: AbortSignal
}

/**
 * Tests the connections of catalogs (docs/api.md#test-a-catalog). Each test opens the catalog again, apart from the one in
 * use, and changes neither tables nor the configuration. At most one test runs at a time for each configured catalog, and
 * one for settings that are not stored: another one is refused with `CONFLICT`.
 */
export interface ConnectionTests {
  /** Tests a configured catalog. Throws `NOT_FOUND`, `CONFLICT`. */
  testStored(name: string, options: ConnectionTestOptions): Promise<ConnectionTest>
  /** Tests the settings of a request without storing them. Throws `CONFLICT`, and as {@link mergeSettings}. */
  testDraft(request: SetCatalogConfigRequest, options: ConnectionTestOptions): Promise<ConnectionTest>
  /** Cancels running tests, and waits a while for the catalogs that they opened. */
  close(): Promise<void>
}

/** How long the catalog of a test stays open for work that outlived its time, ms: then the work fails. */
const MAX_LINGER_MS = 120_000
/** How long the end of the service waits for such work, ms: a probe is deleted by it. */
const CLOSE_WAIT_MS = 10_000

/** Tests over the configured catalogs. */
export function createConnectionTests(deps: ConnectionTestsDeps): ConnectionTests {
  const running = new Map<string, Promise<unknown>>()
  const lingering = new Set<Promise<unknown>>()
  const stopping = new AbortController()

  /** Runs a test; the catalog that it opened may stay open longer. */
  async function start(subject: Subject, { context, commit, signal }: ConnectionTestOptions): Promise<ConnectionTest> {
    const ends = AbortSignal.any([signal, stopping.signal])
    const { result, closing } = await test(deps, subject, { isCommitAsked: commit, signal: ends })
    lingering.add(closing)
    void closing.finally(() => lingering.delete(closing))
    await record(deps, { subject, result, context })
    return result
  }

  async function inTurn(subject: Subject, options: ConnectionTestOptions): Promise<ConnectionTest> {
    if (running.has(subject.key)) throw new DomainError('CONFLICT', subject.busy)
    const work = start(subject, options)
    running.set(subject.key, work)
    try {
      return await work
    } finally {
      running.delete(subject.key)
    }
  }

  async function allClosed(): Promise<void> {
    await Promise.allSettled(running.values())
    await Promise.allSettled(lingering)
  }

  return {
    async testStored(name, options) {
      const settings = findSettings(deps.catalog, name)
      const busy = `a test of the catalog ${JSON.stringify(name)} is running: wait for its result`
      return inTurn({ key: `stored ${name}`, settings, isNew: false, busy }, options)
    },
    async testDraft(request, options) {
      const settings = mergeSettings(request, storedFor(deps.catalog, request.catalog_name))
      const busy = 'a test of settings that are not stored is running: wait for its result'
      return inTurn({ key: 'draft', settings, isNew: true, busy }, options)
    },
    async close() {
      stopping.abort()
      const waited = new AbortController()
      await Promise.race([allClosed(), sleep(CLOSE_WAIT_MS, waited.signal)])
      waited.abort()
    },
  }
}

/** The settings whose secrets a draft may keep: those of the other catalog with its name, else those of the default one. */
function storedFor(catalog: ConnectionTestsDeps['catalog'], name: string): CatalogSettings | undefined {
  return catalog.others().find(({ settings }) => settings.catalogName === name)?.settings ?? catalog.settings()
}

/** What is tested. */
interface Subject {
  /** Tests with the same key do not run at the same time. */
  readonly key: string
  readonly settings: CatalogSettings
  readonly isNew: boolean
  /** The refusal while such a test runs. */
  readonly busy: string
}

interface TestOptions {
  readonly isCommitAsked: boolean
  readonly signal: AbortSignal
}

interface EndedTest {
  readonly result: ConnectionTest
  /** Resolves when the catalog that was opened is closed. Never rejects. */
  readonly closing: Promise<void>
}

async function test(
  deps: ConnectionTestsDeps,
  { settings, isNew }: Subject,
  { isCommitAsked, signal }: TestOptions,
): Promise<EndedTest> {
  const { limits = TEST_LIMITS, log } = deps
  const startedAt = performance.now()
  const ended = new AbortController()
  const opening = once(() => deps.openToCheck(settings, { isNew, limitMs: limits.checkMs, signal: ended.signal }))
  const run: TestRun = { settings, isCommitAsked, open: opening.get, tables: [], table: undefined, probe: undefined }
  const works: Promise<unknown>[] = []
  const checks = await runChecks(run, {
    limits,
    signal,
    redact: redactor(hiddenValues(settings, deps.readSecret)),
    onWork: (work) => works.push(work),
    onUnexpected: (check, error) => log.error('a check of a catalog failed unexpectedly', { check, error }),
  })
  ended.abort() // requests to a REST server; a probe is still deleted
  const isFailed = signal.aborted || checks.some(({ outcome }) => outcome === 'failed')
  return {
    result: {
      catalog: settings.catalogName,
      outcome: isFailed ? 'failed' : 'ok',
      duration_ms: Math.round(performance.now() - startedAt),
      checks: [...checks],
    },
    closing: closeAfter(works, opening.started).catch((error: unknown) =>
      log.warn('a catalog that was tested could not be closed', { error }),
    ),
  }
}

interface Opening {
  readonly get: () => Promise<CatalogToCheck>
  /** The catalog that is open or being opened; undefined: nothing was opened. */
  readonly started: () => Promise<CatalogToCheck> | undefined
}

function once(open: () => Promise<CatalogToCheck>): Opening {
  let opened: Promise<CatalogToCheck> | undefined
  return { get: () => (opened ??= open()), started: () => opened }
}

/** Closes a catalog once the work on it has ended: a late check still deletes its file. */
async function closeAfter(works: readonly Promise<unknown>[], started: Opening['started']): Promise<void> {
  const ended = new AbortController()
  await Promise.race([Promise.allSettled(works), sleep(MAX_LINGER_MS, ended.signal)])
  ended.abort()
  const opened = await started()?.catch(() => undefined) // the check “reach” has reported it
  await opened?.catalog.close()
}

function hiddenValues(settings: CatalogSettings, readSecret: ConnectionTestsDeps['readSecret']) {
  const isHidden = (name: string): boolean =>
    !isHarmless(name) || settings.extraProps[name]?.startsWith('env:') === true
  const named = readValues(settings, readSecret).filter(([name]) => isHidden(name))
  const ofUri = passwordIn(settings.uri ?? '') === undefined ? [] : secretsOf({ ...settings, extraProps: {} })
  return [...named, ...ofUri.map((password) => ['password', password] as const)]
}

interface Tested {
  readonly subject: Subject
  readonly result: ConnectionTest
  readonly context: RequestContext
}

async function record({ inTransaction, audit }: ConnectionTestsDeps, { subject, result, context }: Tested) {
  const { catalogName, catalogType } = subject.settings
  const failed = result.checks.filter(({ outcome }) => outcome === 'failed').map(({ check }) => check)
  const details = { catalog_type: catalogType, stored: !subject.isNew, outcome: result.outcome, failed }
  await inTransaction((tx) =>
    audit.record(tx, { ...context, action: 'catalog.test', objectType: 'catalog', objectId: catalogName, details }),
  )
}
