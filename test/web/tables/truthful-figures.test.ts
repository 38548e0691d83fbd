import { randomUUID } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
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
    await page.locator('figure canvas').waitFor() // drawn when its width is known
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

  it('name a pipeline that was started by hand where nothing is deployed', async () => {
    const { definition, version } = await journey.house.call('POST', '/api/pipeline-defs', {
      name: 'By hand',
      description: '',
      nodes: [
        { id: 'trips', type: 'iceberg-source', config: { table: 'demo.trips' }, position: { x: 0, y: 0 } },
        { id: 'copy', type: 'iceberg-sink', config: { table: 'demo.by_hand' }, position: { x: 220, y: 0 } },
      ],
      edges: [{ id: 'a', source: 'trips', target: 'copy' }],
    })
    await journey.house.call('POST', `/api/pipeline-defs/${definition.id}/versions/${version.id}/sink-table`, {})
    await journey.house.call('POST', '/api/pipeline/start', {
      version_id: version.id,
      checkpoint_location: 'checkpoints/by_hand',
      trigger_interval: '200 ms',
    })
    const page = await journey.signIn(undefined, { at: `/definitions/${definition.id}?tab=environments` })
    const deployments = page.getByRole('region', { name: 'Deployments' })
    const line = deployments.getByText(/^Nothing deployed/)
    await line.waitFor()
    expect(await line.innerText()).toBe(
      'Nothing deployed. 1 pipeline that was started by hand runs here. Latest version: v1',
    )
  })

  it('say which tables the total size lacks', async () => {
    const { location, metadata_location: newest } = await journey.house.call('GET', '/api/table/demo.trips')
    const text = await readFile(fileURLToPath(newest), 'utf8')
    const folder = `${location}_broken`
    const written = `${folder}/metadata/00000-${randomUUID()}.metadata.json`
    const copy = text.replaceAll(location, folder).replace(/("table-uuid" *: *)"[^"]+"/, `$1"${randomUUID()}"`)
    await mkdir(fileURLToPath(`${folder}/metadata`), { recursive: true })
    await writeFile(fileURLToPath(written), copy)
    // its manifests do not exist
    await journey.house.call('POST', '/api/tables/register', { table: 'demo.broken', metadata_location: written })
    const index = () => journey.house.call('GET', '/api/health-index')
    await expect.poll(index, { timeout: 120_000 }).toMatchObject({ bands: { unknown: 1 } })
    const page = await journey.signIn()
    await page.goto(journey.house.start)
    await page.getByText('without 1 table that could not be measured').waitFor()
  })
})
