import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'
import { until } from '../../support/waiting.ts'

describe.skipIf(chromiumPath === undefined)('snapshots on the web page', () => {
  const journey = useJourney()
  const health = () => journey.house.call('GET', '/api/table/demo.events/health')

  it('expire after a preview that lists them', async () => {
    const page = await journey.signIn(await journey.house.addUser('ana', 'DataEngineer'))
    const before = await health()
    await page.goto(`${journey.house.url}/tables/demo.events`)
    await page.getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: /Expire snapshots/ }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('You can no longer read or roll back to an expired snapshot.').waitFor()
    await drawer.getByLabel('Older than').fill('2099-01-01T00:00:00')
    await drawer.getByLabel('Min snapshots to keep').fill('5')
    await drawer.getByRole('button', { name: 'Preview' }).click()
    const going = drawer.getByRole('list', { name: 'Snapshots to expire' })
    await expect.poll(() => going.getByRole('listitem').count()).toBe(before.snapshot_count - 5)
    expect(await health()).toMatchObject({ snapshot_count: before.snapshot_count })

    await drawer.getByRole('button', { name: 'Expire snapshots', exact: true }).click()
    await drawer.getByText(/^Done in /).waitFor()
    const row = drawer.getByRole('row', { name: /Snapshots/ })
    expect(await row.getByRole('cell').first().innerText()).toBe(String(before.snapshot_count))
    expect(await row.getByRole('cell').nth(1).innerText()).toBe('5')
    const { record_count } = before
    expect(await health()).toMatchObject({ snapshot_count: 5, record_count })
  })

  it('show a message when none can expire', async () => {
    const page = await journey.signIn(undefined, { at: '/tables/demo.orders?action=expire' })
    await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).click()
    await page.getByText('Nothing to do with these options.').waitFor()
    expect(await page.getByRole('button', { name: /^Apply/ }).count()).toBe(0)
  })

  it('can be rolled back to by leads only', async () => {
    const engineer = await journey.signIn(await journey.house.addUser('bo', 'DataEngineer'), {
      at: '/tables/demo.events?tab=snapshots',
    })
    await engineer
      .getByRole('button', { name: /^Actions for/ })
      .nth(1)
      .click()
    await engineer.getByRole('menuitem').first().waitFor()
    expect(await engineer.getByRole('menuitem', { name: 'Roll back to this' }).count()).toBe(0)

    const lead = await journey.signIn(undefined, { at: '/tables/demo.events?tab=snapshots' })
    await lead
      .getByRole('button', { name: /^Actions for/ })
      .nth(1)
      .click()
    await lead.getByRole('menuitem', { name: /Roll back to this/ }).click()
    const drawer = lead.getByRole('dialog')
    await drawer.getByRole('button', { name: 'Preview' }).click()
    await drawer.getByText(/^The current snapshot changes from \d+ to \d+\.$/).waitFor()
    await drawer.getByRole('button', { name: 'Roll back', exact: true }).click()
    await drawer.getByText(/^Done in /).waitFor()
  })

  it('are restored to a time, whose snapshot the page shows first', async () => {
    const { call } = journey.house
    const { last_updated_at: last } = await call('GET', '/api/table/demo.orders')
    const [before] = (await call('GET', '/api/recovery-points?table=demo.orders')).recovery_points
    const second = new Date(Math.ceil(Date.parse(last) / 1000) * 1000) // the field has no fractions
    await until(() => Date.now() > second.getTime())
    await call('POST', '/api/compact', { table: 'demo.orders', rewrite_all: true })

    const page = await journey.signIn(undefined, { at: '/tables/demo.orders?tab=snapshots' })
    const field = page.getByLabel(/^Restore to a time/)
    const open = page.getByRole('button', { name: 'Restore …' })
    const local = (at: Date) => page.evaluate((time) => new Date(time).toLocaleString('sv-SE'), at.getTime())
    await field.fill('2001-01-01T00:00:00')
    await page.getByText('No state of that time is known. The earliest time that can be restored is').waitFor()
    expect(await open.isDisabled()).toBe(true)
    await field.fill((await local(second)).replace(' ', 'T'))
    await page.getByText(`Snapshot ${before.snapshot_id} (${before.operation}) was current from`).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await open.click()
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('button', { name: 'Preview' }).click()
    await drawer.getByText(new RegExp(`to ${before.snapshot_id}\\.$`)).waitFor()
    await drawer.getByText(/^At .*, this snapshot was current: from/).waitFor()
    await drawer.getByRole('button', { name: 'Roll back', exact: true }).click()
    await drawer.getByText(/^Done in /).waitFor()
    expect((await call('GET', '/api/table/demo.orders')).current_snapshot_id).toBe(before.snapshot_id)
  })

  it('are rolled back only after the consequence for a stopped pipeline is accepted', async () => {
    const { call, url } = journey.house
    const { pipeline } = await call('POST', '/api/pipeline/start', {
      source_table: 'demo.trips',
      sink_table: 'demo.trips_rolled',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/trips_rolled',
      trigger_interval: '1 second',
      max_files_per_batch: 1,
    })
    const page = await journey.signIn()
    await expect
      .poll(async () => (await call('GET', '/api/table/demo.trips_rolled/snapshots')).snapshots.length, {
        timeout: 30_000,
      })
      .toBeGreaterThan(2)
    const preview = async () => {
      const { snapshots } = await call('GET', '/api/table/demo.trips_rolled/snapshots')
      const oldest = snapshots.at(-1).snapshot_id
      await page.goto(`${url}/tables/demo.trips_rolled?action=rollback&target=${oldest}`)
      await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).click()
      await page.getByRole('list', { name: 'Affected pipelines' }).getByText(pipeline.id).waitFor()
    }
    const apply = page.getByRole('button', { name: 'Roll back', exact: true })

    await preview()
    await page.getByText('Stop the running pipelines first.').waitFor()
    expect(await apply.count()).toBe(0)

    await call('POST', `/api/pipeline/${pipeline.id}/stop`, {})
    await preview()
    expect(await apply.isDisabled()).toBe(true)
    expect(await accessibilityBreaches(page)).toEqual([])
    await page.getByLabel('I accept these consequences').check()
    await apply.click()
    await page.getByText(/^Done in /).waitFor()
    const { snapshots } = await call('GET', '/api/table/demo.trips_rolled/snapshots')
    const { current_snapshot_id } = await call('GET', '/api/table/demo.trips_rolled')
    expect(current_snapshot_id).toBe(snapshots.at(-1).snapshot_id)
  })
})
