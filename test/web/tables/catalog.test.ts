import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

describe.skipIf(chromiumPath === undefined)('the catalog on the web page', () => {
  const journey = useJourney()

  it('stays in use when another cannot be opened, and the form keeps its values', async () => {
    const page = await journey.signIn(undefined, { at: '/settings/catalog' })
    await page.getByRole('button', { name: 'Change lockhouse' }).click()
    const before = await journey.house.call('GET', '/api/config')
    await page.getByLabel(/^URI/).fill('sqlite:////proc/no/such/folder/catalog.db')
    await page.getByRole('button', { name: 'Review change' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Running operations finish on the catalog where they started.').waitFor()
    await dialog.getByText('sqlite:////proc/no/such/folder/catalog.db').waitFor()
    await dialog.getByRole('button', { name: 'Switch catalog' }).click()
    const refusal = page.getByRole('alert')
    await refusal.getByText('Failed to open the catalog. The current catalog stays in use.').waitFor()
    expect((await refusal.innerText()).split('\n').length).toBeGreaterThan(1)
    expect(await page.getByLabel(/^URI/).inputValue()).toBe('sqlite:////proc/no/such/folder/catalog.db')
    expect(await journey.house.call('GET', '/api/config')).toEqual(before)
    await page.getByRole('button', { name: 'Reset' }).click()
    expect(await page.getByLabel(/^URI/).inputValue()).toBe(before.uri)
    await page.goto(`${journey.house.url}/tables`)
    await page.getByRole('link', { name: 'demo.events', exact: true }).waitFor()
  })

  it('is tested with the values of the form, stored or not', async () => {
    const page = await journey.signIn(undefined, { at: '/settings/catalog' })
    await page.getByRole('button', { name: 'Change lockhouse' }).click()
    const before = await journey.house.call('GET', '/api/config')
    await page.getByRole('button', { name: 'Test connection' }).click()
    const works = page.getByRole('table', { name: 'The connection works' })
    await works.getByRole('row', { name: /^Write and delete a file OK .* was created, read and deleted\./ }).waitFor()
    expect(await works.getByRole('row').count()).toBe(8)
    await page.getByLabel(/^URI/).fill('sqlite:////proc/no/such/folder/catalog.db')
    await works.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Test connection' }).click()
    const problems = page.getByRole('table', { name: 'The connection has problems' })
    await problems
      .getByRole('row', { name: /^Reach the catalog Failed .*folder that does not exist.*Check uri/ })
      .waitFor()
    await problems.getByRole('row', { name: /^Commit Skipped/ }).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await page.getByLabel(/^URI/).fill('')
    await page.getByRole('button', { name: 'Test connection' }).click()
    expect(await page.getByLabel(/^URI/).getAttribute('aria-invalid')).toBe('true')
    expect(await journey.house.call('GET', '/api/config')).toEqual(before)
  })

  it('is read-only for users who may not change it', async () => {
    const page = await journey.signIn(await journey.house.addUser('bo', 'Auditor'), { at: '/settings/catalog' })
    await page.getByText('Only a lead data engineer can change this.').waitFor()
    await page.getByRole('heading', { name: 'lockhouse' }).waitFor()
    expect(await page.getByRole('button', { name: /Change|Test connection|Add a catalog/ }).count()).toBe(0)
  })
})
