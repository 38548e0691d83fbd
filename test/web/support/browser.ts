import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import { CI_SLOWNESS } from '../../support/waiting.ts'

/** The Chromium that runs the tests; undefined: none, and the tests are skipped. */
export const chromiumPath: string | undefined =
  process.env['LOCKHOUSE_CHROMIUM'] ??
  ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path))

if (chromiumPath === undefined) {
  console.warn('Tests of the web page are skipped: LOCKHOUSE_CHROMIUM names no browser (scripts/setup/chromium.sh)')
}

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
]
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The browser logs every error status of the API; showing these errors is the task of the page. */
const ANSWERED = /^Failed to load resource: the server responded with a status of (4\d\d|503)/

export type Theme = 'light' | 'dark'

/** One window of one user. */
export interface Visit {
  readonly page: Page
  /** Console errors and warnings of the page, and exceptions of its scripts; empty if all is well. */
  readonly complaints: readonly string[]
  close(): Promise<void>
}

export interface VisitOptions {
  readonly theme?: Theme
  /** Size of the window, in CSS pixels; default 1440 × 900. */
  readonly size?: { readonly width: number; readonly height: number }
}

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath ?? '', args: FLAGS })
}

/** A window with its own cookies, not signed in. */
export async function visit(browser: Browser, { theme = 'light', size }: VisitOptions = {}): Promise<Visit> {
  const context = await browser.newContext({
    colorScheme: theme,
    reducedMotion: 'reduce',
    viewport: size ?? { width: 1440, height: 900 },
    acceptDownloads: true,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000 * CI_SLOWNESS)
  const complaints: string[] = []
  page.on('console', (message) => {
    const isNoted = message.type() === 'error' || message.type() === 'warning'
    if (isNoted && !ANSWERED.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { page, complaints, close: () => context.close() }
}

/** Violations of WCAG 2.2 AA and of best practices on the current page: rule, count, first place. */
export async function accessibilityBreaches(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async () => {
    // oxlint-disable-next-line typescript/no-explicit-any -- a global that the text above defines
    const { violations } = await (globalThis as any).axe.run()
    return violations.map(
      (breach: { id: string; nodes: { target: unknown[] }[] }) =>
        `${breach.id} × ${breach.nodes.length}: ${JSON.stringify(breach.nodes[0]?.target)}`,
    )
  })
}
