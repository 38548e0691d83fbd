import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

/** Pages without data, their message, and the first action that they offer. */
const PAGES: readonly (readonly [string, string, string | undefined])[] = [
  ['/overview', 'No tables yet', undefined],
  ['/tables', 'No tables yet', 'Register table'],
  ['/pipelines', 'No pipelines yet', undefined],
  ['/definitions', 'No definitions yet', 'New definition'],
  ['/approvals', 'No approval requests yet', undefined],
  ['/operations', 'No operations yet', undefined],
  ['/settings/alerts', 'No alerts', 'New alert'],
]

describe.skipIf(chromiumPath === undefined)('an empty lakehouse on the web page', () => {
  const journey = useJourney(() => ({ env: { LOCKHOUSE_DEMO: '0' } }))

  it('has a message on each page about what is missing and how to create it', async () => {
    const page = await journey.signIn()
    const breaches: Record<string, readonly string[]> = {}
    for (const [path, title, offer] of PAGES) {
      await page.goto(journey.house.url + path)
      await page.getByText(title, { exact: true }).first().waitFor()
      if (offer !== undefined) await page.getByRole('button', { name: offer }).first().waitFor()
      if (title === 'No tables yet') await page.getByRole('link', { name: 'Connect a catalog' }).waitFor()
      const found = await accessibilityBreaches(page)
      if (found.length > 0) breaches[path] = found
    }
    expect(breaches).toEqual({})
  })

  it('has a message for addresses that do not exist', async () => {
    const page = await journey.signIn(undefined, { at: '/tables/demo.gone' })
    await page.getByText('Table not found').waitFor()
    await page.goto(`${journey.house.url}/definitions/def-00000000000000000000000000`)
    await page.getByText('Definition not found').waitFor()
    await page.goto(`${journey.house.url}/operations/op-00000000000000000000000000`)
    await page.getByText('Operation not found').waitFor()
    await page.goto(`${journey.house.url}/nowhere`)
    await page.getByText('Page not found', { exact: true }).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
  })
})
