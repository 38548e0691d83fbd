import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'
import { until } from '../../support/waiting.ts'

const SEARCH = 'Find a table, page or action'

describe.skipIf(chromiumPath === undefined)('find and act on the web page', () => {
  const journey = useJourney()
  const call = (method: string, path: string, body?: object) => journey.house.call(method, path, body)
  let engineer = ''
  let auditor = ''
  const tablesListed = async (page: Page) => {
    await page.getByRole('link', { name: 'demo.trips', exact: true }).waitFor()
  }

  beforeAll(async () => {
    engineer = await journey.house.addUser('ana', 'DataEngineer')
    auditor = await journey.house.addUser('bo', 'Auditor')
    await until(async () => (await call('GET', '/api/health-index')).totals.tables === 3)
  })

  it('offers the actions of the open table that the role allows, and opens their preview', async () => {
    const page = await journey.signIn(engineer, { at: '/tables/demo.events?tab=schema' })
    await page.getByRole('heading', { name: 'demo.events' }).waitFor()
    await page.keyboard.press('/')
    const field = page.getByRole('combobox', { name: SEARCH })
    await field.fill('preview comp')
    await page.getByRole('option', { name: 'Compact … demo.events', selected: true }).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.waitForURL(/tab=schema&action=compact/)
    await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await field.fill('roll back')
    await page.getByText('No results.').waitFor() // for leads only
    await field.fill('expire order') // any table, from any page
    await page.getByRole('option', { name: 'Expire snapshots … demo.orders', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`${journey.house.url}/tables/demo.orders?action=expire`)
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    await field.fill('sql')
    await page.getByRole('option', { name: 'Open in SQL demo.orders' }).click()
    await page.waitForURL(/\/query\?sql=SELECT/)
    const editor = page.getByRole('textbox', { name: 'Query' })
    await expect.poll(() => editor.innerText()).toBe('SELECT * FROM "demo"."orders"')
    expect((await call('GET', '/api/operations')).operations).toEqual([])
  })

  it('offers auditors pages and the look of the page, but no change', async () => {
    const page = await journey.signIn(auditor, { at: '/tables/demo.events' })
    await page.getByRole('heading', { name: 'demo.events' }).waitFor()
    await page.keyboard.press('/')
    const field = page.getByRole('combobox', { name: SEARCH })
    for (const word of ['compact', 'new', 'register', 'open rows', 'inbox']) {
      await field.fill(word)
      await page.getByText('No results.').waitFor()
    }
    await field.fill('dark')
    await page.getByRole('option', { name: 'Theme: Dark', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.locator('html[data-mantine-color-scheme="dark"]').waitFor()
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await help.getByText('Search, or run a command').first().waitFor()
    expect(await help.getByText('Next or previous row').count()).toBe(0)
    expect(await accessibilityBreaches(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.goto(`${journey.house.url}/tables`)
    await tablesListed(page)
    await page.keyboard.press('?')
    await help.getByText('Next or previous row').waitFor()
  })

  it('opens the dialogs of a pipeline that its state allows', async () => {
    const { pipeline } = await call('POST', '/api/pipeline/start', {
      source_table: 'demo.trips',
      sink_table: 'demo.trips_copy',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/trips_copy',
      trigger_interval: '1 second',
    })
    const page = await journey.signIn(engineer, { at: `/pipelines/${pipeline.id}` })
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await page.keyboard.press('/')
    const field = page.getByRole('combobox', { name: SEARCH })
    await field.fill('restart')
    await page.getByText('No results.').waitFor()
    await field.fill('stop')
    await page.getByRole('option', { name: /^Stop … demo\.trips → demo\.trips_copy/ }).waitFor()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: /^Stop/ })
    await dialog.getByRole('button', { name: /Stop/ }).waitFor()
    expect((await call('GET', `/api/pipeline/${pipeline.id}/status`)).pipeline.desired_state).toBe('running')
    await dialog.getByRole('button', { name: /Stop/ }).click()
    await dialog.waitFor({ state: 'hidden' })
    await expect.poll(() => page.url()).not.toContain('action=')
    await page.getByRole('button', { name: 'Restart' }).waitFor()
  })

  it('saves views of a list under names, shares them by their address, and exports what they show', async () => {
    const page = await journey.signIn(engineer, { at: '/tables?q=s&sort=-size' })
    await tablesListed(page)
    const menu = page.getByRole('button', { name: 'List options' })
    await menu.click()
    await page.getByRole('menuitemcheckbox', { name: 'Small files' }).click()
    await page.waitForURL(/hide=small/)
    expect(await accessibilityBreaches(page)).toEqual([])
    await page.getByRole('menuitem', { name: 'Save this view …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Saved views' })
    await dialog.getByLabel('Name of the view').fill('Largest')
    expect(await accessibilityBreaches(page)).toEqual([])
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'hidden' })

    await page.goto(`${journey.house.url}/tables`)
    await tablesListed(page)
    await menu.click()
    await page.getByRole('menuitem', { name: 'Largest' }).click()
    await page.waitForURL(/hide=small&q=s&sort=-size/)
    expect(await page.getByRole('columnheader', { name: 'Small files' }).count()).toBe(0)
    const sizes = (await call('GET', '/api/health-index')).tables.toSorted(
      (a: { total_size_bytes: number }, b: { total_size_bytes: number }) => b.total_size_bytes - a.total_size_bytes,
    )
    const json = JSON.parse(await exported(page, 'JSON file'))
    expect(json.map(({ table, size }: { table: string; size: number }) => [table, size])).toEqual(
      sizes.map(({ table, total_size_bytes: size }: { table: string; total_size_bytes: number }) => [table, size]),
    )
    expect(json[0]).not.toHaveProperty('small')
    const csv = await exported(page, 'CSV file')
    expect(csv).toMatch(/^Table,Health,Data files,Deleted,Size,Reclaimable,Last commit,Recommended\r\n/)
    expect(csv.trim().split('\r\n')).toHaveLength(1 + sizes.length)

    const shared = await journey.signIn(auditor)
    await shared.goto(page.url())
    await shared.getByRole('columnheader', { name: /^Size/ }).waitFor()
    expect(await shared.getByRole('columnheader', { name: 'Small files' }).count()).toBe(0)
    await shared.getByRole('button', { name: 'List options' }).click()
    await shared.getByRole('menuitem', { name: 'Save this view …' }).waitFor() // views of others are not listed
  })

  it('exports snapshot ids of 64 bits and names of tables without loss', async () => {
    const page = await journey.signIn(engineer, { at: '/tables/demo.orders?tab=snapshots' })
    const { snapshots } = await call('GET', '/api/table/demo.orders/snapshots')
    await page.getByText(snapshots[0].snapshot_id).first().waitFor()
    const csv = await exported(page, 'CSV file')
    for (const { snapshot_id: id } of snapshots) expect(csv).toContain(`,${id}\r\n`)
    const lead = await journey.signIn(undefined, { at: '/audit' })
    await lead.getByRole('button', { name: 'List options' }).waitFor()
    expect(await exported(lead, 'CSV file')).toMatch(/^Entry,Time,Actor,/)
  })

  it('changes many policies and alerts with a result for each', async () => {
    const policy = (name: string) => ({
      name,
      tables: ['none.*'],
      operations: [{ operation: 'compact' }],
      when: { health_below: 1 },
    })
    for (const { id } of (await call('GET', '/api/policies')).policies) await call('DELETE', `/api/policies/${id}`)
    const made = []
    for (const name of ['first', 'second', 'third']) made.push(await call('POST', '/api/policies', policy(name)))
    await call('PUT', `/api/policies/${made[2].id}`, { ...policy('third'), mode: 'active' })
    const page = await journey.signIn(undefined, { at: '/policies' })
    await page.getByRole('checkbox', { name: 'Select first' }).check()
    await page.getByRole('button', { name: 'Select all 3' }).click()
    const bar = page.getByRole('group', { name: 'Selected policies' })
    await bar.getByRole('button', { name: 'Activate' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('row', { name: 'third Already active' }).waitFor()
    await call('PUT', `/api/policies/${made[1].id}`, { ...policy('second'), priority: 7 }) // by somebody else
    expect(await accessibilityBreaches(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Activate' }).click()
    await dialog.getByText('1 of 2 changed.').waitFor()
    await dialog.getByRole('row', { name: 'first Done' }).waitFor()
    await dialog.getByRole('row', { name: /^second .*chang/ }).waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    const modes = (await call('GET', '/api/policies')).policies.map(({ mode }: { mode: string }) => mode)
    expect(modes).toEqual(['active', 'shadow', 'active'])
    await page.getByRole('checkbox', { name: 'Select first' }).check()
    await page.getByRole('checkbox', { name: 'Select second' }).check()
    await bar.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText('2 of 2 changed.').waitFor()
    expect((await call('GET', '/api/policies')).policies).toHaveLength(1)

    const channel = { type: 'webhook', url: 'https://alerts.example/hook' }
    for (const name of ['one', 'two'])
      await call('POST', '/api/alerts', { name, events: ['operation.failed'], channel })
    await page.goto(`${journey.house.url}/settings/alerts`)
    await page.getByRole('checkbox', { name: 'Select one' }).check()
    await page.getByRole('button', { name: 'Silence for one hour' }).click()
    await dialog.getByRole('button', { name: 'Silence for one hour' }).click()
    await dialog.getByText('1 of 1 changed.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('row', { name: /one operation\.failed .* Silenced/ }).waitFor()
    const silenced = (await call('GET', '/api/alerts')).alerts.map(
      (one: { silenced_until: unknown }) => one.silenced_until !== null,
    )
    expect(silenced).toEqual([true, false])
  })

  it('lists what needs the user in the inbox, until the user has looked', async () => {
    await expect(
      call('POST', '/api/compact', { table: 'demo.orders', engine: 'spark', rewrite_all: true }),
    ).rejects.toThrow()
    const [failed] = (await call('GET', '/api/operations?state=failed')).operations
    const page = await journey.signIn(engineer, { size: { width: 390, height: 800 } })
    const bar = page.getByRole('navigation', { name: 'Top bar' })
    await bar.getByRole('link', { name: 'Inbox 1 entry needs you' }).click()
    const section = page.getByRole('region', { name: 'Failed operations of the last 7 days' })
    await section.getByText('SPARK_REMOTE').waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await section.getByRole('link', { name: 'Compact' }).click()
    await page.waitForURL(`${journey.house.url}/operations/${failed.id}`)
    await bar.getByRole('link', { name: 'Inbox', exact: true }).click()
    await page.getByText('Nothing needs you').waitFor()

    const lead = await journey.signIn() // has not looked
    await lead.getByRole('link', { name: 'Inbox 1 entry needs you' }).click()
    await lead.getByRole('button', { name: 'Mark all as seen' }).click()
    await lead.getByText('Nothing needs you').waitFor()
  })
})

/** The text of the file that the menu of a list exports. */
async function exported(page: Page, format: 'CSV file' | 'JSON file'): Promise<string> {
  await page.getByRole('button', { name: 'List options' }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: format }).click(),
  ])
  return readFile(await download.path(), 'utf8')
}
