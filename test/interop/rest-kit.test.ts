import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OutputTail } from './harness/child-output.ts'
import { REST_KIT_JARS, restKitAvailable } from './harness/environment.ts'
import { Service } from './harness/service.ts'

const available = restKitAvailable("Iceberg's compatibility kit for REST catalogs")

/** Tests of the kit that do not pass, and why. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  dropAfterRenameDoesntCorruptTable: 'it drops with a purge at its end',
  testDropTableWithPurge: 'a purge is refused: no client deletes the files of a table through the service',
}
const FEWEST_PASSED = 93

/** What Java's client says when the configuration does not list an endpoint. */
const NO_VIEWS = 'Server does not support endpoint'
const FEWEST_VIEW_TESTS = 40
const MAX_REASON = 2000

describe.skipIf(!available)("Iceberg's compatibility kit", { timeout: 1_800_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'lockhouse-kit-')) : ''
  let service: Service

  beforeAll(async () => {
    service = await Service.start({ home: join(folder, 'home'), env: { LOCKHOUSE_DEMO: '0' } })
  })

  afterAll(async () => {
    await service?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** A new catalog, because the kit starts from an empty one. */
  async function configureCatalog(): Promise<void> {
    const place = mkdtempSync(join(folder, 'catalog-'))
    mkdirSync(join(place, 'warehouse'))
    const answer = await service.put('/api/config', {
      catalog_type: 'sql',
      catalog_name: 'kit',
      warehouse: join(place, 'warehouse'),
      uri: `sqlite:///${join(place, 'catalog.db')}`,
      create: true,
      extra_props: { 'allowed-locations': '/tmp' }, // the kit places some tables there
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  }

  /** Runs one class of the kit in a JVM of its own. */
  async function run(kitClass: string): Promise<Results & { readonly log: string }> {
    await configureCatalog()
    const reports = mkdtempSync(join(folder, 'reports-'))
    const kit = spawn(
      'java',
      [
        '-Drck.local=false',
        '-Drck.requires-namespace-create=true',
        '-cp',
        `${REST_KIT_JARS}/*`,
        'org.junit.platform.console.ConsoleLauncher',
        'execute',
        `--select-class=org.apache.iceberg.rest.${kitClass}`,
        `--reports-dir=${reports}`,
        '--details=none',
      ],
      {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          CATALOG_URI: `http://127.0.0.1:${service.port}/iceberg`,
          CATALOG_CREDENTIAL: `admin:${service.token}`,
          CATALOG_WAREHOUSE: 'kit',
        },
      },
    )
    const log = new OutputTail(kit.stdout, kit.stderr)
    await once(kit, 'close')
    const report = join(reports, 'TEST-junit-jupiter.xml')
    expect(existsSync(report), log.text).toBe(true)
    const found = results(readFileSync(report, 'utf8'))
    const { passed, failed, skipped } = found
    process.stdout.write(`${kitClass}: ${passed.length} passed, ${failed.length} failed, ${skipped} skipped\n`)
    return { ...found, log: log.text }
  }

  it('passes against the service, but for the exceptions', async () => {
    const { passed, failed, log } = await run('RESTCompatibilityKitCatalogTests')
    expect(
      failed.map(({ name }) => name),
      log,
    ).toEqual(Object.keys(EXCEPTIONS))
    expect(passed.length).toBeGreaterThanOrEqual(FEWEST_PASSED)
  })

  it('is told that there are no views, before it asks for one', async () => {
    const { failed, log } = await run('RESTCompatibilityKitViewCatalogTests')
    expect(failed.length).toBeGreaterThanOrEqual(FEWEST_VIEW_TESTS)
    const others = failed.filter(({ reason }) => !reason.includes(NO_VIEWS))
    expect(others, log).toEqual([])
  })
})

interface Results {
  /** Names of methods, sorted. */
  readonly passed: readonly string[]
  /** Sorted by name. */
  readonly failed: readonly { readonly name: string; readonly reason: string }[]
  readonly skipped: number
}

/** The outcome of every test case in a JUnit report. */
function results(xml: string): Results {
  const passed: string[] = []
  const failed: { name: string; reason: string }[] = []
  let skipped = 0
  for (const [, name = '', rest = ''] of xml.matchAll(/<testcase name="(\w+)[^"]*"([^]*?)<\/testcase>/g)) {
    if (/<(failure|error)\b/.test(rest)) failed.push({ name, reason: rest.slice(0, MAX_REASON) })
    else if (/<skipped\b/.test(rest)) skipped += 1
    else passed.push(name)
  }
  return { passed: passed.sort(), failed: failed.sort((a, b) => (a.name < b.name ? -1 : 1)), skipped }
}
