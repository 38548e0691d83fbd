import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath, openBrowser, visit } from '../support/browser.ts'
import { type House, startHouse } from '../support/house.ts'

const ENVIRONMENTS = ['development', 'qa', 'uat', 'production'] as const

function graph(condition: string) {
  return {
    nodes: [
      { id: 'orders', type: 'iceberg-source', config: { table: 'demo.orders' }, position: { x: 0, y: 0 } },
      { id: 'large', type: 'filter', config: { condition }, position: { x: 220, y: 0 } },
      { id: 'copy', type: 'iceberg-sink', config: { table: 'demo.${copy}' }, position: { x: 440, y: 0 } },
    ],
    edges: [
      { id: 'a', source: 'orders', target: 'large' },
      { id: 'b', source: 'large', target: 'copy' },
    ],
  }
}

/** An engineer and a lead bring one definition to production; the tests are the steps of one scenario. */
describe.skipIf(chromiumPath === undefined)('deployments on the web page', { timeout: 300_000 }, () => {
  let house: House
  let browser: Browser
  let engineer: Page
  let lead: Page
  let ana = ''
  let definition = ''
  const complaints: (readonly string[])[] = []

  const signIn = async (token: string): Promise<Page> => {
    const { page, complaints: heard } = await visit(browser)
    complaints.push(heard)
    await page.goto(`${house.url}/#token=${token}`)
    await page.waitForURL(house.start)
    return page
  }
  const deploymentIn = async (environment: string) =>
    (await house.call('GET', `/api/deployments?definition_id=${definition}&environment=${environment}`))[0]
  const stateIn = async (environment: string): Promise<string> => (await deploymentIn(environment)).state
  const open = (page: Page) => page.goto(`${house.url}/definitions/${definition}?tab=environments`)
  const card = (page: Page, environment: string) =>
    page
      .getByRole('region', { name: 'Deployments' })
      .getByRole('listitem')
      .filter({ has: page.getByRole('heading', { name: environment, exact: true }) })
  const newVersion = (condition: string) =>
    house.call('POST', `/api/pipeline-defs/${definition}/versions`, graph(condition), ana)
  const rowsOf = async (table: string): Promise<number> =>
    (await house.call('GET', `/api/table/${table}/health`)).record_count

  /** Opens the dialog of an action, looks at its preview, and confirms it. */
  async function change(page: Page, button: string, { shows }: { readonly shows: RegExp }): Promise<void> {
    await page.getByRole('button', { name: button, exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(shows).first().waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    const action = /^(?:Deploy|Roll back|Undeploy)/.exec(button)?.[0] ?? ''
    await dialog.getByRole('button', { name: action, exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }

  beforeAll(async () => {
    house = await startHouse()
    browser = await openBrowser()
    ana = await house.addUser('ana', 'DataEngineer')
    for (const environment of ENVIRONMENTS) {
      await house.call('PUT', `/api/environments/${environment}`, {
        parameters: { copy: `large_${environment}` },
        defaults: { trigger_interval: '500 ms' },
      })
    }
    const body = { name: 'Large orders', description: '', ...graph('total > 100') }
    const created = await house.call('POST', '/api/pipeline-defs', body, ana)
    definition = created.definition.id
    for (const environment of ENVIRONMENTS) {
      const path = `/api/pipeline-defs/${definition}/versions/${created.version.id}/sink-table`
      await house.call('POST', `${path}?environment=${environment}`, {})
    }
    engineer = await signIn(ana)
    lead = await signIn(house.token)
  })
  afterAll(async () => {
    await browser?.close()
    await house?.close()
  })

  it('show what a deployment would do before it is confirmed, and what runs afterwards', async () => {
    await open(engineer)
    await card(engineer, 'Development').getByText('Not deployed').waitFor()
    await change(engineer, 'Deploy v1 in development', { shows: /demo\.orders → demo\.large_development/ })
    await card(engineer, 'Development').getByText('In sync').waitFor({ timeout: 60_000 })
    await card(engineer, 'Development').getByText('v1 runs').waitFor()
    expect(await card(engineer, 'Development').getByRole('button').allInnerTexts()).toEqual(['Undeploy'])
    expect(await rowsOf('demo.large_development')).toBeGreaterThan(0)
  })

  it('go to production through rehearsals and approvals by another user', async () => {
    const [{ id }] = await house.call('GET', `/api/pipeline-defs/${definition}/versions`)
    await house.call('POST', `/api/pipeline-defs/${definition}/versions/${id}/promote`, undefined, ana)
    await open(engineer)
    await change(engineer, 'Deploy v1 in QA', { shows: /demo\.large_qa/ })
    await card(engineer, 'QA').getByText('In sync').waitFor({ timeout: 60_000 })
    for (const environment of ['uat', 'production']) {
      const path = `/api/pipeline-defs/${definition}/versions/${id}/promote`
      const request = await house.call('POST', path, undefined, ana)
      await lead.goto(`${house.url}/approvals/${request.id}`)
      const deployment = lead.getByRole('region', { name: 'Deployment' })
      await deployment.getByText(`demo.orders → demo.large_${environment}`).waitFor()
      await deployment.getByText('An approval does not deploy the version').waitFor()
      await deployment.getByRole('rowheader', { name: 'total' }).waitFor()
      const rehearsal = lead.getByRole('region', { name: 'Rehearsal' })
      await rehearsal.getByRole('button', { name: 'Start rehearsal' }).click()
      await rehearsal.getByText('There is no version to compare with.').waitFor({ timeout: 60_000 })
      await rehearsal.getByRole('rowheader', { name: 'total' }).waitFor()
      expect(await accessibilityBreaches(lead)).toEqual([])
      await house.call('POST', `/api/approvals/${request.id}/approve`, {})
      await rehearsal.waitFor({ state: 'detached' })
      await open(lead)
      await change(lead, `Deploy v1 in ${environment === 'uat' ? 'UAT' : 'production'}`, {
        shows: /read from the beginning/,
      })
      await expect.poll(() => stateIn(environment), { timeout: 60_000 }).toBe('in_sync')
    }
  })

  it('are shown with the environment, and can be changed only by those who may', async () => {
    await open(engineer)
    await card(engineer, 'Production').getByText('Only a lead data engineer can change this.').waitFor()
    expect(await card(engineer, 'Production').getByRole('button').count()).toBe(0)
    await engineer.goto(`${house.url}/environments`)
    const production = engineer.getByRole('region', { name: 'Production', exact: true })
    await production.getByRole('link', { name: 'Large orders' }).waitFor()
    await production.getByText('In sync').waitFor()
    const [{ id: production_version }] = await house.call('GET', `/api/pipeline-defs/${definition}/versions`)
    await engineer.goto(`${house.url}/definitions/${definition}?version=${production_version}`)
    await engineer.getByRole('button', { name: 'Validate' }).waitFor()
    expect(await engineer.getByRole('link', { name: 'Run this version' }).count()).toBe(0)
  })

  it('compare a requested version with the one that runs, over real rows', async () => {
    const next = await newVersion('total > 200')
    const base = `/api/pipeline-defs/${definition}/versions/${next.id}/promote`
    await house.call('POST', base, undefined, ana)
    const first = await house.call('POST', base, undefined, ana)
    await house.call('POST', `/api/approvals/${first.id}/approve`, {})
    const second = await house.call('POST', base, undefined, ana)
    await lead.goto(`${house.url}/approvals/${second.id}`)
    const deployment = lead.getByRole('region', { name: 'Deployment' })
    await deployment.getByText('continues on the same checkpoint: no row is lost or repeated').waitFor()
    const rehearsal = lead.getByRole('region', { name: 'Rehearsal' })
    await rehearsal.getByRole('button', { name: 'Start rehearsal' }).click()
    await rehearsal.getByText(/^0 rows only in the requested version, [1-9]/).waitFor({ timeout: 60_000 })
    await rehearsal.getByText('v1 (runs there)').waitFor()
    await rehearsal.getByText(/^Rows only in the other version/).waitFor()
    await house.call('POST', `/api/approvals/${second.id}/approve`, {})
    await open(lead)
    await card(lead, 'Production').getByText('Out of date').waitFor()
    await change(lead, 'Deploy v2 in production', { shows: /v2/ })
    await card(lead, 'Production').getByText('v2 runs').waitFor({ timeout: 60_000 })
    await card(lead, 'Production').getByText('In sync').waitFor({ timeout: 60_000 })
  })

  it('are rolled back with one click and one confirmation', async () => {
    await change(lead, 'Roll back in production', { shows: /v1/ })
    await card(lead, 'Production').getByText('v1 runs').waitFor({ timeout: 60_000 })
    await card(lead, 'Production').getByText('Rolled back', { exact: true }).waitFor({ timeout: 60_000 })
    await lead.getByText(/^History \(/).click()
    await lead.getByText('Roll back v1 in production').waitFor()
  })

  it('are rolled back while the new version is being watched', async () => {
    await change(lead, 'Deploy v2 in production', { shows: /v2/ })
    await card(lead, 'Production')
      .getByText(/^Watching the first batch/)
      .waitFor({ timeout: 60_000 })
    await change(lead, 'Roll back in production', { shows: /Rolls back to the previous version/ })
    await card(lead, 'Production').getByText('Rolled back', { exact: true }).waitFor({ timeout: 60_000 })
    await card(lead, 'Production').getByText('v1 runs').waitFor()
    expect(await deploymentIn('production')).toMatchObject({ state: 'rolled_back', rollout: null })
  })

  it('end with an undeployment', async () => {
    await change(lead, 'Undeploy in production', { shows: /gets no new rows/ })
    await card(lead, 'Production').getByText('Not deployed').waitFor({ timeout: 60_000 })
    await expect.poll(() => stateIn('production')).toBe('none')
  })

  it('cause no errors in the browser', () => {
    expect(complaints.flat()).toEqual([])
  })
})
