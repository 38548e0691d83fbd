import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'
import { LARGE_ORDERS } from '../support/scene.ts'

describe.skipIf(chromiumPath === undefined)('lineage on the web page', { timeout: 300_000 }, () => {
  const journey = useJourney()

  it('is a strip under the title of a table, two lists, and a graph', async () => {
    const { call, url } = journey.house
    await expect
      .poll(async () => (await call('GET', '/api/tables')).tables.length, { timeout: 120_000 })
      .toBeGreaterThan(2)
    await call('POST', '/api/pipeline/start', {
      source_table: 'demo.orders',
      sink_table: 'demo.orders_copy',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/lineage',
      trigger_interval: '1 second',
    })
    const { definition } = await call('POST', '/api/pipeline-defs', {
      name: 'Large orders',
      description: 'Orders over 100',
      ...LARGE_ORDERS,
    })
    const page = await journey.signIn()

    await page.goto(`${url}/tables/demo.orders`)
    const strip = page.getByRole('group', { name: 'Lineage of this table' })
    await strip.getByText('Running', { exact: true }).waitFor()
    await strip.getByText('Not running').waitFor()
    await expect.poll(() => strip.textContent()).toMatch(/this table.*▸.*▸.*demo\.orders_copy/)
    await page.getByRole('heading', { name: 'Read by' }).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])

    await strip.getByRole('link', { name: 'Open lineage' }).click()
    const graph = page.getByRole('application', { name: 'Graph of the lineage' })
    const copied = graph.getByRole('group', { name: /^demo\.orders_copy, / })
    await copied.waitFor()
    await graph.getByRole('group', { name: /^demo\.large_orders, not in the catalog/ }).waitFor()
    const details = page.getByRole('complementary', { name: 'Selected node' })
    await details.getByRole('heading', { name: 'demo.orders', exact: true }).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])

    await graph.getByRole('group', { name: /^Copy, Running/ }).focus()
    await page.keyboard.press('Enter')
    await details.getByText('order_id ← demo.orders.order_id').waitFor()
    await graph.getByRole('group', { name: /^Large orders v1, Not running/ }).click()
    await details.getByText('Reads demo.orders').waitFor()

    await page.getByText('List', { exact: true }).click()
    await page.getByRole('list', { name: 'Lineage' }).getByRole('link', { name: 'Large orders v1' }).waitFor()
    await call('DELETE', `/api/pipeline-defs/${definition.id}`)
  })

  it('includes the users whose clients reported scans, with their columns', async () => {
    const { call, addUser } = journey.house
    await call(
      'POST',
      '/iceberg/v1/namespaces/demo/tables/trips/metrics',
      {
        'report-type': 'scan-report',
        'snapshot-id': 1,
        filter: { type: 'eq', term: 'distance_km', value: '(1-digit-int)' },
        'projected-field-names': ['id', 'started_at'],
        metrics: {},
      },
      await addUser('spark-job', 'DataEngineer'),
    )
    const page = await journey.signIn(undefined, { at: '/tables/demo.trips' })
    await page.getByRole('heading', { name: 'Users who read this table' }).waitFor()
    await page.getByText(/^spark-job: 1 scan,/).waitFor()
    await page.getByText('Reads id, started_at.').waitFor()
    await page.getByText('Filters by distance_km.').waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
  })

  it('is part of the dialog that drops a column', async () => {
    const page = await journey.signIn(undefined, { at: '/tables/demo.orders?action=drop_column&target=customer' })
    const impact = page.getByRole('region', { name: 'Pipelines and versions of this table' })
    await impact.getByText('may read customer').waitFor()
    await page.goto(`${journey.house.url}/tables/demo.orders_copy?action=rollback`)
    await impact.getByText('writes', { exact: true }).waitFor()
    await page.goto(`${journey.house.url}/tables/demo.orders_copy?action=compact`)
    await page.getByRole('button', { name: 'Preview', exact: true }).waitFor()
    expect(await impact.count()).toBe(0)
  })

  it('of a wide lake hides and shows what lies behind a table', async () => {
    const { call, url } = journey.house
    for (const [source, sink] of [
      ['demo.orders_copy', 'demo.second'],
      ['demo.second', 'demo.third'],
      ['demo.second', 'demo.fourth'],
    ] as const) {
      await call('POST', '/api/pipeline/start', {
        source_table: source,
        sink_table: sink,
        create_sink_table: true,
        checkpoint_location: `checkpoints/${sink}`,
        trigger_interval: '1 hour',
      })
    }
    const page = await journey.signIn(undefined, { at: '/lineage?table=demo.orders&depth=2' })
    const graph = page.getByRole('application', { name: 'Graph of the lineage' })
    await graph.getByRole('button', { name: 'demo.second: Show 2 more pipelines' }).click()
    await graph.getByRole('group', { name: /^demo\.third, / }).waitFor()
    await graph.getByRole('group', { name: /^demo\.fourth, / }).waitFor()
    await graph.getByRole('button', { name: 'demo.second: Hide what follows' }).click()
    await expect.poll(() => graph.getByRole('group', { name: /^demo\.fourth, / }).count()).toBe(0)

    await page.goto(`${url}/lineage`)
    await graph.getByRole('group', { name: /^demo\.fourth, / }).waitFor()
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await accessibilityBreaches(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'light' })
    await graph.getByRole('button', { name: 'demo.orders_copy: Hide what follows' }).click()
    await expect.poll(() => graph.getByRole('group', { name: /^demo\.fourth, / }).count()).toBe(0)
    await graph.getByRole('button', { name: 'demo.orders_copy: Show 1 more pipeline' }).click()
    await graph.getByRole('group', { name: /^demo\.fourth, / }).waitFor()

    await page.setViewportSize({ width: 390, height: 844 })
    await page.reload()
    await page.getByRole('list', { name: 'Lineage' }).getByText('demo.fourth').waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await page.goto(`${url}/lineage?table=demo.never`)
    await page.getByText('No such table').waitFor()
  })
})
