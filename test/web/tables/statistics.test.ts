import { expect, describe, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

describe.skipIf(chromiumPath === undefined)('statistics on the web page', { timeout: 300_000 }, () => {
  const journey = useJourney()

  it('are those of the manifests, and of a sample once the user measures one', async () => {
    await expect
      .poll(async () => (await journey.house.call('GET', '/api/tables')).tables.length, { timeout: 120_000 })
      .toBeGreaterThan(2)
    const page = await journey.signIn(undefined, { at: '/tables/demo.orders?tab=statistics' })
    const grid = page.getByRole('grid', { name: 'Statistics of the columns of demo.orders' })
    await grid.getByRole('columnheader', { name: 'Lower bound' }).waitFor()
    const measure = page.getByRole('button', { name: 'Measure a sample' })
    await page.getByText(/^Reads up to \d+ of \d+ data files, /).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await measure.click()
    await page.getByText(/^Figures of (a sample|all rows)$/).waitFor()
    await grid.getByRole('columnheader', { name: 'Most frequent' }).waitFor()
    const { profile } = await journey.house.call('GET', '/api/table/demo.orders/statistics?profile=true')
    await page.getByText(profile.rule, { exact: false }).or(page.getByText('every row of the table')).waitFor()
    const first = grid.getByRole('row').nth(1)
    // the sample says what it must guess: every order has an id of its own
    expect(await first.innerText()).toMatch(/^order_id\s+long\s+0 %\s+about \d{3},\d{3}\s/)
    await page.getByRole('textbox', { name: 'Filter columns' }).fill('total')
    await expect.poll(() => grid.getByRole('row').count()).toBe(2)
    expect(await accessibilityBreaches(page)).toEqual([])
  })

  it('draw the bounds of files in the column that the address names', async () => {
    const page = await journey.signIn(undefined, { at: '/tables/demo.events?tab=statistics' })
    await page.getByText(/^The table has no sort order/).waitFor()
    await page.getByRole('combobox', { name: 'Column of the picture' }).click()
    await page.getByRole('option', { name: 'user_id' }).click()
    await expect.poll(() => page.url()).toContain('column=user_id')
    const picture = page.getByRole('img', { name: /^On average, the bounds of a data file in user_id overlap/ })
    await picture.waitFor()
    const { bars } = await journey.house.call('GET', '/api/table/demo.events/file-bounds?column=user_id')
    expect(await picture.locator('rect').count()).toBe(bars.length)
    await page.getByRole('button', { name: 'Show as table' }).click()
    const grid = page.getByRole('grid', { name: 'Bounds of the data files of demo.events' })
    expect(await grid.getAttribute('aria-rowcount')).toBe(String(bars.length + 1))
    expect(await accessibilityBreaches(page)).toEqual([])
    const address = page.url().slice(journey.house.url.length)
    const phone = await journey.signIn(undefined, { at: address, theme: 'dark', size: { width: 390, height: 844 } })
    await phone.getByRole('img', { name: /^On average/ }).waitFor()
    expect(await phone.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await accessibilityBreaches(phone)).toEqual([])
  })
})
