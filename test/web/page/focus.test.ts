import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

/** The element that has the focus: its tag and text. */
const focused = (page: Page) =>
  page.evaluate<string>(`document.activeElement.tagName + ' ' + document.activeElement.textContent`)

describe.skipIf(chromiumPath === undefined)('the focus', () => {
  const journey = useJourney()

  it('moves to the title of the page that a link leads to, and back', async () => {
    const page = await journey.signIn()
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await focused(page)).toMatch(/^BODY/) // not after the first load
    await page.getByRole('link', { name: 'Tables', exact: true }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => focused(page)).toBe('H1 Tables')
    await page.getByRole('link', { name: 'demo.events', exact: true }).click()
    await expect.poll(() => focused(page)).toBe('H1 demo.events')
    expect(await page.title()).toMatch(/^demo\.events/)
    await page.keyboard.press('Tab')
    expect(await page.evaluate(`document.activeElement.closest('main') !== null`)).toBe(true)
    await page.goBack()
    await expect.poll(() => focused(page)).toBe('H1 Tables')
    expect(await accessibilityBreaches(page)).toEqual([])
  })

  it('stays where it is when only a tab or a filter changes', async () => {
    const page = await journey.openTables()
    await page.getByPlaceholder('Filter by name').pressSequentially('eve')
    await page.waitForURL(/q=eve/)
    expect(await focused(page)).toMatch(/^INPUT/)
    await page.goto(`${journey.house.url}/tables/demo.events`)
    await page.getByRole('tab', { name: 'Schema' }).click()
    await page.waitForURL(/tab=schema/)
    expect(await focused(page)).toBe('BUTTON Schema')
  })

  it('moves to the title after the search and after the navigation of a phone', async () => {
    const page = await journey.signIn(undefined, { size: { width: 390, height: 844 } })
    await page.getByRole('button', { name: 'Open navigation' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'Operations' }).click()
    await expect.poll(() => focused(page)).toBe('H1 Operations')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await focused(page)).toBe('H1 Operations')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('demo.tri')
    await page.getByRole('option', { name: 'demo.trips', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => focused(page)).toBe('H1 demo.trips')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await focused(page)).toBe('H1 demo.trips')
  })

  it('is in the search with all keys that were typed while it loaded', async () => {
    const page = await journey.openTables()
    const gate = Promise.withResolvers<void>()
    await page.route(/palette.*\.js/, async (route) => {
      await gate.promise
      await route.continue()
    })
    await page.getByPlaceholder('Filter by name').focus()
    const loading = page.waitForRequest(/palette.*\.js/)
    await page.keyboard.press('Control+k')
    await loading
    await page.keyboard.type('demo.ordexx')
    await page.keyboard.press('Backspace')
    await page.keyboard.press('Backspace')
    gate.resolve()
    const field = page.getByRole('combobox', { name: 'Find a table, page or action' })
    await page.getByRole('option', { name: 'demo.orders', selected: true }).waitFor()
    expect(await field.inputValue()).toBe('demo.orde')
    expect(await page.getByPlaceholder('Filter by name').inputValue()).toBe('')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${journey.house.url}/tables/demo.orders`)
  })
})
