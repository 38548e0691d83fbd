import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'
import { LARGE_ORDERS } from '../support/scene.ts'

/** Right-to-left override: what follows reads backwards, so that this name looks like another. */
const NAME = 'paid\u202Esredro\u200B'
const SHOWN = String.raw`paid\u202esredro\u200b`

/** Texts and labels of a page that hold a character which is not seen, or changes the direction of others. */
const HIDDEN_CHARACTERS = `(() => {
  const hidden = /[\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u2064\\uFEFF]/
  const found = hidden.test(document.title) ? ['title'] : []
  for (const element of document.querySelectorAll('body *')) {
    if (element.matches('script, style, input, textarea')) continue
    const texts = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data)
    const labels = ['title', 'aria-label', 'placeholder', 'alt'].map((name) => element.getAttribute(name) ?? '')
    if ([...texts, ...labels].some((text) => hidden.test(text))) found.push(element.outerHTML.slice(0, 200))
  }
  return found
})()`

describe.skipIf(chromiumPath === undefined)('names with hidden characters', () => {
  const journey = useJourney()
  let definition = ''
  const table = `${NAME}.${NAME}`

  beforeAll(async () => {
    const { house } = journey
    await house.call('POST', '/iceberg/v1/namespaces', { namespace: [NAME] })
    await house.call('POST', `/iceberg/v1/namespaces/${encodeURIComponent(NAME)}/tables`, {
      name: NAME,
      schema: { type: 'struct', fields: [{ id: 1, name: NAME, type: 'long', required: false }] },
    })
    definition = (
      await house.call('POST', '/api/pipeline-defs', {
        name: NAME,
        description: NAME,
        ...LARGE_ORDERS,
        nodes: LARGE_ORDERS.nodes.map((node) => (node.id === 'sink' ? { ...node, config: { table } } : node)),
      })
    ).definition.id
    await house.call('POST', '/api/auth/tokens', { user: 'ana', role: 'Auditor', name: NAME })
  })

  const shows = async (page: Page, path: string): Promise<void> => {
    await page.goto(journey.house.url + path)
    await page.getByText(SHOWN).filter({ visible: true }).first().waitFor()
    expect({ path, found: await page.evaluate(HIDDEN_CHARACTERS) }).toEqual({ path, found: [] })
  }

  it('are shown with escapes on every page', async () => {
    const page = await journey.signIn()
    await shows(page, '/tables')
    for (const tab of ['', '?tab=schema', '?tab=health', '?action=compact']) {
      await shows(page, `/tables/${encodeURIComponent(table)}${tab}`)
    }
    expect(await page.title()).toContain(SHOWN)
    await shows(page, '/definitions')
    await shows(page, `/definitions/${definition}`)
    await shows(page, '/audit')
    await shows(page, '/settings/tokens')
    expect(await accessibilityBreaches(page)).toEqual([])
  })

  it('are shown with escapes in the search, in questions and in errors', async () => {
    const page = await journey.openTables()
    await page.getByText(SHOWN).first().waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('paid')
    await page.getByRole('option', { name: `${SHOWN}.${SHOWN}` }).waitFor()
    expect(await page.evaluate(HIDDEN_CHARACTERS)).toEqual([])
    await page.keyboard.press('Enter')
    await page.waitForURL(`${journey.house.url}/tables/${encodeURIComponent(table)}`)

    await page.goto(`${journey.house.url}/settings/tokens`)
    await page.getByRole('row', { name: SHOWN }).getByRole('button').click()
    await page.getByRole('dialog').getByText(SHOWN).first().waitFor()
    expect(await page.evaluate(HIDDEN_CHARACTERS)).toEqual([])

    await page.goto(`${journey.house.url}/tables/${encodeURIComponent(`demo.${NAME}`)}`)
    await page.getByText(`demo.${SHOWN}`).first().waitFor()
    expect(await page.evaluate(HIDDEN_CHARACTERS)).toEqual([])
  })
})
