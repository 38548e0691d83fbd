import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

describe.skipIf(chromiumPath === undefined)('a schema on the web page', () => {
  const journey = useJourney()
  const columns = async (table: string): Promise<readonly string[]> => {
    const { columns: found } = await journey.house.call('GET', `/api/table/${table}/schema`)
    return found.map(({ path }: { path: string }) => path)
  }
  const openSchema = async (table: string): Promise<Page> => {
    const page = await journey.signIn(await journey.house.addUser('ana', 'DataEngineer'), {
      at: `/tables/${table}?tab=schema`,
    })
    return page
  }

  it('gets a column, previewed and then applied', async () => {
    const page = await openSchema('demo.orders')
    await page.getByRole('button', { name: 'Add column' }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('The column is null in existing rows.').waitFor()
    await drawer.getByRole('button', { name: 'Preview' }).click()
    await drawer.getByText('Required.').first().waitFor()
    await drawer.getByLabel('Name').fill('discount')
    await drawer.getByLabel('Type').fill('decimal(5,2)')
    await drawer.getByLabel('Comment').fill('Share that was taken off')
    await page.keyboard.press('Enter')
    const afterwards = drawer.getByRole('list', { name: 'Columns after the change' })
    await afterwards.getByRole('listitem').filter({ hasText: 'discount' }).getByText('new', { exact: true }).waitFor()
    expect(await columns('demo.orders')).not.toContain('discount')

    await drawer.getByRole('button', { name: 'Add column', exact: true }).click()
    await drawer.getByText(/^Done in /).waitFor()
    await drawer.getByRole('button', { name: 'Done' }).click()
    await drawer.waitFor({ state: 'detached' })
    const row = page.getByRole('row', { name: /discount/ })
    await row.getByText('decimal(5,2)').or(row.getByText('decimal(5, 2)')).waitFor()
    await row.getByText('Share that was taken off').waitFor()
    expect(await columns('demo.orders')).toContain('discount')
  })

  it('keeps the id of a column that is renamed', async () => {
    const page = await openSchema('demo.orders')
    const before = await page.getByRole('row', { name: /customer/ }).innerText()
    await page.getByRole('button', { name: 'Actions for customer' }).click()
    await page.getByRole('menuitem', { name: /Rename/ }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('Queries that use the old name fail').waitFor()
    await drawer.getByLabel('New name').fill('client')
    await drawer.getByRole('button', { name: 'Preview' }).click()
    await drawer.getByText('was customer').waitFor()
    await drawer.getByRole('button', { name: 'Rename column', exact: true }).click()
    await drawer.getByText(/^Done in /).waitFor()
    await drawer.getByRole('button', { name: 'Done' }).click()
    const after = await page.getByRole('row', { name: /client/ }).innerText()
    expect(after).toBe(before.replace('customer', 'client'))
    expect(await columns('demo.orders')).not.toContain('customer')
  })

  it('keeps the source columns of its partitions, and explains why', async () => {
    const page = await openSchema('demo.trips')
    await page.getByRole('button', { name: 'Actions for started_at' }).click()
    await page.getByRole('menuitem', { name: /Drop/ }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('can no longer be queried').waitFor()
    await drawer.getByRole('button', { name: 'Preview' }).click()
    await drawer
      .getByRole('alert')
      .getByText(/partition/)
      .waitFor()
    expect(await drawer.getByRole('button', { name: /^Apply/ }).count()).toBe(0)
    expect(await columns('demo.trips')).toContain('started_at')
  })
})
