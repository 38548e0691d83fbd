import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { openSparkClient } from '../../../src/engines/spark/connect/open-spark-client.ts'
import { until } from '../../support/waiting.ts'
import { accessibilityBreaches, chromiumPath } from '../../web/support/browser.ts'
import { useJourney } from '../../web/support/journey.ts'
import { pyicebergAvailable, sparkConnectAvailable, SQLITE_JDBC_JAR } from '../harness/environment.ts'
import { type Lakehouse, openLakehouse } from '../harness/lakehouse.ts'
import { houseCatalog, SparkConnect } from '../harness/spark-connect.ts'
import { newSession, sql } from './lake.ts'
import { COMMITS, makeTable, readTable, type TableInPyIceberg } from './large-table.ts'

const ROWS_PER_COMMIT = 5000
/** For the page and Spark on a busy machine. */
const PATIENCE_MS = 120_000
const suite = 'the web page and Spark'
const available =
  chromiumPath !== undefined && sparkConnectAvailable(suite) && pyicebergAvailable(suite) && SQLITE_JDBC_JAR

describe.skipIf(!available)('a table that is too large for the service, on the web page', { timeout: 300_000 }, () => {
  let folder: string | undefined
  let lake: Lakehouse
  let spark: SparkConnect | undefined
  let before: TableInPyIceberg

  afterAll(async () => {
    await spark?.stop()
    await lake?.close()
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })

  const journey = useJourney(async () => {
    folder = mkdtempSync(join(tmpdir(), 'interop-spark-page-'))
    lake = await openLakehouse(folder)
    await lake.catalog.createNamespace(['db'])
    const settings = { ...houseCatalog('lockhouse', folder), 'spark.connect.progress.reportInterval': '200ms' }
    const reading = makeTable(lake, 'large', ROWS_PER_COMMIT).then((table) => readTable(lake, table))
    spark = await SparkConnect.start({ scratch: folder, warehouse: `${folder}/hadoop`, settings })
    before = await reading
    await openTable(spark.remote())
    return { env: { LOCKHOUSE_DEMO: '0', SPARK_REMOTE: spark.remote(), ENGINE_EMBEDDED_MAX_BYTES: '10KB' } }
  })

  /** Opens the table in Spark: the first time that takes longer than the service waits for an answer. */
  async function openTable(remote: string): Promise<void> {
    const client = openSparkClient(remote)
    const open = () => sql(newSession(client), 'DESCRIBE lockhouse.db.large').catch(() => undefined)
    await until(open, 'Spark answers', PATIENCE_MS)
    await client.close()
  }

  async function signIn(): Promise<Page> {
    await journey.house.call('PUT', '/api/config', lake.settings)
    const page = await journey.signIn(await journey.house.addUser('ana', 'DataEngineer'))
    page.setDefaultTimeout(PATIENCE_MS)
    return page
  }

  /** The dialog of a compaction, opened from the menu of the table, as for every table. */
  async function openCompact(page: Page): Promise<Locator> {
    await page.goto(`${journey.house.url}/tables/db.large`)
    await page.getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: /^Compact/ }).click()
    return page.getByRole('dialog')
  }

  const load = () => lake.catalog.loadTable({ namespace: ['db'], name: 'large' })
  const operations = async (): Promise<readonly unknown[]> =>
    (await journey.house.call('GET', '/api/operations')).operations

  it('is compacted by Spark, and PyIceberg reads the same rows', async () => {
    expect(before.rows.count).toBe(COMMITS * ROWS_PER_COMMIT)
    const page = await signIn()
    const drawer = await openCompact(page)
    await drawer.getByRole('button', { name: 'More options' }).click()
    expect(await drawer.getByRole('combobox', { name: 'Engine' }).inputValue()).toBe('Automatic')
    await drawer.getByRole('button', { name: 'Preview' }).click()
    const choice = /^Engine: Spark\. Reason: the plan rewrites .+, more than ENGINE_EMBEDDED_MAX_BYTES \(9\.8 KiB\)\.$/
    await drawer.getByText(choice).waitFor()
    await drawer.getByText('Preview only. Nothing has been changed yet.').waitFor()
    expect(await operations()).toEqual([])
    expect(await accessibilityBreaches(page)).toEqual([])

    await drawer.getByRole('button', { name: 'Compact', exact: true }).click()
    await drawer.getByRole('progressbar', { name: 'Progress of Compact' }).waitFor()
    await drawer.getByText(/^\d+ of 24 files, /).waitFor()
    await drawer.getByText(/^Done in /).waitFor()
    await drawer.getByText(choice).waitFor()
    const files = drawer.getByRole('row', { name: /^Data files/ }).getByRole('cell')
    expect(await files.allInnerTexts()).toEqual([String(2 * COMMITS), '2', '−22 better'])

    const after = await readTable(lake, 'db.large')
    expect(after.rows).toEqual(before.rows)
    const written = after.snapshots.slice(before.snapshots.length)
    expect(written).toMatchObject([
      { operation: 'replace', summary: { 'engine-name': 'spark', 'app-id': expect.stringMatching(/^local-\d+$/) } },
    ])
  })

  it('is left alone when Spark does not answer, and the dialog says what to configure', async () => {
    const { metadataLocation } = await load()
    const started = await operations()
    const address = `sc://127.0.0.1:${spark?.port}`
    await spark?.stop()
    const page = await signIn()
    const drawer = await openCompact(page)
    await drawer.getByRole('button', { name: 'More options' }).click()
    await drawer.getByLabel('Rewrite all files, regardless of size').check()
    await drawer.getByRole('button', { name: 'Preview' }).click()
    await drawer.getByText(`Spark at ${address} does not answer: start it, or correct SPARK_REMOTE`).waitFor()
    expect(await drawer.getByRole('button', { name: /^Apply/ }).count()).toBe(0)
    expect(await accessibilityBreaches(page)).toEqual([])
    expect(await operations()).toEqual(started)
    expect((await load()).metadataLocation).toBe(metadataLocation)
  })
})
