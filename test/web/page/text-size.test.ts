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

/** Pages of cards, and texts there that are outside of their card or are squeezed to a letter per line. */
const CARDS = ['/overview', '/environments', '/agent']
const OUTSIDE = `(() => {
  const texts = [...document.querySelectorAll('main :is(h2, h3, p, a, li, dt, dd, button)')].filter((text) => text.checkVisibility())
  const bad = texts.filter((text) => {
    const card = text.closest('section, article, main').getBoundingClientRect()
    const box = text.getBoundingClientRect()
    return box.right > card.right + 1 || text.scrollWidth > text.clientWidth + 1 && text.clientWidth > 0 || (text.textContent.length > 4 && box.width < 24)
  })
  return bad.map((text) => text.tagName + ' ' + text.textContent.slice(0, 40))
})()`

/** Buttons of a list with text outside of them, or that cover another one. */
const OVERLAPS = (list: unknown): string[] => {
  const buttons = [...(list as { querySelectorAll: (query: string) => Iterable<Box> }).querySelectorAll('button')]
  return buttons
    .filter((button, at) => {
      const { top, bottom, left, right } = button.getBoundingClientRect()
      const covers = buttons.slice(at + 1).some((other) => {
        const box = other.getBoundingClientRect()
        return box.top < bottom && box.bottom > top && box.left < right && box.right > left
      })
      return covers || button.scrollWidth > button.clientWidth + 1 || button.scrollHeight > button.clientHeight + 1
    })
    .map(({ textContent }) => textContent)
}

interface Box {
  readonly textContent: string
  readonly scrollWidth: number
  readonly clientWidth: number
  readonly scrollHeight: number
  readonly clientHeight: number
  readonly getBoundingClientRect: () => Readonly<Record<'top' | 'bottom' | 'left' | 'right', number>>
}

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
    for (const path of CARDS) {
      await page.goto(journey.house.url + path)
      await page.getByRole('heading', { level: 2 }).first().waitFor()
      await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
      const outside = await page.evaluate<string[]>(OUTSIDE)
      if (outside.length > 0) found[path] = outside
    }
    expect(found).toEqual({})
    await page.goto(`${journey.house.url}/tables/demo.events`)
    const ring = page.getByRole('img', { name: /60/ }).first()
    const [outer, score] = await Promise.all([ring.boundingBox(), ring.locator('strong').boundingBox()])
    expect(outer?.width ?? 0).toBeGreaterThan(170)
    expect(score?.width ?? 0).toBeLessThan((outer?.width ?? 0) * 0.8)
  })

  it('keeps suggestions of the agent inside their buttons and apart, with a long table name and in a narrow window', async () => {
    const { house } = journey
    const name = `a_${'long_name_'.repeat(9)}`
    await house.call('POST', '/iceberg/v1/namespaces', { namespace: ['aaa'] })
    await house.call('POST', '/iceberg/v1/namespaces/aaa/tables', {
      name,
      schema: { type: 'struct', fields: [{ id: 1, name: 'id', type: 'long', required: false }] },
    })
    for (const width of [1440, 320]) {
      const page = await journey.signIn(undefined, { size: { width, height: 600 } })
      if (width > 320) await page.addInitScript(DOUBLED)
      await page.goto(`${house.url}/agent`)
      const suggestions = page.getByRole('list', { name: 'Suggested questions' })
      await suggestions.getByRole('button', { name: `Compact aaa.${name}` }).waitFor()
      expect(await suggestions.evaluate(OVERLAPS)).toEqual([])
    }
  })
})
