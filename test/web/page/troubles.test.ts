import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, openBrowser, visit } from '../support/browser.ts'
import { type House, startHouse } from '../support/house.ts'

describe.skipIf(chromiumPath === undefined)('the web page under double clicks, keyboard use and outages', () => {
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

  async function arrive(path: string): Promise<Page> {
    const { page } = await visit(browser)
    await page.goto(house.link)
    await page.waitForURL(house.start)
    await page.goto(house.url + path)
    return page
  }

  it('treats a double click as one request', async () => {
    const page = await arrive('/tables/demo.events?action=compact&recommended=1')
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('button', { name: 'Compact', exact: true }).dblclick()
    await drawer.getByText(/^Done in/).waitFor()
    const { operations } = await house.call('GET', '/api/operations')
    expect(operations.map(({ state }: { state: string }) => state)).toEqual(['succeeded'])

    await page.goto(`${house.url}/settings/tokens`)
    await page.getByRole('button', { name: 'New token' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'User' }).fill('zoe')
    await dialog.getByRole('textbox', { name: 'Description' }).fill('laptop')
    await dialog.getByLabel('Your token').fill(house.token)
    await dialog.getByRole('button', { name: 'Create token' }).dblclick()
    await page.getByText('Copy the token now').waitFor()
    const tokens: { user: string }[] = await house.call('GET', '/api/auth/tokens')
    expect(tokens.filter(({ user }) => user === 'zoe')).toHaveLength(1)
    await page.context().close()
  })

  it('keeps the focus in a form between steps, and restores it', async () => {
    const page = await arrive('/tables/demo.orders')
    const isFocusInDrawer = () => page.evaluate<boolean>('document.activeElement.closest("[role=dialog]") !== null')
    await page.getByRole('button', { name: 'Actions' }).press('Enter')
    await page.getByRole('menuitem', { name: 'Expire snapshots' }).press('Enter')
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('button', { name: 'Preview' }).press('Enter')
    await drawer.getByRole('button', { name: 'Change options' }).waitFor()
    await expect.poll(isFocusInDrawer).toBe(true)
    await page.keyboard.press('Tab')
    expect(await isFocusInDrawer()).toBe(true)
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    await expect.poll(() => page.evaluate<string>('document.activeElement.textContent')).toBe('Actions')
    await page.context().close()
  })

  it('reports a part that cannot be loaded, and continues when the service is available again', async () => {
    const page = await arrive('/tables')
    await page.getByRole('link', { name: 'demo.events' }).waitFor()
    await page.context().setOffline(true)
    await page.getByRole('link', { name: 'Operations', exact: true }).click()
    await page.getByText('Can’t reach the server').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Can’t reach the server').waitFor()
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Operations' }).waitFor()
    expect(await page.getByText('Can’t reach the server').count()).toBe(0)
    await page.context().close()
  })
})
