import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

const SOON = { timeout: 60_000 }

/** A figure of the overview by its name. */
const figure = (page: Page, name: string) => page.locator('dl > div').filter({ hasText: name }).locator('dd')

describe.skipIf(chromiumPath === undefined)('all tables on the web page', () => {
  const journey = useJourney()
  const health = (table: string) => journey.house.call('GET', `/api/table/${table}/health`)
  const index = () => journey.house.call('GET', '/api/health-index')
  /** The demo may still be written when its tables are first measured. */
  const measured = async () => {
    await expect.poll(index, { timeout: 120_000 }).toMatchObject({
      tables: expect.arrayContaining([
        expect.objectContaining({ table: 'demo.events', data_file_count: 240, delete_file_count: 12 }),
      ]),
      totals: { tables: 3 },
    })
  }

  it('is what signing in leads to, and each figure leads to the list behind it', async () => {
    await measured()
    const page = await journey.signIn()
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
    const { totals, bands } = await index()
    expect(bands).toEqual({ good: 2, fair: 1, poor: 0, unknown: 0 })
    expect(await figure(page, 'Small files').innerText()).toBe(String(totals.small_files))
    const worst = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem')
    expect(await worst.count()).toBe(1)
    expect(await worst.innerText()).toMatch(/demo\.events\s+240 of 240 data files are small; 12 delete files, 0\.5 %/)
    await worst.getByRole('link', { name: 'Preview compaction of demo.events' }).click()
    await page.getByRole('dialog').getByText('Nothing has been changed yet.').waitFor()

    await page.goto(journey.house.start)
    await page.getByRole('link', { name: 'Fair', exact: true }).click()
    await page.waitForURL(/\/tables\?health=fair/)
    const rows = page.getByRole('grid', { name: 'Tables' }).getByRole('row')
    await expect.poll(() => rows.count(), SOON).toBe(2) // with the head
    expect(await page.getByLabel('Health', { exact: true }).inputValue()).toBe('fair')

    await page.goto(journey.house.start)
    await figure(page, 'Small files').getByRole('link').click()
    await page.waitForURL(/sort=-small/)
    await expect.poll(() => rows.nth(1).innerText(), SOON).toContain('events')
  })

  it('sorts all tables by the figures of the health index', async () => {
    await measured()
    const page = await journey.openTables()
    const names = () => page.getByRole('grid', { name: 'Tables' }).locator('a').allInnerTexts()
    const orders: Readonly<Record<string, readonly string[]>> = {
      Health: ['demo.events', 'demo.trips', 'demo.orders'],
      'Small files': ['demo.events', 'demo.trips', 'demo.orders'],
      Size: ['demo.orders', 'demo.events', 'demo.trips'],
    }
    for (const [column, order] of Object.entries(orders)) {
      await page.getByRole('button', { name: column, exact: true }).click()
      await expect.poll(names, SOON).toEqual(order)
    }
    await page.getByRole('button', { name: 'Deleted', exact: true }).click()
    await expect.poll(async () => (await names())[0], SOON).toBe('demo.events')
  })

  it('changes nothing in a table that has changed since the preview, and says so', async () => {
    const page = await journey.openTables()
    await page.getByLabel('Select demo.trips').click()
    await page.getByRole('button', { name: 'Compact 1 selected' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('row', { name: /^demo\.trips \d+ files → 7/ }).waitFor()
    await journey.house.call('POST', '/api/evolve/add-column', { table: 'demo.trips', name: 'seen', type: 'STRING' })
    const before = await health('demo.trips')
    await dialog.getByRole('button', { name: 'Compact 1 table' }).click()
    await dialog.getByRole('row', { name: /has changed since/ }).waitFor()
    await dialog.getByText(/^(No operation was started|0 of 1 operations succeeded)\.$/).waitFor()
    expect(await health('demo.trips')).toEqual(before)
  })

  it('has nothing to apply when no selected table needs it', async () => {
    const page = await journey.openTables()
    await page.getByLabel('Select demo.orders').click()
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Expire snapshots' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('None of the selected tables needs this.').waitFor()
    expect(await dialog.getByRole('button', { name: /^Apply/ }).count()).toBe(0)
  })

  it('compacts the selected tables by one plan with one confirmation, each once', async () => {
    const before = await Promise.all(['demo.events', 'demo.orders', 'demo.trips'].map(health))
    const page = await journey.openTables()
    await page.getByLabel('Select demo.events').click()
    await page.getByRole('button', { name: 'Select all 3' }).click()
    await page.getByRole('button', { name: 'Compact 3 selected' }).click()
    const dialog = page.getByRole('dialog', { name: 'Compact: 3 tables' })
    await dialog.getByRole('row', { name: /^demo\.events 240 files → 1/ }).waitFor()
    await dialog.getByRole('row', { name: 'demo.orders Nothing to do' }).waitFor()
    expect(await Promise.all(['demo.events', 'demo.orders', 'demo.trips'].map(health))).toEqual(before)
    expect(await accessibilityBreaches(page)).toEqual([])

    await dialog.getByRole('button', { name: 'Compact 2 tables' }).dblclick()
    await dialog.getByText('2 of 2 operations succeeded.').waitFor({ timeout: 120_000 })
    await dialog.getByRole('row', { name: /^demo\.events .*Succeeded .*score 60 to 100/ }).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await dialog.getByRole('link', { name: 'Open these operations' }).click()
    await page.getByText('Only operations that were started together.').waitFor()
    await expect.poll(() => page.getByRole('grid', { name: 'Operations' }).getByRole('row').count(), SOON).toBe(3)
    const { operations } = await journey.house.call('GET', '/api/operations?state=succeeded')
    const compactions = operations.filter(({ operation }: { operation: string }) => operation === 'compact')
    const ran: string[] = compactions.map(({ table }: { table: string }) => table)
    expect(ran.sort()).toEqual(['demo.events', 'demo.trips'])
    expect(await health('demo.events')).toMatchObject({ data_file_count: 1, record_count: 119_400 })
    expect((await health('demo.trips')).record_count).toBe(before[2].record_count)
    await page.goto(`${journey.house.url}/tables`)
    await page.getByRole('row', { name: /demo\.events 100/ }).waitFor()
    await page.goto(journey.house.start)
    await page.getByText('No table needs attention. 3 tables are healthy.').waitFor()
    await page.getByText('score 60 to 100').waitFor()
  })

  it('offers auditors no selection', async () => {
    const page = await journey.signIn(await journey.house.addUser('bo', 'Auditor'))
    await page.getByRole('heading', { name: 'Health of the tables' }).waitFor()
    await page.goto(`${journey.house.url}/tables`)
    await page.getByRole('link', { name: 'demo.events' }).waitFor()
    expect(await page.getByRole('checkbox').count()).toBe(0)
    expect(await accessibilityBreaches(page)).toEqual([])
  })
})
