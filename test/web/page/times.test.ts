import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

async function chooseInMenu(page: Page, name: RegExp): Promise<void> {
  await page.getByRole('button', { name: /Signed in as/ }).click()
  await page.getByRole('menuitem', { name }).click()
}

/** A time of today, or of an earlier day. */
const ABSOLUTE = /^(\d{4}-\d\d-\d\d \d\d:\d\d|\d\d:\d\d:\d\d)$/
const SOON = { timeout: 60_000 }

describe.skipIf(chromiumPath === undefined)('times on the web page', () => {
  const journey = useJourney()

  it('use one setting in lists, forms and the audit log', async () => {
    const page = await journey.signIn()
    const { url } = journey.house
    await page.goto(`${url}/audit`)
    await chooseInMenu(page, /^UTC$/)
    const first = page.locator('time').first()
    await expect.poll(() => first.innerText(), SOON).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
    await page.getByLabel('From (UTC)').waitFor()

    await chooseInMenu(page, /Other time zone/)
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox').fill('Tokyo')
    await page.getByRole('option', { name: 'Asia/Tokyo' }).click()
    await expect.poll(() => first.innerText(), SOON).toMatch(/\+09:00$/)
    await page.getByLabel('From (Asia/Tokyo)').waitFor()

    await page.goto(`${url}/tables/demo.events?action=expire`)
    await page
      .getByRole('dialog')
      .getByLabel(/^Older than \(Asia/)
      .waitFor()
    await page.goto(`${url}/tables/demo.events?tab=snapshots`)
    const time = page.getByRole('grid').locator('time').first()
    expect(await time.innerText()).toMatch(/now|ago/)
    expect(await time.getAttribute('title')).toMatch(/\+09:00, \d{4}-.* UTC, .*(now|ago)$/)
    await chooseInMenu(page, /^Absolute/)
    await expect.poll(() => time.innerText(), SOON).toMatch(ABSOLUTE)
    await page.reload()
    await expect.poll(() => time.innerText(), SOON).toMatch(ABSOLUTE)
  })

  it('in tooltips are the same in all charts of a pipeline, in the selected zone', async () => {
    const page = await journey.signIn()
    const { pipeline } = await journey.house.call('POST', '/api/pipeline/start', {
      source_table: 'demo.trips',
      sink_table: 'demo.trips_copy',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/trips_copy',
      trigger_interval: '1 second',
      max_files_per_batch: 1,
    })
    await chooseInMenu(page, /^UTC$/)
    await page.goto(`${journey.house.url}/pipelines/${pipeline.id}`)
    const plots = page.locator('figure .u-over')
    await expect.poll(() => plots.count(), SOON).toBe(3)
    await page.waitForTimeout(3000)
    await plots.first().hover()
    const tips = page.locator('figure .u-over > div[class*="tooltip"]')
    await expect.poll(() => tips.filter({ visible: true }).count(), SOON).toBe(3)
    const lines = (await tips.allInnerTexts()).map((text) => text.split('\n'))
    expect(lines[0]?.[0]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
    expect(new Set(lines.map(([time]) => time)).size).toBe(1)
    expect(lines.map(([, value]) => value?.replaceAll(/[\d.,]+/g, '#'))).toEqual([
      expect.stringMatching(/^(# rows\/s|no value)$/),
      expect.stringMatching(/^# rows?$/),
      expect.stringMatching(/^(# m?s|no value)$/),
    ])
  })
})
