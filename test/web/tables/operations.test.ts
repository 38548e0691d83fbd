import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseSchema } from '../../../src/iceberg/schema/schema.ts'
import { openLakehouse } from '../../interop/harness/lakehouse.ts'
import { chromiumPath } from '../support/browser.ts'
import { useJourney } from '../support/journey.ts'

const FILES = 8
const ROWS_PER_FILE = 600_000

describe.skipIf(chromiumPath === undefined)('an operation on the web page', () => {
  const journey = useJourney(() => ({ env: { LOCKHOUSE_DEMO: '0' } }))
  let folder = ''
  const health = () => journey.house.call('GET', '/api/table/lab.visits/health')

  // A table whose sorting takes seconds, so that there is time to read the progress and to cancel.
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-web-'))
    const lakehouse = await openLakehouse(folder)
    const table = { namespace: ['lab'], name: 'visits' }
    const column = (id: number, name: string, type: string) => ({ id, name, required: false, type })
    await lakehouse.catalog.createNamespace(table.namespace)
    await lakehouse.catalog.createTable(table, {
      schema: parseSchema({
        type: 'struct',
        'schema-id': 0,
        fields: [column(1, 'id', 'long'), column(2, 'visitor', 'string'), column(3, 'seconds', 'double')],
      }),
    })
    for (let file = 0; file < FILES; file++) {
      const first = file * ROWS_PER_FILE
      await lakehouse.append(
        table,
        `select i::bigint as c1, md5(i::varchar) as c2, (i % 977) / 7.0 as c3
         from range(${first}, ${first + ROWS_PER_FILE}) t(i)`,
      )
    }
    await lakehouse.close()
    await journey.house.call('PUT', '/api/config', lakehouse.settings)
  })
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  it('shows its progress, and can be cancelled without leftovers', async () => {
    const page = await journey.signIn(await journey.house.addUser('ana', 'DataEngineer'))
    const before = await health()
    await page.goto(`${journey.house.url}/tables/lab.visits?action=compact`)
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('combobox', { name: 'Strategy' }).click()
    await page.getByRole('option', { name: /^Sort/ }).click()
    await drawer.getByLabel('Sort order').fill('visitor ASC')
    await drawer.getByRole('button', { name: 'More options' }).click()
    await drawer.getByLabel('Rewrite all files, regardless of size').check()
    await drawer.getByRole('button', { name: 'Preview' }).click()
    await drawer.getByRole('button', { name: 'Compact', exact: true }).click()
    await drawer.getByRole('progressbar', { name: 'Progress of Compact' }).waitFor()
    await page.waitForURL(/op=op-/)
    const id = new URL(page.url()).searchParams.get('op') ?? ''
    const watcher = await journey.signIn(undefined, { at: `/operations/${id}` })
    await watcher.getByRole('progressbar').waitFor()
    await drawer.getByRole('button', { name: 'Cancel operation' }).click()
    await drawer.getByText('The operation was cancelled. Changes that were already committed remain.').waitFor()
    await watcher.getByText('Cancelled', { exact: true }).first().waitFor()
    expect(await journey.house.call('GET', `/api/operations/${id}`)).toMatchObject({ state: 'cancelled' })
    expect(await health()).toEqual(before)
    await drawer.getByRole('button', { name: 'Preview again' }).click()
    await drawer.getByRole('button', { name: 'Compact', exact: true }).waitFor()
  })
})
