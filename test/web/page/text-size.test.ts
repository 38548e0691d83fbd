import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

/** Doubles the text size like the browser setting, before the first render. */
const DOUBLED = `addEventListener('DOMContentLoaded', () => { document.documentElement.style.fontSize = '200%' })`

/** Places where text is higher than the box that clips it. */
const CUT_OFF = `(() => {
  const boxes = document.querySelectorAll('nav a, nav button, [role="gridcell"], [role="columnheader"], [role="tab"], dd, dt')
  return [...boxes].filter((box) => {
    if (box.checkVisibility() === false || box.clientHeight === 0) return false
    return box.scrollHeight > box.clientHeight + 2
  }).map((box) => box.textContent.slice(0, 40))
})()`

const PAGES = [
  '/tables',
  '/tables/demo.events',
  '/tables/demo.events?tab=snapshots',
  '/operations',
  '/pipelines',
  '/audit',
]

describe.skipIf(chromiumPath === undefined)('text of double size', () => {
  const journey = useJourney()

  it('is not clipped anywhere, and the score fits into its ring', async () => {
    const page = await journey.signIn()
    await page.addInitScript(DOUBLED)
    const found: Record<string, unknown> = {}
    for (const path of PAGES) {
      await page.goto(journey.house.url + path)
      await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
      await page.waitForTimeout(500)
      expect(await page.evaluate(`getComputedStyle(document.documentElement).fontSize`)).toBe('32px')
      const cut = await page.evaluate<string[]>(CUT_OFF)
      if (cut.length > 0) found[path] = cut
    }
    expect(found).toEqual({})
    await page.goto(`${journey.house.url}/tables/demo.events`)
    const ring = page.getByRole('img', { name: /60/ }).first()
    const [outer, score] = await Promise.all([ring.boundingBox(), ring.locator('strong').boundingBox()])
    expect(outer?.width ?? 0).toBeGreaterThan(170)
    expect(score?.width ?? 0).toBeLessThan((outer?.width ?? 0) * 0.8)
  })
})
