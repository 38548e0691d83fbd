import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

const MOST_STOPS = 60

describe.skipIf(chromiumPath === undefined)('keyboard operation', () => {
  const journey = useJourney()

  it('is sufficient from sign-in to a compacted table', async () => {
    const page = await journey.arrive()
    await page.goto(`${journey.house.url}/tables`)
    await page.waitForURL(/\/sign-in/)
    await tabTo(page, page.getByLabel(/^Token/))
    await page.keyboard.type(journey.house.token)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${journey.house.url}/tables`)
    await page.getByRole('link', { name: 'demo.events', exact: true }).waitFor()

    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Find a table, page or action' }).waitFor()
    await page.keyboard.type('demo.ev')
    await page.getByRole('option', { name: 'demo.events' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`${journey.house.url}/tables/demo.events`)

    await tabTo(page, page.getByRole('button', { name: 'Actions' }))
    await page.keyboard.press('Enter')
    await press(page, 'ArrowDown', page.getByRole('menuitem', { name: /^Compact/ }))
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('button', { name: 'Preview' }).waitFor()
    await tabTo(page, drawer.getByRole('button', { name: 'Preview' }))
    await page.keyboard.press('Enter')
    await drawer.getByText('Nothing has been changed yet.').waitFor()
    await tabTo(page, drawer.getByRole('button', { name: 'Compact', exact: true }))
    await page.keyboard.press('Enter')
    await drawer.getByText(/^Done in /).waitFor({ timeout: 120_000 })
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    const health = await journey.house.call('GET', '/api/table/demo.events/health')
    expect(health).toMatchObject({ data_file_count: 1, score: 100, record_count: 119_400 })
  })

  it('includes the search, which announces the selected entry and restores the focus', async () => {
    const page = await journey.openTables()
    const filter = page.getByPlaceholder('Filter by name')
    await filter.focus()
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Find a table, page or action' })
    await field.waitFor()
    await page.keyboard.type('demo')
    await page.getByRole('option', { name: 'demo.events', selected: true }).waitFor()
    await page.keyboard.press('ArrowDown')
    const chosen = page.getByRole('option', { name: 'demo.orders', selected: true })
    await chosen.waitFor()
    expect(await field.getAttribute('aria-activedescendant')).toBe(await chosen.getAttribute('id'))
    expect(await accessibilityBreaches(page)).toEqual([])
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    expect(await hasFocus(page, filter)).toBe(true)
    await page.keyboard.press('Control+k')
    await field.waitFor()
    expect(await field.inputValue()).toBe('')
  })

  it('includes the skip link and the rows of a list', async () => {
    const page = await journey.openTables()
    await page.getByRole('link', { name: 'demo.events', exact: true }).waitFor()
    await page.keyboard.press('Tab')
    expect(await hasFocus(page, page.getByRole('link', { name: 'Skip to content' }))).toBe(true)
    await page.keyboard.press('Enter')
    await tabTo(page, page.getByRole('row', { name: /^events/ }).or(page.getByRole('row', { name: /demo\.events/ })))
    await page.keyboard.press('End')
    await press(page, 'ArrowDown', page.getByRole('row', { name: /trips/ }))
    await page.keyboard.press('Enter')
    await page.waitForURL(`${journey.house.url}/tables/demo.trips`)
    await tabTo(page, page.getByRole('tab', { name: 'Overview' }))
    await page.keyboard.press('ArrowRight')
    await page.waitForURL(/tab=schema/)
  })
})

function tabTo(page: Page, wanted: Locator): Promise<void> {
  return press(page, 'Tab', wanted)
}

/** Presses a key until the wanted element has the focus; fails when it never gets it. */
async function press(page: Page, key: string, wanted: Locator): Promise<void> {
  await wanted.first().waitFor()
  for (let stops = 0; stops < MOST_STOPS; stops++) {
    if (await hasFocus(page, wanted)) return
    await page.keyboard.press(key)
    await page.waitForTimeout(50) // lists render a row before they focus it
  }
  throw new Error(`${key} does not lead to ${wanted.toString()}`)
}

async function hasFocus(page: Page, wanted: Locator): Promise<boolean> {
  return (await wanted.and(page.locator(':focus')).count()) > 0
}
