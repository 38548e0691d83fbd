import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath, openBrowser, visit } from '../support/browser.ts'
import { type House, startHouse } from '../support/house.ts'

const GRAPH = {
  nodes: [
    { id: 'orders', type: 'iceberg-source', config: { table: 'demo.orders' }, position: { x: 0, y: 0 } },
    { id: 'copy', type: 'iceberg-sink', config: { table: 'demo.orders_copy' }, position: { x: 220, y: 0 } },
  ],
  edges: [{ id: 'a', source: 'orders', target: 'copy' }],
}

/** Leads set the rules of UAT and decide a request by them; the tests are the steps of one scenario. */
describe.skipIf(chromiumPath === undefined)('rules of an environment on the web page', { timeout: 120_000 }, () => {
  let house: House
  let browser: Browser
  let admin: Page
  let lea: Page
  let ana = ''
  let definition = ''
  let request = ''
  const complaints: (readonly string[])[] = []

  const signIn = async (token: string): Promise<Page> => {
    const { page, complaints: heard } = await visit(browser)
    complaints.push(heard)
    await page.goto(`${house.url}/#token=${token}`)
    await page.waitForURL(house.start)
    return page
  }
  const settingsOf = (environment: string) => house.call('GET', `/api/environments/${environment}`)
  const openRequest = (page: Page) => page.goto(`${house.url}/approvals/${request}`)

  beforeAll(async () => {
    house = await startHouse()
    browser = await openBrowser()
    admin = await signIn(house.token)
    lea = await signIn(await house.addUser('lea', 'LeadDataEngineer'))
    ana = await house.addUser('ana', 'DataEngineer')
    const made = await house.call('POST', '/api/pipeline-defs', { name: 'Copy', description: '', ...GRAPH }, ana)
    definition = made.definition.id
    const version = `/api/pipeline-defs/${definition}/versions/${made.version.id}`
    await house.call('POST', `${version}/promote`, {}, ana)
    request = (await house.call('POST', `${version}/promote`, {}, ana)).id
  })
  afterAll(async () => {
    await browser?.close()
    await house?.close()
  })

  it('are set in the form of the environment, and shown on its card', async () => {
    await admin.goto(`${house.url}/environments`)
    const card = admin.getByRole('region', { name: 'UAT' })
    await card.getByText('1 approval', { exact: true }).waitFor()
    await admin.getByRole('button', { name: 'Edit UAT' }).click()
    const dialog = admin.getByRole('dialog', { name: 'Edit UAT' })
    await dialog.getByLabel('Required approvals').fill('2')
    await dialog.getByLabel('Requests expire after').fill('3 days')
    await dialog.getByLabel('Requesters cannot approve their own requests').check()
    await dialog.getByRole('button', { name: 'Add window' }).click()
    const window = dialog.getByRole('group', { name: 'Window 1' })
    await window.getByLabel('Kind').selectOption('Allow changes')
    await window.getByLabel('Time zone').fill('Mars/Base')
    await window.getByLabel('Dates').fill('')
    await dialog.getByLabel('Failed batches in a row').fill('3')
    expect(await accessibilityBreaches(admin)).toEqual([])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await window.getByText(/must be an IANA time zone/i).waitFor()
    await window.getByLabel('Time zone').fill('Europe/Berlin')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await card.getByText('2 approvals of different users').waitFor()
    await card.getByText('Allow changes: Mon, Tue, Wed, Thu, 09:00 to 16:00 (Europe/Berlin)').waitFor()
    await card.getByText('If 3 batches fail in a row within 1 hour after a rollout').waitFor()
    expect(await settingsOf('uat')).toMatchObject({
      approvals: { required: 2, forbid_self: true, expires_after: '3 days' },
      rollback_if: { lag_over: null, failed_batches: 3, within: '1 hour' },
    })
    // closes the window whatever the time of the test is
    const closed = { kind: 'deny', timezone: 'UTC', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] }
    const until = `${new Date().getUTCFullYear() + 1}-01-31`
    const windows = [{ ...closed, from: '00:00', to: '00:00', dates: [`2020-01-01/${until}`] }]
    await house.call('PUT', '/api/environments/uat', { windows })
  })

  it('show how many approvals a request has, who gave them and who still may', async () => {
    await openRequest(lea)
    await lea.getByText('0 of 2').waitFor()
    await lea.getByText('admin, lea').waitFor()
    await lea.getByRole('button', { name: 'Approve', exact: true }).click()
    const dialog = lea.getByRole('dialog')
    await dialog.getByText('The version moves to UAT after 1 more approval by other users.').waitFor()
    await dialog.getByRole('button', { name: 'Approve for UAT' }).click()
    await lea.getByText('1 of 2').waitFor()
    expect(await lea.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0)
    await admin.goto(`${house.url}/approvals`)
    await admin.getByText('1 of 2').waitFor()
  })

  it('let the approved request wait for its window, which the board shows too', async () => {
    await openRequest(admin)
    await admin.getByRole('button', { name: 'Approve', exact: true }).click()
    await admin.getByRole('dialog').getByRole('button', { name: 'Approve for UAT' }).click()
    await admin.getByText('Waiting for window').waitFor()
    await admin.getByText('Window opens', { exact: true }).waitFor()
    expect(await accessibilityBreaches(admin)).toEqual([])
    await lea.goto(`${house.url}/definitions/${definition}?tab=environments`)
    await lea.getByText('v1 waits for its change window, requested by ana').waitFor()
    await lea.goto(`${house.url}/approvals?status=waiting_for_window`)
    await lea.getByRole('link', { name: 'Copy v1' }).waitFor()
  })

  it('let a lead override the window with a reason, which the request shows', async () => {
    await openRequest(admin)
    await admin.getByRole('button', { name: 'Override window' }).click()
    const dialog = admin.getByRole('dialog')
    expect(await dialog.getByRole('button', { name: 'Override window' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Reason').fill('fixes wrong invoices')
    await dialog.getByRole('button', { name: 'Override window' }).click()
    await admin.getByText('Approved', { exact: true }).first().waitFor()
    await admin.getByText('fixes wrong invoices').first().waitFor()
    expect(await house.call('GET', `/api/approvals/${request}`)).toMatchObject({
      status: 'approved',
      override: { by: 'admin', reason: 'fixes wrong invoices' },
    })
  })

  it('let a deployment wait, which a lead can cancel or begin', async () => {
    const [{ id }] = await house.call('GET', `/api/pipeline-defs/${definition}/versions`)
    await house.call('POST', `/api/pipeline-defs/${definition}/versions/${id}/sink-table`, {})
    const deploy = () => house.call('POST', `/api/pipeline-defs/${definition}/deploy`, { environment: 'uat' })
    const deployment = async () =>
      (await house.call('GET', `/api/deployments?definition_id=${definition}&environment=uat`))[0]
    await deploy()
    await lea.goto(`${house.url}/definitions/${definition}?tab=environments`)
    const card = lea
      .getByRole('region', { name: 'Deployments' })
      .getByRole('listitem')
      .filter({ has: lea.getByRole('heading', { name: 'UAT', exact: true }) })
    await card.getByText('Begins when the change window opens').waitFor()
    await card.getByRole('button', { name: 'Cancel rollout in UAT' }).click()
    await lea.getByRole('dialog').getByRole('button', { name: 'Cancel rollout' }).click()
    await card.getByText('Not deployed').waitFor()
    await deploy()
    await card.getByRole('button', { name: 'Override window in UAT' }).click()
    await lea.getByRole('dialog').getByLabel('Reason').fill('month end')
    await lea.getByRole('dialog').getByRole('button', { name: 'Override window' }).click()
    await expect.poll(async () => (await deployment()).state, { timeout: 60_000 }).toBe('in_sync')
    await lea.getByText('History (2 changes)').click()
    // the card may still show the rollout, which says so too
    await lea.locator('details').getByText('Change window overridden by lea: month end').waitFor()
    expect(complaints.flat()).toEqual([])
  })
})
