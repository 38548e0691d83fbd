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
  testLoadTableWithMissingMetadataFile: '304 is answered from the pointer alone, without reading the file',
}
const FEWEST_PASSED = 90

describe.skipIf(!available)("Iceberg's compatibility kit", { timeout: 900_000 }, () => {
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

  it('passes against the service, but for the exceptions', async () => {
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
        '--select-class=org.apache.iceberg.rest.RESTCompatibilityKitCatalogTests',
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
    const { passed, failed, skipped } = results(readFileSync(report, 'utf8'))
    process.stdout.write(`compatibility kit: ${passed.length} passed, ${failed.length} failed, ${skipped} skipped\n`)
    expect(failed, log.text).toEqual(Object.keys(EXCEPTIONS))
    expect(passed.length).toBeGreaterThanOrEqual(FEWEST_PASSED)
  })
})

interface Results {
  /** Names of methods, sorted. */
  readonly passed: readonly string[]
  readonly failed: readonly string[]
  readonly skipped: number
}

/** The outcome of every test case in a JUnit report. */
function results(xml: string): Results {
  const passed: string[] = []
  const failed: string[] = []
  let skipped = 0
  for (const [, name = '', rest = ''] of xml.matchAll(/<testcase name="(\w+)[^"]*"([^]*?)<\/testcase>/g)) {
    if (/<(failure|error)\b/.test(rest)) failed.push(name)
    else if (/<skipped\b/.test(rest)) skipped += 1
    else passed.push(name)
  }
  return { passed: passed.sort(), failed: failed.sort(), skipped }
}
