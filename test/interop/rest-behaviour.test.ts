import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../src/catalog/commit-table.ts'
import { catalogBehaviour } from '../catalog/catalog-behaviour.ts'
import { restStore } from '../catalog/rest/rest-support.ts'
import { createEvents, EVENTS, setProperty } from '../catalog/support-files.ts'
import { restServerAvailable } from './harness/environment.ts'
import { RestServer } from './harness/rest-server.ts'

const available = restServerAvailable("catalogs behind Iceberg's REST server")

describe.skipIf(!available)("Iceberg's REST server", { timeout: 300_000 }, () => {
  const root = available ? mkdtempSync(join(tmpdir(), 'rest-apache-')) : ''
  let server: RestServer
  let stores = 0

  beforeAll(async () => {
    server = await RestServer.start()
  })

  afterAll(async () => {
    await server?.stop()
    rmSync(root, { recursive: true, force: true })
  })

  const create = () => {
    const folder = join(root, String(stores++))
    return restStore({ uri: server.uri(folder), warehouse: 'any', folder })
  }

  catalogBehaviour('rest (Apache)', { movable: true, served: { java: true }, create })

  it('has entity tags that locate a table', async () => {
    const catalog = create().open()
    await createEvents(catalog)
    const { metadataLocation } = await catalog.loadTable(EVENTS)
    expect(await catalog.locateTable?.(EVENTS)).toBe(metadataLocation)
    const { table } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect(await catalog.locateTable?.(EVENTS)).toBe(table.metadataLocation)
  })
})
