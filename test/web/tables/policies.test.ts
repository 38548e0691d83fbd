import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

const SOON = { timeout: 60_000 }

describe.skipIf(chromiumPath === undefined)('policies on the web page', () => {
  const journey = useJourney()
  const call = (method: string, path: string, body?: object) => journey.house.call(method, path, body)
  const policies = async () => (await call('GET', '/api/policies')).policies
  const openPolicy = async (page: Page) => {
    await page.goto(`${journey.house.url}/policies`)
    await page.getByRole('link', { name: 'nightly' }).click()
    await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor()
  }

  it('are created from a checked form, after a preview of what they would do', async () => {
    // the demo may still be written when its tables are first measured
    await expect
      .poll(() => call('GET', '/api/health-index'), { timeout: 120_000 })
      .toMatchObject({
        tables: expect.arrayContaining([
          expect.objectContaining({ table: 'demo.events', score: 60, delete_file_count: 12 }),
          expect.objectContaining({ table: 'demo.trips', score: 85 }),
        ]),
        totals: { tables: 3 },
      })
    for (const { id } of await policies()) await call('DELETE', `/api/policies/${id}`) // that of the demo
    const page = await journey.signIn()
    await page.getByRole('link', { name: 'Policies', exact: true }).click()
    await page.getByText('No policies yet', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'New policy' }).click()
    await page.getByLabel('Schedule').fill('every night')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page
      .getByText('Must be a valid cron expression of five fields with a next time, such as 0 3 * * *.')
      .waitFor()
    expect(await page.getByText('Required.').count()).toBeGreaterThan(0)
    expect(await accessibilityBreaches(page)).toEqual([])

    await page.getByLabel('Name').fill('nightly')
    await page.getByLabel('Tables').fill('demo.*')
    await page.getByLabel('Except').fill('demo.orders')
    await page.getByLabel('Schedule').fill('')
    await page.getByLabel('Options of “Compact”').fill('{"min_input_files": 2')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('Enter a JSON object.').waitFor()
    await page.getByLabel('Options of “Compact”').fill('{"min_input_files": 2}')
    await page.getByLabel('Bytes per hour').fill('1 GiB')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('Nothing has been saved yet.').waitFor()
    await page
      .getByText(/^Matches 2 tables\. 1 run within 24 hours, 2\.6 MiB planned\. Mean health 72\.5 → 92\.5\.$/)
      .waitFor()
    await page.getByRole('row', { name: /now demo\.events Compact health 60 is below 80 2\.6 MiB 60 → 100/ }).waitFor()
    expect(await policies()).toEqual([])
    expect(await accessibilityBreaches(page)).toEqual([])

    await page.getByRole('button', { name: 'Create policy' }).click()
    await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor()
    expect((await policies())[0]).toMatchObject({
      name: 'nightly',
      tables: ['demo.*'],
      except: ['demo.orders'],
      operations: [{ operation: 'compact', options: { min_input_files: 2 } }],
      when: { health_below: 80 },
      budget: { bytes_per_hour: 1_073_741_824 },
      mode: 'shadow',
    })
  })

  it('only record their decisions in shadow mode', async () => {
    const page = await journey.signIn()
    await openPolicy(page)
    const decisions = page.getByRole('grid', { name: 'Decisions, newest first' })
    await decisions.getByRole('row', { name: /Would run Compact demo\.events health 60 is below 80/ }).waitFor(SOON)
    await page.getByText('In shadow mode nothing runs, so there are no gains.').waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    expect((await call('GET', '/api/operations')).operations).toEqual([])
    await page.goto(`${journey.house.url}/tables/demo.events`)
    await page.getByRole('link', { name: 'nightly' }).waitFor()
    await page.goto(journey.house.start)
    const next = page.getByRole('region', { name: 'Next policy runs' })
    await next.getByText('1 policy: 0 active, 1 in shadow mode.').waitFor()
    await next.getByText('Would run: health 60 is below 80').waitFor()
  })

  it('run once they are active, and show what they gained', async () => {
    const page = await journey.signIn()
    await openPolicy(page)
    await page.getByRole('button', { name: 'Activate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
    await page.getByText('Active', { exact: true }).first().waitFor()
    const decisions = page.getByRole('grid', { name: 'Decisions, newest first' })
    await decisions.getByRole('row', { name: /^Ran Compact demo\.events .* 60 → 100/ }).waitFor(SOON)
    const [{ gains }] = await policies()
    expect(gains).toMatchObject({ runs: 1, files_removed: 239, delete_files_removed: 12 })
    const figure = (name: string) => page.locator('dl > div').filter({ hasText: name }).locator('dd')
    await expect.poll(() => figure('Data files removed').innerText(), SOON).toMatch(/^239\s+239 projected$/)
    expect(await figure('Delete files removed').innerText()).toMatch(/^12\s+12 projected$/)
    expect(await figure('Requests saved per scan').innerText()).toBe(`${gains.scan_requests_saved}`)
    await decisions.getByRole('link', { name: 'Compact' }).click()
    await page.getByText('policy:nightly').first().waitFor()
    const receipt = page.getByRole('group', { name: 'Receipt' })
    await receipt.getByRole('row', { name: 'Data files removed 239 239' }).waitFor()
    await page.getByRole('row', { name: /^Data files opened 240 1 −239/ }).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    expect(await call('GET', '/api/table/demo.events/health')).toMatchObject({ score: 100, record_count: 119_400 })
  })

  it('leave a trace in the history of the score', async () => {
    const page = await journey.signIn()
    const samples = async () => (await call('GET', '/api/table/demo.events/health/history')).samples
    await expect.poll(async () => (await samples()).at(0)?.score, SOON).toBe(100)
    await page.goto(`${journey.house.url}/tables/demo.events?tab=health`)
    await page.getByRole('heading', { name: 'Score over time' }).waitFor()
    const caption = page.locator('figcaption')
    const [newest] = await samples()
    expect(await caption.first().textContent()).toContain(`last ${newest.score}`)
    await page.getByText('1 y', { exact: true }).click()
    await page.waitForURL(/range=1y/)
    await expect.poll(() => caption.first().textContent(), SOON).toContain(`last ${newest.score}`)
    expect(await accessibilityBreaches(page)).toEqual([])
  })

  it('are not overwritten by a form that was opened before another change', async () => {
    const page = await journey.signIn()
    const [policy] = await policies()
    await page.goto(`${journey.house.url}/policies/${policy.id}/edit`)
    await page.getByLabel('Cooldown').fill('2 hours')
    const { name, tables, operations, when } = policy
    const response = await fetch(`${journey.house.url}/api/policies/${policy.id}`, {
      method: 'PUT',
      headers: {
        Authorization: `Bearer ${journey.house.token}`,
        'Content-Type': 'application/json',
        'If-Match': `"${policy.revision}"`,
      },
      body: JSON.stringify({ name, tables, operations, when, priority: 7 }),
    })
    expect(response.status).toBe(200)
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByText('The policy has changed since you opened this form').waitFor()
    expect((await policies())[0]).toMatchObject({ priority: 7, cooldown: '1 hour' })
    await page.getByRole('button', { name: 'Reload' }).click()
    await expect.poll(() => page.getByLabel('Priority').inputValue(), SOON).toBe('7')
    await page.getByLabel('Cooldown').fill('2 hours')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByRole('heading', { name: 'Decisions' }).waitFor()
    expect((await policies())[0]).toMatchObject({ priority: 7, cooldown: '2 hours' })
  })

  it('are read-only for auditors, and deleted by leads', async () => {
    const auditor = await journey.signIn(await journey.house.addUser('bo', 'Auditor'))
    await openPolicy(auditor)
    await auditor.getByRole('heading', { name: 'Decisions' }).waitFor()
    for (const name of ['Activate', 'Switch to shadow mode', 'Delete']) {
      expect(await auditor.getByRole('button', { name }).count()).toBe(0)
    }
    await auditor.goto(`${journey.house.url}/policies/new`)
    await auditor.getByText('Permission denied').waitFor()
    const lead = await journey.signIn()
    await openPolicy(lead)
    await lead.getByRole('button', { name: 'Delete' }).click()
    await lead.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await lead.getByText('No policies yet', { exact: true }).waitFor()
    expect(await policies()).toEqual([])
  })
})
