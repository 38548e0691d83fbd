import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

describe.skipIf(chromiumPath === undefined)('figures on the web page', () => {
  const journey = useJourney()

  it('show deleted rows, and show no change when a compaction applied the deletes', async () => {
    const page = await journey.signIn()
    const snapshots = `${journey.house.url}/tables/demo.events?tab=snapshots`
    await page.goto(snapshots)
    const grid = page.getByRole('grid', { name: 'Snapshots, newest first' })
    await grid.getByRole('row').nth(1).waitFor()
    const deletes = grid.getByRole('row', { name: /delete|overwrite/ }).first()
    expect(await deletes.innerText()).toMatch(/−\d/)

    await journey.house.call('POST', '/api/compact', { table: 'demo.events' })
    await page.goto(snapshots)
    const replace = grid.getByRole('row', { name: /replace/ }).first()
    await replace.getByText('no change').waitFor()
    await page.getByText(/They do not change query results/).waitFor()
    const title = await replace.getByText('no change').getAttribute('title')
    expect(title).toMatch(/already deleted are no longer stored/)
  })

  it('keep the rows chart after expiry left one snapshot', async () => {
    const page = await journey.signIn()
    await journey.house.call('POST', '/api/expire', {
      table: 'demo.events',
      older_than: '2099-01-01T00:00:00Z',
      retain_last: 1,
    })
    await page.goto(`${journey.house.url}/tables/demo.events?tab=snapshots`)
    await page.getByRole('heading', { name: 'Rows over time' }).waitFor()
    await page.getByText('Starts at the oldest snapshot.').waitFor()
    expect(await page.locator('figure canvas').count()).toBe(1)
  })

  it('show live updates as on for a stopped pipeline, but not the pipeline as live', async () => {
    const page = await journey.signIn()
    const { pipeline } = await journey.house.call('POST', '/api/pipeline/start', {
      source_table: 'demo.trips',
      sink_table: 'demo.trips_copy',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/trips_copy',
      trigger_interval: '200 ms',
    })
    await page.goto(`${journey.house.url}/pipelines/${pipeline.id}`)
    await page.getByText('up to date').waitFor({ timeout: 120_000 })
    await journey.house.call('POST', `/api/pipeline/${pipeline.id}/stop`)
    await page.getByText('Stopped', { exact: true }).waitFor()
    await page.getByText('Live updates on').waitFor()
    expect(await page.getByText('Live', { exact: true }).count()).toBe(0)
    await page.getByRole('tab', { name: 'States' }).click()
    await page.getByText('current state').waitFor()
    expect(await page.getByText('until now').count()).toBe(0)
  })
})
