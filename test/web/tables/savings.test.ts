import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

const TABLE = 'demo.trips'

/** A figure by its name. */
const figure = (page: Page, name: string) => page.locator('dl > div').filter({ hasText: name }).locator('dd')

describe.skipIf(chromiumPath === undefined)('the savings on the web page', () => {
  const journey = useJourney()
  const call = (method: string, path: string, body?: object) => journey.house.call(method, path, body)

  it('add up the month on the start page, and lead to the days and to a file with all figures', async () => {
    const { plan_id: plan } = await call('POST', '/api/compact', { table: TABLE, dry_run: true })
    const { operation_id: id } = await call('POST', '/api/compact', { table: TABLE, plan_id: plan })
    const { result, receipt } = await call('GET', `/api/operations/${id}`)
    const page = await journey.signIn()
    const card = page.getByRole('region', { name: 'This month' })
    await card.getByText('Policies ran 0 of 1 operation.').waitFor()
    const files = `${result.rewritten_data_files_count} → ${result.added_data_files_count}`
    expect(await figure(page, 'Files rewritten').innerText()).toBe(files)
    expect(await accessibilityBreaches(page)).toEqual([])

    await card.getByRole('link', { name: 'Savings by day' }).click()
    await page.getByRole('heading', { name: 'Savings', exact: true }).waitFor()
    expect(page.url()).toMatch(/from=\d{4}-\d{2}-01$/)
    expect(await figure(page, 'Files rewritten').innerText()).toBe(files)
    const requests = receipt.scan.before.requests - receipt.scan.after.requests
    expect(await figure(page, 'Requests saved').innerText()).toMatch(new RegExp(`^${requests}\\s+in one full scan`))
    const removed = receipt.measured.files_removed + receipt.measured.delete_files_removed
    await page.getByRole('row', { name: `Files removed ${removed} ${removed}` }).waitFor()
    await page.getByRole('row', { name: /^\d{4}-\d\d-\d\d Compact.* Person 1/ }).waitFor()

    await page.getByLabel('Figure of the chart').selectOption('Operations')
    await page.waitForURL(/figure=runs/)
    await page.getByRole('img', { name: /^Operations by day, \d+ days?: policies 0, people 1\./ }).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])

    await page.getByRole('button', { name: 'List options' }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: /JSON/ }).click(),
    ])
    const [row] = JSON.parse(await readFile(await download.path(), 'utf8'))
    expect(row).toMatchObject({
      operation: 'compact',
      by: 'person',
      before: result.rewritten_data_files_count,
      bytesBefore: result.rewritten_bytes_count,
      added: result.added_bytes_count,
    })
  })

  it('say when a rollback undid the gain, while the page is open', async () => {
    const page = await journey.signIn(undefined, { at: '/operations/savings' })
    await figure(page, 'Files rewritten').waitFor()
    const { snapshots } = await call('GET', `/api/table/${TABLE}/snapshots`)
    await call('POST', '/api/rollback', { table: TABLE, snapshot_id: snapshots[1].snapshot_id })
    await page.getByText('1 operation was undone by a rollback or a restore. Only their costs count.').waitFor()
    expect(await figure(page, 'Files rewritten').innerText()).toBe('0 → 0')
    await page.getByText('No operation with a plan, and no prices: nothing was estimated.').waitFor()
  })

  it('keep chosen days in the address, by keyboard too', async () => {
    const page = await journey.signIn(undefined, { at: '/operations/savings' })
    const days = page.getByRole('group', { name: 'Range' })
    await days.getByRole('radio', { name: '30 d' }).focus()
    await page.keyboard.press('ArrowLeft')
    await page.waitForURL(/range=7d/)
    expect(await days.getByRole('radio', { name: '7 d' }).isChecked()).toBe(true)
    await days.getByLabel('To', { exact: true }).fill('2020-01-31')
    await days.getByLabel('From', { exact: true }).fill('2020-01-01')
    await page.keyboard.press('Enter')
    await page.getByText('No operations in these days').waitFor()
    await page.goto(`${journey.house.url}/operations/savings?from=2021-01-01&to=2020-01-01`)
    await page.getByText('must not be after to (2020-01-01)').waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
  })
})
