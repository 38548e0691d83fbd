import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

describe.skipIf(chromiumPath === undefined)('a link with a token', () => {
  const journey = useJourney(() => ({ env: { LOCKHOUSE_DEMO: '0' } }))
  const signedInAs = (page: Page): Promise<string> =>
    page.evaluate(async () => String(Object(await (await fetch('/api/auth/me')).json()).user))
  /** Opens a link in an existing page, like a click on it in another program. */
  const follow = async (page: Page, token: string): Promise<void> => {
    await page.goto('about:blank')
    await page.goto(`${journey.house.url}/settings/about#token=${token}`)
  }

  it('asks a user who is signed in under another name, and shows both; Close, Enter and Escape mean stay', async () => {
    const page = await journey.signIn(await journey.house.addUser('ana', 'DataEngineer'))
    const other = await journey.house.addUser('bo', 'Auditor')
    for (const answer of ['Stay signed in as ana', 'Enter', 'Escape', 'Close']) {
      await follow(page, other)
      const dialog = page.getByRole('dialog', { name: 'Switch user?' })
      await dialog.getByText('You are signed in as ana (Data engineer).').waitFor()
      await dialog.getByText('This link signs you in as bo (Auditor)').waitFor()
      expect(await signedInAs(page)).toBe('ana')
      expect(page.url()).toBe(`${journey.house.url}/settings/about`)
      if (answer === 'Enter' || answer === 'Escape') await page.keyboard.press(answer)
      else await dialog.getByRole('button', { name: answer }).click()
      await dialog.waitFor({ state: 'hidden' })
      expect(await signedInAs(page)).toBe('ana')
    }
  })

  it('replaces the session on request, and removes all data of the old one', async () => {
    const page = await journey.signIn(await journey.house.addUser('ana', 'LeadDataEngineer'))
    await follow(page, await journey.house.addUser('bo', 'Auditor'))
    const before = (await page.context().cookies())[0]?.value
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in as bo' }).click()
    await page.waitForFunction(async () => Object(await (await fetch('/api/auth/me')).json()).user === 'bo')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect(page.url()).toBe(`${journey.house.url}/settings/about`)
    const old = await fetch(`${journey.house.url}/api/auth/me`, { headers: { Cookie: `lockhouse_session=${before}` } })
    expect(old.status).toBe(401)
  })

  it('asks when the same user would get another role, but not when nothing would change', async () => {
    const page = await journey.signIn(await journey.house.addUser('ana', 'Auditor'))
    await follow(page, await journey.house.addUser('ana', 'LeadDataEngineer'))
    await page.getByRole('dialog').getByText('as ana (Lead data engineer)').waitFor()
    await follow(page, await journey.house.addUser('ana', 'Auditor'))
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await signedInAs(page)).toBe('ana')
  })

  it('does not change the session if it is invalid', async () => {
    const page = await journey.signIn(await journey.house.addUser('ana', 'Auditor'))
    await follow(page, 'lh_of-nobody')
    await page.getByText('The token in this link is not valid. You are still signed in as ana.').waitFor()
    expect(await signedInAs(page)).toBe('ana')
  })
})
