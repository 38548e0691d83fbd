import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

describe.skipIf(chromiumPath === undefined)('grants on the web page', () => {
  const journey = useJourney()

  const openGrants = async (): Promise<Page> => {
    const page = await journey.signIn(undefined, { at: '/settings/grants' })
    return page
  }

  it('limit another user to the granted tables, in the open page too', async () => {
    const lead = await openGrants()
    await lead.getByText('Every user sees every table').waitFor()
    const eve = await journey.signIn(await journey.house.addUser('eve', 'DataEngineer'), { at: '/tables' })
    await eve.getByRole('row', { name: /trips/ }).first().waitFor()

    await lead.getByRole('button', { name: 'New grant' }).click()
    const form = lead.getByRole('dialog')
    await form.getByLabel('User or group').fill('user:eve')
    await form.getByRole('button', { name: 'Save' }).click()
    expect(await form.getByLabel(/^Tables/).getAttribute('aria-invalid')).toBe('true')
    await form.getByLabel(/^Tables/).fill('demo.orders')
    expect(await accessibilityBreaches(lead)).toEqual([])
    await form.getByRole('button', { name: 'Save' }).click()
    await lead.getByRole('row', { name: /user:eve/ }).waitFor()
    expect(await accessibilityBreaches(lead)).toEqual([])

    await eve.goto(`${journey.house.url}/tables`)
    await eve
      .getByRole('row', { name: /orders/ })
      .first()
      .waitFor()
    expect(await eve.getByText('trips').count()).toBe(0)
    await eve.goto(`${journey.house.url}/overview`)
    await eve.getByRole('heading', { name: 'This month' }).waitFor()
    expect(await eve.getByText('trips').count()).toBe(0)
    expect(await accessibilityBreaches(eve)).toEqual([])
  })

  it('are explained to leads on the table', async () => {
    const lead = await journey.signIn(undefined, { at: '/tables/demo.orders' })
    await lead.getByLabel('User or group').fill('user:eve')
    await lead.getByRole('button', { name: 'Explain' }).click()
    await lead.getByText('At most Auditor, by these grants:').waitFor()
    await lead.goto(`${journey.house.url}/tables/demo.trips`)
    await lead.getByLabel('User or group').fill('user:eve')
    await lead.getByRole('button', { name: 'Explain' }).click()
    await lead.getByText(/^No grant matches/).waitFor()
    expect(await lead.getByText('At most Auditor').count()).toBe(0)
  })

  it('are changed, and the last one is removed only after a warning', async () => {
    const lead = await openGrants()
    await lead.getByRole('button', { name: 'Edit the grant of user:eve' }).click()
    await lead
      .getByRole('dialog')
      .getByLabel(/^Tables/)
      .fill('demo.*')
    await lead.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await lead.getByRole('row', { name: /demo\.\*/ }).waitFor()
    await lead.getByRole('button', { name: 'Remove the grant of user:eve' }).click()
    await lead.getByText('This is the last grant. Every user sees every table again.').waitFor()
    await lead.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await lead.getByText('Every user sees every table, with the role of the user.').waitFor()
    expect(await journey.house.call('GET', '/api/grants')).toEqual([])
  })
})
