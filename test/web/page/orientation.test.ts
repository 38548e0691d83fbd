import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

const SOON = { timeout: 60_000 }

describe.skipIf(chromiumPath === undefined)('orientation on the web page', () => {
  const journey = useJourney()

  it('opens the search with Ctrl K, also from inside a field', async () => {
    const page = await journey.openTables()
    await page.getByPlaceholder('Filter by name').click()
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').waitFor()
    await page.keyboard.press('Escape')
    await page.getByPlaceholder('Filter by name').fill('a/b')
    await expect.poll(() => page.getByRole('dialog').count(), SOON).toBe(0)
  })

  it('returns to a list with its previous filters', async () => {
    const page = await journey.signIn(undefined, { at: '/tables?q=event' })
    await page.getByRole('link', { name: /events/ }).click()
    await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name: 'Tables' }).click()
    await page.waitForURL(/\/tables\?q=event$/)
    expect(await page.getByPlaceholder('Filter by name').inputValue()).toBe('event')
  })

  it('shows effective defaults of empty options, and after a compaction which data remains', async () => {
    const page = await journey.signIn(undefined, { at: '/tables/demo.trips?action=compact' })
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('button', { name: 'More options' }).click()
    await expect.poll(() => drawer.getByLabel('Target file size').getAttribute('placeholder'), SOON).toBe('512 MiB')
    expect(await drawer.getByLabel('Rewrite files smaller than').getAttribute('placeholder')).toBe('384 MiB')
    await drawer.getByRole('button', { name: 'Preview' }).click()
    await drawer.getByRole('button', { name: 'Compact', exact: true }).click()
    await drawer.getByText('The old files are kept until the snapshots that use them expire.').waitFor()
    await drawer.getByRole('link', { name: 'Open operation' }).click()
    await page.getByText('The old files are kept until the snapshots that use them expire.').waitFor()
    await page.getByRole('link', { name: 'Expire snapshots' }).waitFor()
    await page.getByRole('link', { name: 'View in audit log' }).click()
    await page.locator('ol button[aria-expanded]').first().click()
    await page.getByRole('link', { name: 'Open operation' }).first().click()
    await page.getByRole('heading', { name: 'Compact' }).waitFor()
  })

  it('shows the catalog name everywhere, and reports a table missing from the new catalog after a switch', async () => {
    const lead = await journey.signIn()
    const other = await journey.signIn()
    const side = other.getByRole('navigation', { name: 'Main navigation' })
    await side.getByRole('link', { name: /^Catalog / }).waitFor()
    const before = await side.getByRole('link', { name: /^Catalog / }).innerText()
    const config = await journey.house.call('GET', '/api/config')
    await journey.house.call('PUT', '/api/config', {
      ...config,
      create: true,
      catalog_name: 'elsewhere',
      uri: config.uri.replace(/[^/]+$/, 'elsewhere.db'),
      warehouse: join(config.warehouse.replace(/^file:\/\//, ''), '..', 'elsewhere'),
    })
    await side.getByRole('link', { name: 'Catalog elsewhere' }).waitFor()
    expect(before).not.toContain('elsewhere')
    await lead.goto(`${journey.house.url}/tables/demo.events`)
    await lead.getByText('The catalog elsewhere has no table demo.events.').waitFor()
  })
})
