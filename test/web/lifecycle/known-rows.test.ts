import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath, openBrowser, visit } from '../support/browser.ts'
import { type House, startHouse } from '../support/house.ts'

const GRAPH = {
  nodes: [
    { id: 'orders', type: 'iceberg-source', config: { table: 'demo.orders' }, position: { x: 0, y: 0 } },
    { id: 'copy', type: 'iceberg-sink', config: { table: 'demo.orders_shared' }, position: { x: 220, y: 0 } },
  ],
  edges: [{ id: 'a', source: 'orders', target: 'copy' }],
}

/** Development has filled the sink that production writes, too. */
describe.skipIf(chromiumPath === undefined)('the dialog of a deployment', { timeout: 300_000 }, () => {
  let house: House
  let browser: Browser
  let definition = ''
  beforeAll(async () => {
    house = await startHouse()
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await house?.close()
  })

  const stateIn = async (environment: string): Promise<string> =>
    (await house.call('GET', `/api/deployments?definition_id=${definition}&environment=${environment}`))[0].state
  const rows = async (): Promise<number> =>
    (await house.call('GET', '/api/table/demo.orders_shared/health')).record_count

  it('reads on after rows of the sink by default, and names the number of rows before it repeats them', async () => {
    const created = await house.call('POST', '/api/pipeline-defs', { name: 'Shared sink', description: '', ...GRAPH })
    definition = created.definition.id
    const base = `/api/pipeline-defs/${definition}`
    const version = `${base}/versions/${created.version.id}`
    await house.call('POST', `${version}/sink-table?environment=development`, {})
    await house.call('POST', `${base}/deploy`, { environment: 'development' })
    await expect.poll(() => stateIn('development'), { timeout: 60_000 }).toBe('in_sync')
    await expect.poll(rows, { timeout: 60_000 }).toBeGreaterThan(0)
    const before = await rows()
    await house.call('POST', `${base}/undeploy`, { environment: 'development' })
    await expect.poll(() => stateIn('development'), { timeout: 60_000 }).toBe('none')
    await house.call('POST', `${version}/promote`)
    for (const _ of ['uat', 'production']) {
      const request = await house.call('POST', `${version}/promote`)
      await house.call('POST', `/api/approvals/${request.id}/approve`, {})
    }
    const { page } = await visit(browser)
    await page.goto(`${house.url}/#token=${house.token}`)
    await page.waitForURL(house.start)
    await page.goto(`${house.url}/definitions/${definition}?tab=environments`)
    await page.getByRole('button', { name: 'Deploy v1 in production', exact: true }).click()
    const dialog = page.getByRole('dialog')
    const resume = dialog.getByRole('radio', { name: 'Read on after these rows' })
    const fresh = dialog.getByRole('radio', { name: 'Read everything again' })
    await resume.waitFor()
    expect([await resume.isChecked(), await fresh.isChecked()]).toEqual([true, false])
    expect(await accessibilityBreaches(page)).toEqual([])
    await fresh.check()
    const count = before.toLocaleString('en-US')
    await dialog.getByText(new RegExp(`This deployment writes up to ${count}`)).waitFor()
    await dialog.getByRole('combobox', { name: 'Begin reading' }).click()
    await page.getByRole('option', { name: 'After a snapshot' }).click()
    await dialog.getByLabel('Snapshot ID').fill('1')
    await dialog.getByText('demo.orders has no snapshot 1').waitFor()
    await dialog.getByRole('combobox', { name: 'Begin reading' }).click()
    await page.getByRole('option', { name: 'From now: only new rows' }).click()
    await dialog.getByText('only rows that are appended later').waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await dialog.getByRole('combobox', { name: 'Begin reading' }).click()
    await page.getByRole('option', { name: 'From now: only new rows' }).click()
    await resume.check()
    await dialog.getByText('none is written again').waitFor()
    await dialog.getByRole('button', { name: 'Deploy', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(() => stateIn('production'), { timeout: 90_000 }).toBe('in_sync')
    expect(await rows()).toBe(before)
  })
})
