import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

const SOON = { timeout: 60_000 }

function graph(sink: string) {
  return {
    nodes: [
      { id: 'orders', type: 'iceberg-source', config: { table: 'demo.orders' }, position: { x: 0, y: 0 } },
      { id: 'copy', type: 'iceberg-sink', config: { table: sink }, position: { x: 240, y: 0 } },
    ],
    edges: [{ id: 'a', source: 'orders', target: 'copy' }],
  }
}

describe.skipIf(chromiumPath === undefined)('a blocked deployment on the web page', { timeout: 300_000 }, () => {
  const journey = useJourney()
  const call = (method: string, path: string, body?: object) => journey.house.call(method, path, body)
  const refusals = async (): Promise<readonly unknown[]> =>
    (await call('GET', '/api/audit?page_size=200')).filter(
      ({ outcome, actor }: { outcome: string; actor: string | null }) => outcome === 'refused' && actor !== null,
    )
  const define = async (name: string, sink: string) => {
    const { definition, version } = await call('POST', '/api/pipeline-defs', { name, description: '', ...graph(sink) })
    return { definition: definition.id as string, version: version.id as string }
  }
  const tables = async (): Promise<readonly string[]> =>
    (await call('GET', '/api/tables')).tables.map(({ table }: { table: string }) => table)
  const openEnvironments = (page: Page, definition: string) =>
    page.goto(`${journey.house.url}/definitions/${definition}?tab=environments`)
  const card = (page: Page) =>
    page
      .getByRole('region', { name: 'Deployments' })
      .getByRole('listitem')
      .filter({ has: page.getByRole('heading', { name: 'Development', exact: true }) })
  /** Confirms the creation of a table in the dialog on top. */
  const create = async (page: Page, table: string) => {
    await page.getByRole('button', { name: 'Create table' }).first().click()
    const dialog = page.getByRole('dialog', { name: `Create ${table}?` })
    await dialog.getByText('order_id').waitFor()
    await dialog.getByRole('button', { name: 'Create table' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await tables()).toContain(table)
  }

  it('offers to create the missing sink, deploys then, and leaves no refusal in the audit log', async () => {
    await expect.poll(tables, { timeout: 120_000 }).toContain('demo.orders')
    await call('PUT', '/api/environments/development', { defaults: { trigger_interval: '500 ms' } })
    const { definition } = await define('Copy', 'demo.copy')
    const page = await journey.signIn()
    await openEnvironments(page, definition)
    await card(page).getByRole('button', { name: 'Deploy v1 in development' }).click()
    const dialog = page.getByRole('dialog', { name: 'Deploy in development' })
    await dialog.getByText('Table demo.copy does not exist.').waitFor()
    await dialog.getByRole('link', { name: 'Show the node' }).waitFor()
    expect(await accessibilityBreaches(page)).toEqual([])
    await create(page, 'demo.copy')
    await dialog.getByText('demo.orders → demo.copy').waitFor()
    await dialog.getByRole('button', { name: 'Deploy', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    await card(page).getByText('In sync').waitFor(SOON)
    expect(await refusals()).toEqual([])
  })

  it('links to the pipeline that uses the sink, and can stop it', async () => {
    await call('POST', '/api/pipeline/start', {
      source_table: 'demo.orders',
      sink_table: 'demo.taken',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/taken',
      trigger_interval: '500 ms',
    })
    const { definition } = await define('Taken', 'demo.taken')
    const page = await journey.signIn()
    await openEnvironments(page, definition)
    await card(page).getByRole('button', { name: 'Deploy v1 in development' }).click()
    const dialog = page.getByRole('dialog', { name: 'Deploy in development' })
    await dialog.getByRole('radio', { name: 'Read on after these rows' }).click()
    await dialog.getByText(/is using the sink demo\.taken/).waitFor(SOON)
    await dialog.getByRole('link', { name: 'Open the pipeline' }).waitFor()
    const stop = page.getByRole('dialog', { name: /^Stop/ })
    // the button moves when the preview of the choice arrives
    const isAsked = async (): Promise<boolean> => {
      if ((await stop.count()) === 0) await dialog.getByRole('button', { name: 'Stop the pipeline' }).click()
      return stop.isVisible()
    }
    await expect.poll(isAsked, SOON).toBe(true)
    await stop.getByRole('button', { name: /^Stop/ }).click()
    await dialog.getByText('demo.orders → demo.taken').waitFor(SOON)
    await expect.poll(() => dialog.getByRole('button', { name: 'Deploy', exact: true }).isEnabled(), SOON).toBe(true)
  })

  it('is not needed where a missing sink is reported: the editor and the start of a pipeline offer it too', async () => {
    const { definition, version } = await define('Start', 'demo.start_copy')
    const page = await journey.signIn(undefined, { at: `/pipelines/new?definition=${definition}&version=${version}` })
    await expect.poll(() => page.getByLabel('Checkpoint location').inputValue(), SOON).not.toBe('')
    await page.getByRole('button', { name: 'Start pipeline' }).click()
    await page.getByText('Table demo.start_copy does not exist.').waitFor(SOON)
    await create(page, 'demo.start_copy')

    const two = await define('Two problems', 'demo.second_copy')
    const nodes = graph('demo.second_copy').nodes.map((node) =>
      node.id === 'orders' ? { ...node, config: { table: 'demo.nowhere' } } : node,
    )
    await call('POST', `/api/pipeline-defs/${two.definition}/versions`, { nodes, edges: graph('').edges })
    await page.goto(`${journey.house.url}/definitions/${two.definition}`)
    await page.getByRole('button', { name: 'Validate' }).click()
    await page.getByText('Table demo.second_copy does not exist.').waitFor()
    await page.getByText('Resolve the other problems first. Then you can create the table here.').waitFor()
  })

  it('is found in an approval before it is approved, and in a rehearsal', async () => {
    const { definition, version } = await define('Approved', 'demo.approved_copy')
    const path = `/api/pipeline-defs/${definition}/versions/${version}/promote`
    await call('POST', path)
    const request = await call('POST', path)
    const page = await journey.signIn(undefined, { at: `/approvals/${request.id}` })
    await page.getByRole('button', { name: 'Start rehearsal' }).click()
    const rehearsal = page.getByRole('region', { name: 'Rehearsal' })
    await rehearsal.getByText('Table demo.approved_copy does not exist.').waitFor(SOON)
    await page
      .getByRole('region', { name: 'Deployment' })
      .getByText('Table demo.approved_copy does not exist.')
      .waitFor()
    await create(page, 'demo.approved_copy')
  })
})
