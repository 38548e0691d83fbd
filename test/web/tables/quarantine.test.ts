import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

describe.skipIf(chromiumPath === undefined)('the quarantine on the web page', () => {
  const journey = useJourney()
  const call = (method: string, path: string, body?: object) => journey.house.call(method, path, body)
  const snapshots = async () => (await call('GET', '/api/table/demo.events/snapshots')).snapshots.length
  const expire = async () => {
    const older_than = new Date(Date.now() + 60_000).toISOString()
    return JSON.parse(
      (await call('POST', '/api/expire', { table: 'demo.events', older_than, retain_last: 1 })).details_json,
    )
  }

  it('restores what an expiry took away, after it has said what comes back', async () => {
    const page = await journey.signIn()
    await page.getByRole('link', { name: 'Quarantine', exact: true }).click()
    await page.getByText('Nothing in quarantine', { exact: true }).waitFor()
    const before = await snapshots()
    const expired = await expire()
    expect(await snapshots()).toBe(1)
    const row = page.getByRole('row', { name: /demo\.events Expiry Held/ })
    await row.waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await row.getByRole('button', { name: 'Restore' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(`${expired.expired_snapshots_count} expired snapshots can be read again.`).waitFor()
    await dialog.getByText('The current snapshot and its rows do not change.').waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    expect(await snapshots()).toBe(1)
    await dialog.getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('row', { name: /demo\.events Expiry Restored/ }).waitFor()
    expect(await snapshots()).toBe(before)
    expect(await page.getByRole('button', { name: 'Restore' }).count()).toBe(0)
  })

  it('deletes files for good when a lead confirms it, and nobody else can', async () => {
    const { quarantine } = await expire()
    const page = await journey.signIn(undefined, { at: '/quarantine?state=held' })
    const row = page.getByRole('row', { name: /demo\.events Expiry Held/ })
    await row.getByRole('button', { name: 'Delete now' }).click()
    await page.getByRole('dialog').getByText('This cannot be undone.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete now' }).click()
    await page.getByText('Clear the filter to see all entries.').waitFor()
    expect(await call('GET', `/api/quarantine/${quarantine.id}`)).toMatchObject({ state: 'purged' })
    expect(await snapshots()).toBe(1)
  })
})
