import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'
import { makeScene } from '../support/scene.ts'

const PHONES = [390, 320] as const
const EVENTS = 'operation.failed'

/** Cells of lists whose content is cut, and what is wider than the window. */
const CUT_OFF = `(() => {
  const cells = [...document.querySelectorAll('[role="gridcell"], [role="gridcell"] > div')]
  const cut = cells.filter((cell) => cell.scrollHeight > cell.clientHeight + 2).map((cell) => cell.textContent)
  return document.documentElement.scrollWidth > innerWidth ? [...cut, 'the page is wider than the window'] : cut
})()`

describe.skipIf(chromiumPath === undefined)('lists on a phone', () => {
  const journey = useJourney()

  beforeAll(async () => {
    const { house } = journey
    await makeScene(house)
    const channel = { type: 'webhook', url: 'https://alerts.example/hook' }
    await house.call('POST', '/api/alerts', { name: 'Failures', events: [EVENTS], channel })
  })

  const row = async (page: Page, path: string, list: string): Promise<string> => {
    await page.goto(journey.house.url + path)
    const first = page.getByRole('grid', { name: list }).getByRole('row').nth(1)
    await first.waitFor()
    expect({ path, cut: await page.evaluate(CUT_OFF) }).toEqual({ path, cut: [] })
    return (await first.innerText()).replaceAll(/\s+/g, ' ')
  }

  it.each(PHONES)('show the object, the state and who at %i pixels', async (width) => {
    const page = await journey.signIn(undefined, { size: { width, height: 844 } })
    expect(await row(page, '/operations', 'Operations')).toMatch(
      /^Compact (Succeeded|Running) .*Table demo\.trips Requested by ana Outcome /,
    )
    expect(await row(page, '/approvals', 'Approvals')).toMatch(
      /^Large orders v2 Pending Move QA to UAT Requested by ana/,
    )
    expect(await row(page, '/settings/tokens', 'Tokens')).toMatch(/Active Revoke Role (Auditor|.*engineer) Expires /)
    expect(await row(page, '/settings/alerts', 'Alerts')).toMatch(
      /^Failures OK Events operation\.failed Sent to Webhook: alerts\.example Actions Test Silence/,
    )
    expect(await accessibilityBreaches(page)).toEqual([])
  })

  it.each(PHONES)('show object, outcome, actor and role of audit entries at %i pixels', async (width) => {
    const page = await journey.signIn(undefined, { at: '/audit', size: { width, height: 844 } })
    const entry = page.getByRole('button', { name: /operation\.begin/ }).first()
    await entry.waitFor()
    const lines = (await entry.innerText()).split(/\n+/).map((line) => line.trim())
    expect(lines).toEqual(expect.arrayContaining(['ana', 'operation.begin', 'demo.trips', 'Started', 'Data engineer']))
    expect(await page.evaluate(CUT_OFF)).toEqual([])
    expect(await accessibilityBreaches(page)).toEqual([])
  })
})
