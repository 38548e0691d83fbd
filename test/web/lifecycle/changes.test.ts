import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

const place = (x: number) => ({ x, y: 0 })

describe.skipIf(chromiumPath === undefined)('a pipeline that follows changes, on the web page', () => {
  const journey = useJourney()

  it('starts as a mirror with a key from the columns, and shows what it changes in the sink', async () => {
    const page = await journey.signIn(undefined, { at: '/pipelines/new' })
    await page.getByRole('combobox', { name: 'Source table' }).fill('demo.events')
    await page.getByRole('combobox', { name: 'Sink table' }).fill('demo.by_user')
    await page.getByLabel('Create the sink table if it does not exist').check()
    await page.getByRole('radio', { name: 'Mirror' }).check()
    await page.getByText(/^A mirror has to know which rows are deleted/).waitFor()
    await page.getByRole('radio', { name: 'All changes' }).check()
    await page.getByText(/^A mirror has to know which rows are deleted/).waitFor({ state: 'detached' })
    expect(await page.getByText('When the source deletes or overwrites rows').count()).toBe(0)
    await page.getByRole('button', { name: 'Start pipeline' }).click()
    await page.getByText('Choose the columns that identify a row.').waitFor()
    await page.getByRole('combobox', { name: 'Key' }).click()
    await page.getByRole('option', { name: 'user_id' }).click()
    await page.getByLabel('Trigger interval').fill('500 ms')
    await page.getByLabel('Max files per batch').fill('100')
    await page.getByRole('button', { name: 'Start pipeline' }).click()

    await page.waitForURL(/\/pipelines\/pipe-/)
    await page.getByText('Mirrors the source by user_id: inserts, updates and deletes.').waitFor()
    await page.getByText(/^[\d,]+ updated, [\d,]+ deleted$/).waitFor()
    await page.getByRole('heading', { name: 'Rows inserted, updated and deleted' }).waitFor()
    await page.getByText('up to date').waitFor({ timeout: 120_000 })
    const rows = async () => (await journey.house.call('GET', '/api/table/demo.by_user/rows?limit=1')).rows.length
    await expect.poll(rows).toBe(1)
    await page.getByText('Show as table').click()
    for (const name of ['Inserted', 'Updated', 'Deleted']) await page.getByRole('columnheader', { name }).waitFor()
    await page.getByRole('tab', { name: 'Settings' }).click()
    const facts = await page.getByRole('definition').allInnerTexts()
    expect(facts).toEqual(expect.arrayContaining(['All changes', 'Mirror', 'user_id']))

    const [{ id }] = (await journey.house.call('GET', '/api/pipelines')).pipelines
    await journey.house.call('POST', `/api/pipeline/${id}/stop`, {})
    await page.getByRole('button', { name: 'Restart' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click()
    await page.getByText('Running', { exact: true }).first().waitFor()
    expect((await journey.house.call('GET', `/api/pipeline/${id}/status`)).pipeline).toMatchObject({
      read: 'changes',
      write: 'mirror',
      key: ['user_id'],
    })
  })

  it('is designed with fields for reading, writing and the key, which the nodes show', async () => {
    const sql =
      "SELECT city, trip_id, CASE WHEN trip_id % 7 = 0 THEN 'delete' ELSE _change_type END AS _change_type, _change_ordinal FROM input"
    const { definition } = await journey.house.call('POST', '/api/pipeline-defs', {
      name: 'Newest trips',
      description: '',
      nodes: [
        { id: 'trips', type: 'iceberg-source', config: { table: 'demo.trips' }, position: place(0) },
        { id: 'last', type: 'sql', config: { query: sql }, position: place(220) },
        { id: 'cities', type: 'iceberg-sink', config: { table: 'demo.cities' }, position: place(440) },
      ],
      edges: [
        { id: 'a', source: 'trips', target: 'last' },
        { id: 'b', source: 'last', target: 'cities' },
      ],
    })
    const page = await journey.signIn(undefined, { at: `/definitions/${definition.id}` })
    const node = page.getByRole('region', { name: 'Node' })
    const choose = async (id: string, field: string, value: string): Promise<void> => {
      await page
        .getByRole('region', { name: 'Outline' })
        .getByRole('button', { name: new RegExp(`^${id}`) })
        .click()
      expect(await node.getByRole('combobox', { name: 'Key' }).count()).toBe(0)
      await node.getByRole('combobox', { name: field }).click()
      await page.getByRole('option', { name: value, exact: true }).click()
      await node.getByRole('combobox', { name: 'Key' }).waitFor()
    }
    await choose('trips', 'Read', 'changes')
    await choose('cities', 'Write', 'mirror')
    await node.getByRole('combobox', { name: 'Key' }).click()
    await page.getByRole('option', { name: 'city' }).click()
    const cards = page.locator('.react-flow__node')
    await cards.filter({ hasText: 'Source: changes' }).waitFor()
    await cards.filter({ hasText: 'Sink: mirror by city' }).waitFor()

    await page.getByRole('button', { name: 'Save as new version' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save as new version' }).click()
    await page.getByText('Saved as v2').first().waitFor()
    await page.getByRole('button', { name: 'Validate' }).click()
    await page.getByRole('button', { name: 'Create table' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create table' }).click()
    await page.getByText(/^Valid[.,]/).waitFor()
    const versions = await journey.house.call('GET', `/api/pipeline-defs/${definition.id}/versions`)
    const { id } = versions.find(({ version }: { version: number }) => version === 2)
    const { pipeline } = await journey.house.call('POST', '/api/pipeline/start', {
      version_id: id,
      checkpoint_location: 'checkpoints/cities',
      trigger_interval: '500 ms',
      max_files_per_batch: 100,
    })
    await page.goto(`${journey.house.url}/pipelines/${pipeline.id}`)
    await page.getByText('up to date').waitFor({ timeout: 120_000 })
    await page.getByRole('heading', { name: 'Rows inserted, updated and deleted' }).waitFor()
    await page.getByText(/^\d+ inserted$/).waitFor()
    await page.getByRole('tab', { name: 'Settings' }).click()
    const facts = await page.getByRole('definition').allInnerTexts()
    expect(facts).toEqual(expect.arrayContaining(['All changes', 'Mirror', 'city']))
  })
})
