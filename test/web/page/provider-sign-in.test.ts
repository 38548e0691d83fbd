import type { Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { type OidcProvider, startOidcProvider } from '../../support/network/oidc-provider.ts'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

describe.skipIf(chromiumPath === undefined)('the sign-in at a provider', () => {
  let provider: OidcProvider
  const journey = useJourney(async () => {
    provider = await startOidcProvider()
    return { env: { ...provider.env, LOCKHOUSE_DEMO: '0' } }
  })
  afterAll(() => provider.close())
  const button = (page: Page) => page.getByRole('link', { name: 'Sign in with your organization' })
  const enter = async (page: Page, path: string): Promise<void> => {
    provider.register({ service: journey.house.url })
    await page.goto(journey.house.url + path)
    await button(page).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await button(page).focus()
    await page.keyboard.press('Enter')
  }

  it('comes back to the requested page, by keyboard, on a phone and in the dark', async () => {
    for (const look of [{}, { size: { width: 390, height: 844 } }, { theme: 'dark' as const }]) {
      const page = await journey.arrive(look)
      await enter(page, '/settings/about?x=1')
      await page.waitForURL(/\/settings\/about/)
      await page.getByRole('heading', { level: 1 }).waitFor()
    }
  })

  it('shows why a user without a role is refused', async () => {
    provider.people.set('ada', { groups: ['everyone'] })
    const page = await journey.arrive()
    await enter(page, '/tables')
    await page.getByText('None of your groups has access to this service.').waitFor()
    provider.people.set('ada', { groups: ['analysts'] })
    await button(page).click()
    await page.waitForURL(/\/tables$/)
  })
})
