import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { catalogBehaviour } from '../../catalog/catalog-behaviour.ts'
import { restStore } from '../../catalog/rest/rest-support.ts'
import { type ServedCatalogs, serveCatalogs } from './served-catalogs.ts'

let served: ServedCatalogs
const root = mkdtempSync(join(tmpdir(), 'iceberg-rest-'))
let stores = 0

beforeAll(async () => {
  served = await serveCatalogs(root)
})

afterAll(async () => {
  await served.close()
  rmSync(root, { recursive: true, force: true })
})

catalogBehaviour('served', {
  movable: true,
  served: { java: false },
  create: () => {
    const folder = join(root, String(stores++))
    return restStore({ uri: served.add(folder), warehouse: 'lake', folder })
  },
})
