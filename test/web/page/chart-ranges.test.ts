import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'
import { until } from '../../support/waiting.ts'

const SOON = { timeout: 60_000 }
const bar = (page: Page) => page.getByRole('group', { name: 'Range' })
const plots = (page: Page) => page.locator('figure .u-over')
const count = async (page: Page): Promise<number> =>
  Number(/over (\d+) triggers/.exec((await page.locator('figcaption').nth(1).textContent()) ?? '')?.[1])

/** Drags with the mouse from one place of the first chart to another, as fractions of its width. */
async function drag(page: Page, from: number, to: number): Promise<void> {
  const box = await plots(page).first().boundingBox()
  if (box === null) throw new Error('there is no chart')
  const y = box.y + box.height / 2
  await page.mouse.move(box.x + from * box.width, y)
  await page.mouse.down()
  await page.mouse.move(box.x + ((from + to) / 2) * box.width, y)
  await page.mouse.move(box.x + to * box.width, y)
  await page.mouse.up()
}

describe.skipIf(chromiumPath === undefined)('the range of charts', () => {
  const journey = useJourney()
  let path = ''
  beforeAll(async () => {
    if (chromiumPath === undefined) return
    const { pipeline } = await journey.house.call('POST', '/api/pipeline/start', {
      source_table: 'demo.trips',
      sink_table: 'demo.trips_copy',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/trips_copy',
      trigger_interval: '1 second',
      max_files_per_batch: 1,
    })
    path = `/pipelines/${pipeline.id}`
    const points = async () => (await journey.house.call('GET', `/api/pipeline/${pipeline.id}/history`)).progress.length
    await until(async () => (await points()) > 5)
  })

  it('is a part that the mouse drags; the page says that it is not live, and leads back', async () => {
    const page = await journey.signIn(undefined, { at: path })
    await expect.poll(() => plots(page).count(), SOON).toBe(3)
    await bar(page).getByText('New values are added as they come.').waitFor()
    const all = await count(page)
    await drag(page, 0.01, 0.5) // the first batches are at the left, and idle triggers come each 10 s
    await page.waitForURL(/from=\d{4}-\d\d-\d\dT.*Z&to=.*Z$/)
    await bar(page).getByText('Not live: this range ends at').waitFor()
    const part = await count(page)
    expect(part).toBeGreaterThan(0)
    expect(part).toBeLessThanOrEqual(all)
    expect(await accessibilityBreaches(page)).toEqual([])

    await page.reload()
    await expect.poll(() => plots(page).count(), SOON).toBe(3)
    await expect.poll(() => count(page), SOON).toBe(part)
    await page.goBack()
    await bar(page).getByText('New values are added as they come.').waitFor()
    await page.goForward()
    await bar(page).getByRole('button', { name: 'Back to 1 h' }).click()
    await bar(page).getByText('New values are added as they come.').waitFor()
    expect(page.url()).not.toContain('from=')
  })

  it('is not chosen by a click, nor by a drag that Escape ends', async () => {
    const page = await journey.signIn(undefined, { at: path })
    await expect.poll(() => plots(page).count(), SOON).toBe(3)
    await plots(page).first().click()
    const box = await plots(page).first().boundingBox()
    if (box === null) throw new Error('there is no chart')
    await page.mouse.move(box.x + 10, box.y + 10)
    await page.mouse.down()
    await page.mouse.move(box.x + 200, box.y + 10)
    await page.keyboard.press('Escape')
    await page.mouse.up()
    await bar(page).getByText('New values are added as they come.').waitFor()
    expect(page.url()).not.toContain('from=')
  })

  it('is chosen by keyboard alone, and a wrong one is explained at its field', async () => {
    const page = await journey.signIn(undefined, { at: path })
    await bar(page).getByRole('radio', { name: '1 h' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.waitForURL(/range=24h/)
    await page.keyboard.press('Tab')
    const from = bar(page).getByLabel(/^From/)
    expect(await from.evaluate((field) => field.matches(':focus'))).toBe(true)
    await from.fill('2020-01-02T00:00:00')
    await bar(page).getByLabel(/^To /).fill('2020-01-01T00:00:00')
    await page.keyboard.press('Enter')
    await bar(page).getByText('From must be before To.').waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await from.fill('2019-12-31T00:00:00')
    await page.keyboard.press('Enter')
    await page.getByText(/^No values from 2019-12-31 00:00:00 .* The oldest stored value is from \d{4}/).waitFor()
    expect(page.url()).toMatch(/from=2019-12-3\dT/)
    expect(await accessibilityBreaches(page)).toEqual([])
  })

  it('is dragged by a finger, at the width of a phone', async () => {
    const page = await journey.signIn(undefined, { at: path, size: { width: 390, height: 844 } })
    await expect.poll(() => plots(page).count(), SOON).toBe(3)
    await plots(page).first().scrollIntoViewIfNeeded()
    const box = await plots(page).first().boundingBox()
    if (box === null) throw new Error('there is no chart')
    const session = await page.context().newCDPSession(page)
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', x: number) =>
      session.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: type === 'touchEnd' ? [] : [{ x: box.x + x * box.width, y: box.y + box.height / 2 }],
      })
    await touch('touchStart', 0.2)
    for (const x of [0.3, 0.4, 0.5, 0.6]) await touch('touchMove', x)
    await touch('touchEnd', 0.6)
    await page.waitForURL(/from=/)
    await bar(page).getByText('Not live: this range ends at').waitFor()
    expect(await page.locator('html').evaluate((root) => root.scrollWidth)).toBeLessThanOrEqual(390)
    expect(await accessibilityBreaches(page)).toEqual([])
  })

  it('is shared by the charts of a table, and does not accept nonsense', async () => {
    const page = await journey.signIn(undefined, { at: '/tables/demo.trips?tab=snapshots&range=7d&from=never' })
    await page.getByRole('heading', { name: 'Rows over time' }).waitFor()
    expect(await bar(page).getByRole('radio', { name: '7 d' }).isChecked()).toBe(true)
    await drag(page, 0.2, 0.8)
    await page.waitForURL(/from=\d{4}/)
    await page.getByRole('tab', { name: 'Health' }).click()
    await page.getByRole('heading', { name: 'Score over time' }).waitFor()
    await bar(page).getByText('Not live: this range ends at').waitFor()
    expect(page.url()).toMatch(/from=\d{4}/)
    await page.goto(`${journey.house.url}/tables/demo.trips?tab=health&from=2021-01-01&to=2020-01-01`)
    await page.getByText('must not be after to').waitFor()
    await page.goto(`${journey.house.url}/tables/demo.trips?tab=health&from=2020-01-01&to=2020-01-02`)
    await page.getByText(/^No values from 20(19|20)-/).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
  })

  it('of savings is a part of the days', async () => {
    await journey.house.call('POST', '/api/compact', { table: 'demo.events' })
    const page = await journey.signIn(undefined, { at: '/operations/savings' })
    const bars = page.getByRole('img', { name: /by day/ })
    await bars.waitFor()
    const box = await bars.boundingBox()
    if (box === null) throw new Error('there is no chart')
    await page.mouse.move(box.x + 0.7 * box.width, box.y + 20)
    await page.mouse.down()
    await page.mouse.move(box.x + 0.85 * box.width, box.y + 20)
    await page.mouse.move(box.x + box.width - 1, box.y + 20)
    await page.mouse.up()
    await page.waitForURL(/from=\d{4}-\d\d-\d\d&to=\d{4}-\d\d-\d\d$/)
    await page.getByRole('img', { name: /by day, 9 days/ }).waitFor()
  })
})
