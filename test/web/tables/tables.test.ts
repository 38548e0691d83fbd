import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath, openBrowser, visit } from '../support/browser.ts'
import { type House, startHouse } from '../support/house.ts'

describe.skipIf(chromiumPath === undefined)('tables on the web page', () => {
  let house: House
  let browser: Browser
  beforeAll(async () => {
    house = await startHouse()
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await house?.close()
  })

  it('are reachable from the first link, and can be compacted', async () => {
    const { page, complaints, close } = await visit(browser)
    await page.goto(house.link)
    await page.waitForURL(house.start)
    expect(page.url()).not.toContain('token')
    await page.getByRole('link', { name: 'Tables', exact: true }).click()
    await page.getByRole('heading', { name: 'Tables', level: 1 }).waitFor() // the overview links tables too
    await page.getByRole('link', { name: 'demo.events', exact: true }).click()
    await page.getByRole('tab', { name: 'Health' }).click()
    await page.getByText('240 data files (2.6 MiB) become 1').first().waitFor()
    await page.getByText('Preview compaction').click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('240').first().waitFor()
    expect((await house.call('GET', '/api/table/demo.events/health')).data_file_count).toBe(240)
    await drawer.getByRole('button', { name: 'Compact', exact: true }).click()
    await drawer.getByText(/^Done in /).waitFor({ timeout: 120_000 }) // the progress may say “100 of 240 files”
    const health = await house.call('GET', '/api/table/demo.events/health')
    expect(health).toMatchObject({ data_file_count: 1, delete_file_count: 0, score: 100, record_count: 119_400 })
    expect(await accessibilityBreaches(page)).toEqual([])
    expect(complaints).toEqual([])
    await close()
  })
})
