import { describe, expect, it } from 'vitest'
import { chromiumPath } from './support/browser.ts'
import { useJourney } from './support/journey.ts'

describe.skipIf(chromiumPath === undefined)('snapshots on the web page', () => {
  const journey = useJourney()
  const health = () => journey.house.call('GET', '/api/table/demo.events/health')

  it('are expired once the page has said what goes', async () => {
    const page = await journey.signIn(await journey.house.addUser('ana', 'DataEngineer'))
    const before = await health()
    await page.goto(`${journey.house.url}/tables/demo.events`)
    await page.getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: /Expire snapshots/ }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('What is expired cannot be read or rolled back to any more.').waitFor()
    await drawer.getByLabel('Older than').fill('2099-01-01T00:00:00')
    await drawer.getByLabel('Keep at least the last').fill('5')
    await drawer.getByRole('button', { name: 'Preview' }).click()
    const going = drawer.getByRole('list', { name: 'Snapshots that would go' })
    await expect.poll(() => going.getByRole('listitem').count()).toBe(before.snapshot_count - 5)
    expect(await health()).toMatchObject({ snapshot_count: before.snapshot_count })

    await drawer.getByRole('button', { name: 'Apply: Expire snapshots' }).click()
    await drawer.getByText(/^Done in /).waitFor()
    const row = drawer.getByRole('row', { name: /Snapshots/ })
    expect(await row.getByRole('cell').first().innerText()).toBe(String(before.snapshot_count))
    expect(await row.getByRole('cell').nth(1).innerText()).toBe('5')
    const { record_count } = before
    expect(await health()).toMatchObject({ snapshot_count: 5, record_count })
  })

  it('of which none is left to go need nothing', async () => {
    const page = await journey.signIn()
    await page.goto(`${journey.house.url}/tables/demo.orders?action=expire`)
    await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).click()
    await page.getByText('There is nothing to do with these options.').waitFor()
    expect(await page.getByRole('button', { name: /^Apply/ }).count()).toBe(0)
  })

  it('that are current may be gone back to by a lead alone', async () => {
    const engineer = await journey.signIn(await journey.house.addUser('bo', 'DataEngineer'))
    await engineer.goto(`${journey.house.url}/tables/demo.events?tab=snapshots`)
    await engineer
      .getByRole('button', { name: /^Actions on/ })
      .nth(1)
      .click()
    await engineer.getByRole('menuitem').first().waitFor()
    expect(await engineer.getByRole('menuitem', { name: 'Roll back to this' }).count()).toBe(0)

    const lead = await journey.signIn()
    await lead.goto(`${journey.house.url}/tables/demo.events?tab=snapshots`)
    await lead
      .getByRole('button', { name: /^Actions on/ })
      .nth(1)
      .click()
    await lead.getByRole('menuitem', { name: /Roll back to this/ }).click()
    const drawer = lead.getByRole('dialog')
    await drawer.getByRole('button', { name: 'Preview' }).click()
    await drawer.getByText(/^The current snapshot would be \d+ instead of \d+\.$/).waitFor()
    await drawer.getByRole('button', { name: 'Apply: Roll back' }).click()
    await drawer.getByText(/^Done in /).waitFor()
  })
})
