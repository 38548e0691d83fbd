import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

const WAIT = { timeout: 120_000 }
const TABLE = 'lake:sales.events'
const TABLE_PATH = '/tables/lake:sales.events'

/** What is wider than the window. */
const IS_WIDE = 'document.documentElement.scrollWidth > innerWidth'

describe.skipIf(chromiumPath === undefined)('a second catalog on the web page', { timeout: 300_000 }, () => {
  const journey = useJourney()
  let folder = ''
  let engineer = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-lake-'))
    engineer = await journey.house.addUser('ana', 'DataEngineer')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Copies the events of the demo to a table of the catalog, in several files. The pipeline runs on. */
  const fillLake = async (): Promise<void> => {
    const { call } = journey.house
    await expect.poll(async () => (await call('GET', '/api/tables')).tables.length, WAIT).toBeGreaterThan(2)
    await call('POST', '/iceberg/v1/lake/namespaces', { namespace: ['sales'] })
    await call('POST', '/api/pipeline/start', {
      source_table: 'demo.events',
      sink_table: TABLE,
      create_sink_table: true,
      checkpoint_location: 'checkpoints/lake-events',
      trigger_interval: '200 ms',
      max_files_per_batch: 30,
    })
    await expect
      .poll(async () => (await call('GET', `/api/table/${TABLE}/health`)).data_file_count, WAIT)
      .toBeGreaterThan(7)
  }

  const tableNames = async (page: Page): Promise<readonly string[]> =>
    (await page.getByRole('grid', { name: 'Tables' }).getByRole('link').allTextContents()).toSorted()

  it('is refused with a reason while its name or address is wrong, then added and tested', async () => {
    const page = await journey.signIn(undefined, { at: '/settings/catalog' })
    await page.getByRole('button', { name: 'Add a catalog' }).click()
    const form = page.getByRole('region', { name: 'New catalog' })
    await form.getByLabel(/^Name/).fill('a:b')
    await form.getByLabel(/^URI/).fill(`sqlite:///${folder}/lake.db`)
    await form.getByLabel(/^Warehouse/).fill(`${folder}/lake`)
    await form.getByRole('button', { name: 'Add catalog' }).click()
    await form
      .getByRole('alert')
      .getByText(/catalog_name: must begin with a letter or digit/)
      .waitFor()
    await form.getByLabel(/^Name/).fill('lake')
    await form.getByRole('button', { name: 'Add catalog' }).click()
    await form.getByRole('alert').getByText('Failed to add the catalog.').waitFor()
    await form.getByLabel('Create if missing').check()
    await form.getByRole('button', { name: 'Add catalog' }).click()
    await form.waitFor({ state: 'detached' })
    const card = page.getByRole('region', { name: 'lake', exact: true })
    await card.getByText('Open', { exact: true }).waitFor()
    await card.getByRole('button', { name: 'Test connection of lake' }).click()
    await card.getByRole('table', { name: 'The connection works' }).waitFor()
    expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual(['lockhouse', 'lake'])
    expect(await accessibilityBreaches(page)).toEqual([])
  })

  it('has tables that are listed, filtered, compacted, searched and queried like others', async () => {
    await fillLake()
    const page = await journey.signIn(undefined, { at: '/tables' })
    const filter = page.getByRole('combobox', { name: 'Catalog' })
    await filter.selectOption('lake')
    await expect.poll(() => tableNames(page)).toEqual([TABLE])
    expect(new URL(page.url()).searchParams.get('catalog')).toBe('lake')
    await page.reload()
    await expect.poll(() => tableNames(page)).toEqual([TABLE])
    await filter.selectOption('lockhouse')
    await expect.poll(() => tableNames(page)).toEqual(['demo.events', 'demo.orders', 'demo.trips'])
    await filter.selectOption('lake')
    await page.getByRole('link', { name: TABLE }).click()
    await page.getByRole('heading', { name: TABLE }).waitFor()
    await page.goto(`${journey.house.url}${TABLE_PATH}?action=compact`)
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('button', { name: 'Preview' }).click()
    await drawer.getByRole('button', { name: 'Compact', exact: true }).click()
    const { call } = journey.house
    await expect
      .poll(async () => (await call('GET', `/api/table/${TABLE}/health`)).data_file_count, WAIT)
      .toBeLessThan(8)
    await page.goto(`${journey.house.url}/overview?catalog=lake`)
    await page.getByText('The figures and the health are those of the tables in lake.').waitFor()
    await page.getByRole('link', { name: 'Healthy' }).click()
    await page.waitForURL(/catalog=lake/)
    await expect.poll(() => tableNames(page)).toEqual([TABLE])
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Find a table, page or action' }).fill('expire lake:sales')
    await page.getByRole('option', { name: `Expire snapshots … ${TABLE}` }).click()
    await page.waitForURL(/tables\/lake(:|%3A)sales\.events\?action=expire/)
    await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).waitFor()
  })

  it.each(['lake:sales.ev', '"lake:sales".ev', '"lake:sales"', 'lake:sal', 'eve'])(
    'completes %s as a quoted name',
    async (typed) => {
      const page = await journey.signIn(undefined, { at: '/query' })
      const editor = page.getByRole('textbox', { name: 'Query' })
      await editor.focus()
      await page.keyboard.type(`SELECT count(*) AS n FROM ${typed}`)
      await page.getByRole('option', { name: TABLE }).click()
      await expect.poll(() => editor.innerText()).toBe('SELECT count(*) AS n FROM "lake:sales".events')
      await page.keyboard.type(' o WHERE o.user_')
      await page.getByRole('option', { name: /^user_id/ }).waitFor()
      await page.keyboard.press('Escape')
      await page.keyboard.type('id < 0')
      await page.keyboard.press('Control+Enter')
      const grid = page.getByRole('group', { name: 'Result' })
      await expect.poll(() => grid.getByRole('cell').first().textContent()).toBe('0')
    },
  )

  it('completes columns of an alias after its dot when tables matched the alias before', async () => {
    const page = await journey.signIn(undefined, { at: '/query' })
    await page.getByRole('textbox', { name: 'Query' }).focus()
    await page.keyboard.type('SELECT count(*) AS n FROM demo.events demo WHERE demo')
    await page.getByRole('option', { name: 'demo.orders' }).waitFor()
    await page.keyboard.type('.')
    await page.getByRole('option', { name: /^user_id/ }).waitFor()
    expect(await page.getByRole('option', { name: 'demo.orders' }).count()).toBe(0)
  })

  it('is not removed when someone else changed it after the dialog was opened', async () => {
    const { call } = journey.house
    const settings = {
      catalog_type: 'hadoop',
      catalog_name: 'shared',
      warehouse: `${folder}/shared`,
      create: true,
    }
    await call('POST', '/api/catalogs', settings)
    const page = await journey.signIn(undefined, { at: '/settings/catalog' })
    await page.getByRole('button', { name: 'Remove shared' }).click()
    const dialog = page.getByRole('dialog')
    const confirm = dialog.getByRole('button', { name: 'Remove catalog' })
    await confirm.and(page.locator(':enabled')).waitFor()
    await call('PUT', '/api/catalogs/shared', { ...settings, extra_props: { note: 'x' } })
    await confirm.click()
    await dialog.getByText('Someone else changed the catalog shared', { exact: false }).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Remove shared' }).click()
    await confirm.click()
    await page.getByRole('heading', { name: 'shared', exact: true }).waitFor({ state: 'detached' })
  })

  it.each(['light', 'dark'] as const)('is accessible and fits a phone in %s mode', async (theme) => {
    const page = await journey.signIn(undefined, { theme, size: { width: 320, height: 800 } })
    const lists = ['/tables?catalog=lake', '/overview?catalog=lake', TABLE_PATH]
    const forms = ['/settings/catalog', '/settings/catalog?action=change&target=lake', '/settings/catalog?action=add']
    for (const path of [...lists, ...forms]) {
      await page.goto(journey.house.url + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.getByText(/lake/).filter({ visible: true }).first().waitFor()
      expect({ path, breaches: await accessibilityBreaches(page) }).toEqual({ path, breaches: [] })
      expect({ path, isWide: await page.evaluate(IS_WIDE) }).toEqual({ path, isWide: false })
    }
  })

  it('is read-only for engineers', async () => {
    const page = await journey.signIn(engineer, { at: '/settings/catalog?action=add' })
    await page.getByRole('heading', { name: 'lake', exact: true }).waitFor()
    await page.getByText('Only a lead data engineer can change this.').waitFor()
    const buttons = page.getByRole('main').getByRole('button')
    expect(await buttons.count()).toBe(0)
  })

  it('is removed after its pipelines have stopped, and the page has one catalog again', async () => {
    const { call, url } = journey.house
    const [{ id }] = (await call('GET', '/api/pipelines')).pipelines
    const page = await journey.signIn(undefined, { at: '/settings/catalog' })
    await page.getByRole('button', { name: 'Remove lake' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The tables of lake stay as they are.', { exact: false }).waitFor()
    await dialog.getByText('Stop them first.', { exact: false }).waitFor()
    expect(await dialog.getByRole('button', { name: 'Remove catalog' }).isDisabled()).toBe(true)
    expect(await accessibilityBreaches(page)).toEqual([])
    await dialog.getByRole('link', { name: id }).click()
    await page.waitForURL(`${url}/pipelines/${id}`)
    await call('POST', `/api/pipeline/${id}/stop`, {})
    await page.goto(`${url}/settings/catalog`)
    await page.getByRole('button', { name: 'Remove lake' }).click()
    await dialog.getByRole('button', { name: 'Remove catalog' }).click()
    await page.getByRole('heading', { name: 'lake', exact: true }).waitFor({ state: 'detached' })
    await page.goto(`${url}/tables`)
    await expect.poll(() => tableNames(page)).toEqual(['demo.events', 'demo.orders', 'demo.trips'])
    expect(await page.getByRole('combobox', { name: 'Catalog' }).count()).toBe(0)
    await page.goto(url + TABLE_PATH)
    await page.getByText(`The catalog lake has no table ${TABLE}.`, { exact: false }).waitFor()
  })
})
