import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'
import { LARGE_ORDERS } from '../support/scene.ts'

const PATIENCE = { timeout: 60_000 }

/** A second version: another threshold, the sink renamed, one more node. */
const CHANGED = {
  nodes: [
    LARGE_ORDERS.nodes[0],
    { ...LARGE_ORDERS.nodes[1], config: { condition: 'total > 250' } },
    { id: 'fewer', type: 'select', config: { columns: ['order_id', 'total'] }, position: { x: 560, y: 0 } },
    { ...LARGE_ORDERS.nodes[2], position: { x: 840, y: 0 } },
  ],
  edges: [
    { id: 'e1', source: 'orders', target: 'large' },
    { id: 'e2', source: 'large', target: 'fewer' },
    { id: 'e3', source: 'fewer', target: 'sink' },
  ],
}

describe.skipIf(chromiumPath === undefined)('definitions on the web page', () => {
  const journey = useJourney()
  const definitions = () => journey.house.call('GET', '/api/pipeline-defs')

  it('can be exported and imported as new definitions', async () => {
    const engineer = await journey.house.addUser('ana', 'DataEngineer')
    const { definition } = await journey.house.call(
      'POST',
      '/api/pipeline-defs',
      { name: 'Large orders', description: 'Orders over 100', ...LARGE_ORDERS },
      engineer,
    )
    const page = await journey.signIn(engineer, { at: `/definitions/${definition.id}?tab=versions` })
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export v1' }).click()
    const file = await (await download).path()
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ name: 'Large orders', nodes: LARGE_ORDERS.nodes })

    await page.goto(`${journey.house.url}/definitions`)
    await page.getByRole('button', { name: 'Import' }).click()
    const dialog = page.getByRole('dialog')
    const choose = async (chosen: string | { name: string; text: string }): Promise<void> => {
      const chooser = page.waitForEvent('filechooser')
      await dialog.getByRole('button', { name: 'File', exact: true }).click()
      const payload =
        typeof chosen === 'string'
          ? chosen
          : { name: chosen.name, mimeType: 'application/json', buffer: Buffer.from(chosen.text) }
      await (await chooser).setFiles(payload)
    }
    await choose({ name: 'report.json', text: '{"rows": 3}' })
    await dialog.getByText('This file is not an exported version').waitFor()
    expect(await dialog.getByRole('button', { name: 'Import' }).isEnabled()).toBe(false)
    await choose(file)
    await dialog.getByText('Creates “Large orders”.').waitFor()
    await dialog.getByRole('button', { name: 'Import' }).click()
    await page.waitForURL(/\/definitions\/def-/)
    await expect.poll(() => page.locator('.react-flow__node').count(), PATIENCE).toBe(3)
    const imported = /def-\w+/.exec(page.url())?.[0]
    expect(imported).not.toBe(definition.id)
    expect((await definitions()).definitions ?? (await definitions())).toHaveLength(2)
  })

  it('do not overwrite a rename by someone else without a warning', async () => {
    const { house } = journey
    const { definition } = await house.call('POST', '/api/pipeline-defs', { name: 'Mine', description: '' })
    const path = `/api/pipeline-defs/${definition.id}`
    const page = await journey.signIn(undefined, { at: `/definitions/${definition.id}` })
    await page.getByRole('button', { name: 'Edit name and description' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Ours')
    await house.call('POST', `${path}/versions`, LARGE_ORDERS) // not a reason to refuse a name
    await house.call('PUT', path, { name: 'Theirs', description: 'Of another window' })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('It is now “Theirs”, with the description “Of another window”.').waitFor()
    expect(await house.call('GET', path)).toMatchObject({ name: 'Theirs' })
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Ours')
    await house.call('POST', `${path}/versions`, LARGE_ORDERS)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await house.call('GET', path)).toMatchObject({ name: 'Ours', description: '' })
    await house.call('DELETE', path)
  })

  it('show the changes of a version on the canvas', async () => {
    const page = await journey.signIn()
    const found = await definitions()
    const { id } = (found.definitions ?? found)[0]
    const [first] = await journey.house.call('GET', `/api/pipeline-defs/${id}/versions`)
    const second = await journey.house.call('POST', `/api/pipeline-defs/${id}/versions`, CHANGED)
    await page.goto(`${journey.house.url}/definitions/${id}?tab=versions`)
    await page.getByRole('link', { name: 'Changes from v1 to v2' }).click()
    await page.waitForURL((url) => url.searchParams.get('compare') === first.id)
    expect(new URL(page.url()).searchParams.get('version')).toBe(second.id)

    const changes = page.getByRole('region', { name: 'Changes from v1 to v2' })
    await changes.getByText('Added 2').waitFor() // a node and an edge; another edge now ends at a different node
    await changes.getByText('total > 100').waitFor()
    await changes.getByText('total > 250').waitFor()
    const drawn = page.locator('.react-flow__node')
    await expect.poll(() => drawn.count(), PATIENCE).toBe(4)
    await drawn.filter({ hasText: 'fewer' }).getByTitle('Added').waitFor()
    await drawn.filter({ hasText: 'large' }).getByTitle('Changed').waitFor()
    await changes.getByRole('button', { name: 'fewer' }).click()
    await page.waitForURL((url) => url.searchParams.get('node') === 'fewer')
  })
})
