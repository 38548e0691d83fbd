import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'
import { LARGE_ORDERS } from '../support/scene.ts'

const PHONE = { width: 375, height: 812 }
/** If set, the windows of these tests are also saved as pictures. */
const IMAGES = process.env['LOCKHOUSE_SCREENSHOTS']

describe.skipIf(chromiumPath === undefined)('environments on the web page', () => {
  const journey = useJourney()
  const settingsOf = (environment: string) => journey.house.call('GET', `/api/environments/${environment}`)
  const open = async (page: Page): Promise<void> => {
    await page.goto(`${journey.house.url}/environments`)
    await page.getByRole('region', { name: 'Production' }).waitFor()
  }
  const edit = async (page: Page, name: string) => {
    await page.getByRole('button', { name: `Edit ${name}` }).click()
    const dialog = page.getByRole('dialog', { name: `Edit ${name}` })
    await dialog.getByRole('button', { name: 'Save' }).waitFor()
    return dialog
  }

  it('are changed by a lead, with secrets shown by the name of their variable', async () => {
    const page = await journey.signIn()
    await page.getByRole('link', { name: 'Environments' }).click()
    await page.waitForURL(`${journey.house.url}/environments`)
    const card = page.getByRole('region', { name: 'QA' })
    await card.getByText('Default settings, never changed').waitFor()
    await card.getByText('Versions may write to every table.').waitFor()

    const dialog = await edit(page, 'QA')
    await dialog.getByRole('button', { name: 'Add parameter' }).click()
    await dialog.getByLabel('Name of parameter 1').fill('min_total')
    await dialog.getByLabel('Type of min_total').selectOption('Number')
    await dialog.getByLabel('Value of min_total').fill('a lot')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Enter a number.').waitFor()
    await dialog.getByLabel('Value of min_total').fill('100')
    await dialog.getByRole('button', { name: 'Add parameter' }).click()
    await dialog.getByLabel('Name of parameter 2').fill('api_key')
    await dialog.getByLabel('Type of api_key').selectOption('Secret')
    await dialog.getByLabel('Value of api_key').fill('HOME')
    await dialog.getByLabel('Write rules').fill('demo.copy\nsales.*\n')
    await dialog.getByLabel('Deployment').selectOption('On arrival')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').getByText('only names that start with LAKE_').waitFor()
    expect((await settingsOf('qa')).revision).toBe(0)
    await dialog.getByLabel('Value of api_key').fill('LAKE_API_KEY')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })

    await card.getByText('env:LAKE_API_KEY').waitFor()
    expect((await card.getByRole('listitem').allInnerTexts()).toSorted()).toEqual(['demo.copy', 'sales.*'])
    await card.getByText(/^Last updated/).waitFor()
    expect(await settingsOf('qa')).toMatchObject({
      parameters: { min_total: 100, api_key: 'env:LAKE_API_KEY' },
      writes: ['demo.copy', 'sales.*'],
      deploy: 'on_arrival',
      revision: 1,
    })
    expect((await settingsOf('uat')).revision).toBe(0)
  })

  it('explain a conflict, and go on from the current settings without losing the input', async () => {
    await journey.house.call('PUT', '/api/environments/uat', { parameters: { a: 1, b: 'old' } })
    const page = await journey.signIn()
    await open(page)
    const dialog = await edit(page, 'UAT')
    await dialog.getByLabel('Value of a', { exact: true }).fill('2')
    await dialog.getByRole('button', { name: 'Add parameter' }).click()
    await dialog.getByLabel('Name of parameter 3').fill('mine')
    await dialog.getByLabel('Value of mine').fill('kept')
    const change = { parameters: { a: 1, b: 'new' }, writes: ['uat.*'] }
    await journey.house.call('PUT', '/api/environments/uat', change)
    await dialog.getByRole('button', { name: 'Save' }).click()
    const notice = dialog.getByRole('alert')
    await notice.getByText('Changed meanwhile: b, Write rules.').waitFor()
    expect((await settingsOf('uat')).parameters).toEqual(change.parameters)
    expect(await dialog.getByLabel('Value of mine').inputValue()).toBe('kept')
    await picture(page, 'environments-conflict')
    await notice.getByRole('button', { name: 'Reload and keep my changes' }).click()
    await dialog.getByText('Your changes are kept.').waitFor()
    expect(await dialog.getByLabel('Value of b', { exact: true }).inputValue()).toBe('new')
    expect(await dialog.getByLabel('Write rules').inputValue()).toBe('uat.*')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await settingsOf('uat')).toMatchObject({
      parameters: { a: 2, b: 'new', mine: 'kept' },
      writes: ['uat.*'],
      revision: 3,
    })
  })

  it('are read-only for other roles, with the reason, and follow changes of others', async () => {
    const page = await journey.signIn(await journey.house.addUser('ana', 'DataEngineer'))
    await open(page)
    await page.getByText('Only a lead data engineer can change environments.').waitFor()
    expect(await page.getByRole('button', { name: /^Edit/ }).count()).toBe(0)
    await journey.house.call('PUT', '/api/environments/production', { parameters: { region: 'eu' }, writes: [] })
    const card = page.getByRole('region', { name: 'Production' })
    await card.getByText('region', { exact: true }).waitFor()
    await card.getByText('Versions may not write to any table.').waitFor()
  })

  it.each(['light', 'dark'] as const)('are accessible in the %s scheme, also on a phone', async (theme) => {
    const long = { note: 'a long text without any space '.replaceAll(' ', '_').repeat(8), empty: '', ready: true }
    await journey.house.call('PUT', '/api/environments/development', { parameters: { schema: 'sales', ...long } })
    for (const size of [{ width: 1440, height: 900 }, PHONE]) {
      const page = await journey.signIn(undefined, { theme, size })
      await open(page)
      await picture(page, `environments-${theme}-${size.width}`)
      expect(await accessibilityBreaches(page)).toEqual([])
      expect(await isTooWide(page)).toBe(false)
      const dialog = await edit(page, 'Development')
      await dialog.getByLabel('Value of schema').waitFor()
      await page.waitForTimeout(400) // the dialog opens with a transition
      await picture(page, `environments-form-${theme}-${size.width}`)
      expect(await accessibilityBreaches(page)).toEqual([])
      expect(await isTooWide(page)).toBe(false)
    }
  })

  it('can be found and changed with the keyboard', async () => {
    const page = await journey.signIn()
    await page.getByRole('link', { name: 'Tables', exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Find a table, page or action' }).waitFor()
    await page.keyboard.type('environ')
    await page.getByRole('option', { name: 'Environments', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`${journey.house.url}/environments`)
    const button = page.getByRole('button', { name: 'Edit Production' })
    await tabTo(page, button)
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Edit Production' })
    await tabTo(page, dialog.getByLabel('Trigger interval'))
    await page.keyboard.press('Control+a')
    await page.keyboard.type('soon')
    await page.keyboard.press('Enter')
    await dialog.locator('[aria-invalid="true"]:focus').waitFor()
    await page.keyboard.press('Control+a')
    await page.keyboard.type('10 seconds')
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    expect((await settingsOf('production')).defaults.trigger_interval).toBe('10 seconds')
    await expect.poll(() => button.and(page.locator(':focus')).count()).toBe(1)
  })

  it('are what the designer validates with, and a problem names the parameter', async () => {
    await journey.house.call('PUT', '/api/environments/development', { parameters: { schema: 'demo' } })
    await journey.house.call('PUT', '/api/environments/qa', { parameters: {} })
    const engineer = await journey.house.addUser('cy', 'DataEngineer')
    const [source, ...others] = LARGE_ORDERS.nodes
    const nodes = [{ ...source, config: { table: '${schema}.orders' } }, ...others]
    const made = { name: 'By schema', description: '', nodes, edges: LARGE_ORDERS.edges }
    const { definition } = await journey.house.call('POST', '/api/pipeline-defs', made, engineer)
    const page = await journey.signIn(engineer, { at: `/definitions/${definition.id}` })
    const panel = page.getByRole('region', { name: 'Validation', exact: true })
    await page.getByRole('button', { name: 'Validate' }).click()
    await panel.getByText('With the parameters of development').waitFor()
    await panel.getByText('Reads demo.orders').waitFor()
    expect(await panel.getByText('parameter schema').count()).toBe(0)
    await page.getByLabel('Environment whose parameters the validation uses').selectOption('QA')
    await panel.getByText('With the parameters of development').waitFor()
    await page.getByRole('button', { name: 'Validate' }).click()
    await panel.getByText('With the parameters of QA').waitFor()
    await panel.getByText('the environment has no parameter schema').waitFor()
    await picture(page, 'environments-designer')
    expect(await accessibilityBreaches(page)).toEqual([])
  })
})

function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')
}

async function tabTo(page: Page, wanted: ReturnType<Page['locator']>): Promise<void> {
  await wanted.waitFor()
  for (let stops = 0; stops < 60; stops++) {
    if ((await wanted.and(page.locator(':focus')).count()) > 0) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not lead to ${wanted.toString()}`)
}

async function picture(page: Page, name: string): Promise<void> {
  if (!IMAGES) return
  await mkdir(IMAGES, { recursive: true })
  await page.screenshot({ path: join(IMAGES, `${name}.png`), fullPage: true })
}
