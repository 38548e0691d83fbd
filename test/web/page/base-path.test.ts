import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

describe.skipIf(chromiumPath === undefined)('the page below a base path', () => {
  const journey = useJourney(() => ({ env: { BASE_PATH: '/lake' } }))

  it('works like that of a whole host, and asks for nothing outside of its path', async () => {
    const { house } = journey
    expect(house.url).toMatch(/\/lake$/)
    const page = await journey.arrive()
    const addresses: string[] = []
    page.on('request', (request) => addresses.push(request.url()))
    page.on('websocket', (socket) => addresses.push(socket.url().replace('ws:', 'http:')))
    await page.goto(house.link)
    await page.waitForURL(house.start)
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ name: 'lockhouse_session', path: '/lake/', httpOnly: true })

    await page.getByRole('link', { name: 'Tables', exact: true }).click()
    await page.waitForURL(`${house.url}/tables`)
    await page
      .getByRole('grid', { name: 'Tables' })
      .getByRole('link', { name: /events/ })
      .click()
    await page.waitForURL(new RegExp(`^${house.url}/tables/demo\\.events`))
    await page.getByRole('heading', { name: 'demo.events', level: 1 }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'demo.events', level: 1 }).waitFor()

    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Find a table, page or action' }).fill('demo.orders')
    await page.getByRole('option', { name: 'demo.orders', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`${house.url}/tables/demo.orders`)

    const monitor = page.waitForEvent('websocket')
    await page.getByRole('link', { name: 'Pipelines', exact: true }).click()
    await (await monitor).waitForEvent('framereceived')
    await page.goto(`${house.url}/settings/about`)
    expect(await page.getByRole('link', { name: /OpenAPI/ }).getAttribute('href')).toBe('/lake/api/openapi.json')
    expect(addresses.filter((address) => address.startsWith('http') && !address.startsWith(`${house.url}/`))).toEqual(
      [],
    )
    expect(addresses.some((address) => address.endsWith('/lake/api/pipeline/monitor'))).toBe(true)
  })

  it('returns to where a user wanted to go', async () => {
    const page = await journey.arrive()
    await page.goto(`${journey.house.url}/quarantine`)
    await page.waitForURL(/\/lake\/sign-in\?next=/)
    await page.getByLabel('Token').fill(journey.house.token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${journey.house.url}/quarantine`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await page.context().cookies()).toHaveLength(1)
  })
})
