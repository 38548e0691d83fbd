import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, openBrowser, type Visit, visit } from '../support/browser.ts'
import { type House, startHouse } from '../support/house.ts'
import { LARGE_ORDERS } from '../support/scene.ts'

describe.skipIf(chromiumPath === undefined)('user tasks on the web page', () => {
  let house: House
  let browser: Browser
  const visits: Visit[] = []
  beforeAll(async () => {
    house = await startHouse()
    browser = await openBrowser()
  })
  afterEach(async () => {
    const heard = visits.flatMap(({ complaints }) => complaints)
    await Promise.all(visits.splice(0).map(({ close }) => close()))
    expect(heard).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await house?.close()
  })

  const signIn = async (token: string): Promise<Page> => {
    const opened = await visit(browser)
    visits.push(opened)
    await opened.page.goto(`${house.url}/#token=${token}`)
    await opened.page.waitForURL(house.start)
    return opened.page
  }

  it('get an answer of the agent, and apply its proposal only after confirmation', async () => {
    const page = await signIn(house.token)
    await page.getByRole('link', { name: 'Agent' }).click()
    await page.getByRole('textbox', { name: 'Question' }).fill('Which tables need maintenance, and why?')
    await page.getByRole('button', { name: 'Send' }).click()
    await page
      .getByText(/rule-based/)
      .first()
      .waitFor()
    await page
      .getByText(/demo\.events/)
      .first()
      .waitFor()
    await page.getByRole('textbox', { name: 'Question' }).fill('Compact demo.events')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Needs confirmation', { exact: true }).waitFor()
    expect((await house.call('GET', '/api/table/demo.events/health')).data_file_count).toBe(240)
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 120_000 })
    expect((await house.call('GET', '/api/table/demo.events/health')).data_file_count).toBe(1)
  })

  it('see only the actions that their role allows', async () => {
    const auditor = await signIn(await house.addUser('bo', 'Auditor'))
    await auditor.goto(`${house.url}/tables/demo.orders`)
    await auditor.getByText('Format version').first().waitFor()
    expect(await auditor.getByRole('button', { name: 'Actions' }).isVisible()).toBe(false)
    await auditor.goto(`${house.url}/settings/tokens`)
    await auditor.getByText('Permission denied').waitFor()
    await auditor.goto(`${house.url}/agent`)
    await auditor.getByText('Permission denied').waitFor()
    await auditor.goto(`${house.url}/approvals`)
    await auditor.getByText('Permission denied').waitFor()
  })

  it('create a token, use it and revoke it', async () => {
    const lead = await signIn(house.token)
    await lead.goto(`${house.url}/settings/tokens`)
    await lead.getByRole('button', { name: 'New token' }).click()
    const form = lead.getByRole('dialog')
    await form.getByLabel('User').fill('cleo')
    await form.getByLabel('Description').fill('laptop')
    await form.getByLabel('Your token').fill('lh_not-mine')
    await form.getByRole('button', { name: 'Create token' }).click()
    await form.getByText('Your token is not valid').waitFor()
    await form.getByLabel('Your token').fill(house.token)
    await form.getByRole('button', { name: 'Create token' }).click()
    const token = await lead.getByRole('dialog').getByRole('textbox', { name: 'Token', exact: true }).inputValue()
    await signIn(token)
    expect(await house.call('GET', '/api/auth/me', undefined, token)).toMatchObject({ user: 'cleo' })
    await lead.keyboard.press('Escape')
    await lead.goto(`${house.url}/settings/tokens`)
    await lead
      .getByRole('row', { name: /cleo/ })
      .getByRole('button', { name: /Revoke/ })
      .click()
    await lead
      .getByRole('dialog')
      .getByRole('button', { name: /Revoke/ })
      .click()
    await expect
      .poll(
        async () => (await fetch(`${house.url}/api/auth/me`, { headers: { Authorization: `Bearer ${token}` } })).status,
      )
      .toBe(401)
  })

  it('follow a request that is commented on and rejected with a reason', async () => {
    const token = await house.addUser('dana', 'DataEngineer')
    const { definition, version } = await house.call(
      'POST',
      '/api/pipeline-defs',
      { name: 'Daily report', description: '', ...LARGE_ORDERS },
      token,
    )
    const path = `/api/pipeline-defs/${definition.id}/versions/${version.id}`
    await house.call('POST', `${path}/promote`, undefined, token)
    const lead = await signIn(house.token)
    const engineer = await signIn(token)
    const request = await house.call('POST', `${path}/promote`, undefined, token)
    await lead.getByRole('link', { name: 'Approvals 1 pending approval' }).waitFor()
    await engineer.goto(`${house.url}/approvals/${request.id}`)
    await engineer.getByLabel('Add a comment').fill('Needed by Monday')
    await engineer.getByRole('button', { name: 'Comment', exact: true }).click()
    await engineer.getByText('Needed by Monday').first().waitFor()
    await lead.goto(`${house.url}/approvals/${request.id}`)
    await lead.getByText('Needed by Monday').waitFor()
    await lead.getByRole('button', { name: 'Reject', exact: true }).click()
    const dialog = lead.getByRole('dialog')
    expect(await dialog.getByRole('button', { name: 'Reject' }).isEnabled()).toBe(false)
    await dialog.getByLabel('Reason').fill('The threshold is too low')
    await dialog.getByRole('button', { name: 'Reject' }).click()
    await lead.getByText('The threshold is too low').first().waitFor()
    await engineer.goto(`${house.url}/approvals/${request.id}`)
    await engineer.getByText('The threshold is too low').first().waitFor()
    expect((await house.call('GET', path)).environment).toBe('qa')
  })

  it('find out who did what, and that no record was altered', async () => {
    const lead = await signIn(house.token)
    await lead.goto(`${house.url}/audit`)
    await lead.getByText('approval.reject').first().waitFor()
    await lead.getByRole('button', { name: 'Verify chain' }).click()
    const { ok, checked } = await house.call('GET', '/api/audit/verify')
    await lead
      .getByText(new RegExp(String(checked)))
      .first()
      .waitFor()
    expect(ok).toBe(true)
  })

  it('sign out, and see the sign-in page again', async () => {
    const page = await signIn(house.token)
    await page.getByRole('button', { name: /admin/ }).click()
    await page.getByRole('menuitem', { name: /Sign out/ }).click()
    await page.waitForURL(/sign-in/)
    expect((await page.request.get(`${house.url}/api/auth/me`)).status()).toBe(401)
    await page.goto(`${house.url}/tables/demo.orders?tab=refs`)
    await page.waitForURL(/sign-in/)
    await page.getByLabel(/Token/).fill(house.token)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${house.url}/tables/demo.orders?tab=refs`)
  })
})
