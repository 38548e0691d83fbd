import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, openBrowser, visit } from '../support/browser.ts'
import { type House, startHouse } from '../support/house.ts'
import { sleep } from '../../support/waiting.ts'

/** An engineer designs and a lead decides, each in a separate window; the tests are the steps of one scenario. */
describe.skipIf(chromiumPath === undefined)('a designed pipeline on the web page', () => {
  let house: House
  let browser: Browser
  let engineer: Page
  let lead: Page
  let definition = ''
  const complaints: (readonly string[])[] = []

  const signIn = async (token: string): Promise<Page> => {
    const { page, complaints: heard } = await visit(browser)
    complaints.push(heard)
    await page.goto(`${house.url}/#token=${token}`)
    await page.waitForURL(house.start)
    return page
  }
  const environments = async (): Promise<readonly string[]> => {
    const versions = await house.call('GET', `/api/pipeline-defs/${definition}/versions`)
    return versions.map(({ environment }: { environment: string }) => environment)
  }

  beforeAll(async () => {
    house = await startHouse()
    browser = await openBrowser()
    engineer = await signIn(await house.addUser('ana', 'DataEngineer'))
    lead = await signIn(house.token)
  })
  afterAll(async () => {
    await browser?.close()
    await house?.close()
  })

  it('is designed, validated and saved as a version', async () => {
    await engineer.goto(`${house.url}/definitions`)
    await engineer.getByRole('button', { name: 'New definition' }).first().click()
    await engineer.getByRole('dialog').getByLabel('Name').fill('Large orders')
    await engineer.getByRole('button', { name: 'Create definition' }).click()
    await engineer.waitForURL(/\/definitions\/def-/)
    definition = /def-\w+/.exec(engineer.url())?.[0] ?? ''

    const node = engineer.getByRole('region', { name: 'Node' })
    const add = (type: string) => engineer.getByRole('button', { name: type, exact: true }).click()
    await add('Source')
    await node.getByRole('combobox', { name: 'Table' }).fill('demo.orders')
    await add('Filter')
    await node.getByLabel('Condition').fill('total > 100')
    await add('Sink')
    await node.getByRole('combobox', { name: 'Table' }).fill('demo.large_orders')
    await expect.poll(() => engineer.locator('.react-flow__node').count()).toBe(3)
    await expect.poll(() => engineer.locator('.react-flow__edge').count()).toBe(2)

    await engineer.getByRole('button', { name: 'Validate' }).click()
    await engineer
      .getByRole('region', { name: 'Validation' })
      .getByText(/demo\.large_orders/)
      .first()
      .waitFor()
    await engineer.getByRole('button', { name: 'Save as new version' }).click()
    await engineer.getByRole('dialog').getByRole('button', { name: 'Save as new version' }).click()
    await engineer.getByText('Saved as v2').first().waitFor()
    const [newest] = (await house.call('GET', `/api/pipeline-defs/${definition}/versions`)).toSorted(
      (a: { version: number }, b: { version: number }) => b.version - a.version,
    )
    expect(newest).toMatchObject({ version: 2, environment: 'development', created_by: 'ana' })
    const version = await house.call('GET', `/api/pipeline-defs/${definition}/versions/${newest.id}`)
    expect(version.nodes.map(({ type }: { type: string }) => type)).toEqual([
      'iceberg-source',
      'filter',
      'iceberg-sink',
    ])
  })

  it('reaches production through two approvals by another user', async () => {
    await engineer.goto(`${house.url}/definitions/${definition}?tab=environments`)
    const move = async (name: string): Promise<void> => {
      await engineer.getByRole('button', { name }).first().click()
      await engineer.getByRole('dialog').getByRole('button', { name }).click()
      await engineer.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await move('Promote to QA')
    await expect.poll(environments).toContain('qa')
    for (const to of ['uat', 'production']) {
      await move(`Request promotion to ${to}`)
      await engineer.getByText('v2 pending, requested by ana').waitFor()
      await lead.goto(`${house.url}/approvals`)
      await lead
        .getByRole('link', { name: /Large orders/ })
        .first()
        .click()
      await lead.getByText('total > 100').first().waitFor()
      await lead.getByRole('button', { name: 'Approve', exact: true }).click()
      await lead
        .getByRole('dialog')
        .getByRole('button', { name: `Approve for ${to}` })
        .click()
      await expect.poll(environments).toContain(to)
      await engineer.goto(`${house.url}/definitions/${definition}?tab=environments`)
    }
  })

  it('is run in production by a lead, and its rows appear on the chart', async () => {
    const versions = await house.call('GET', `/api/pipeline-defs/${definition}/versions`)
    const { id } = versions.find(({ environment }: { environment: string }) => environment === 'production')
    await lead.goto(`${house.url}/definitions/${definition}?version=${id}`)
    await lead.getByRole('button', { name: 'Validate' }).click()
    await lead.getByRole('button', { name: 'Create table' }).click()
    await lead.getByRole('dialog').getByRole('button', { name: 'Create table' }).click()
    await lead.getByText(/^Valid[.,]/).waitFor()
    await lead
      .getByRole('button', { name: 'Run this version' })
      .or(lead.getByRole('link', { name: 'Run this version' }))
      .click()
    await lead.waitForURL(/\/pipelines\/new/)
    // The folder of the checkpoint is proposed when the list of definitions arrives; here it arrives late.
    await lead.route('**/api/pipeline-board', async (route) => {
      await sleep(1_500)
      await route.continue()
    })
    await lead.reload()
    await lead.getByLabel('Trigger interval').fill('500 ms')
    await lead.getByRole('button', { name: 'Start pipeline' }).click()
    await lead.waitForURL(/\/pipelines\/pipe-/)
    await lead.unroute('**/api/pipeline-board')
    await lead.getByRole('heading', { name: 'Rows per second' }).waitFor()
    const rows = async (): Promise<number> =>
      (await house.call('GET', '/api/table/demo.large_orders/health')).record_count
    await expect.poll(rows, { timeout: 60_000 }).toBeGreaterThan(0)
    await lead.getByText('Show as table').click()
    await lead
      .getByRole('cell', { name: /rows\/s/ })
      .first()
      .waitFor()
  })

  it('stops after a confirmation that lists the consequences', async () => {
    await lead.getByRole('button', { name: 'Stop', exact: true }).click()
    const dialog = lead.getByRole('dialog')
    await dialog
      .getByText('When restarted, the pipeline resumes from its checkpoint. No row is lost or written twice.')
      .waitFor()
    await dialog.getByRole('button', { name: 'Stop pipeline' }).click()
    await lead.getByText('Stopped', { exact: true }).first().waitFor()
    const { pipelines } = await house.call('GET', '/api/pipelines')
    expect(pipelines).toMatchObject([{ state: 'stopped' }])
  })

  it('causes no errors in the browser', () => {
    expect(complaints.flat()).toEqual([])
  })
})
