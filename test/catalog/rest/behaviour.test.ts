import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { catalogBehaviour } from '../catalog-behaviour.ts'
import { FakeRestServer } from './rest-server.ts'
import { restStore } from './rest-support.ts'

let server: FakeRestServer
const root = mkdtempSync(join(tmpdir(), 'rest-behaviour-'))
let stores = 0

beforeAll(async () => {
  server = await FakeRestServer.start()
})

afterAll(async () => {
  await server.close()
  rmSync(root, { recursive: true, force: true })
})

catalogBehaviour('rest', {
  movable: true,
  served: { java: false },
  create: () => {
    const folder = join(root, String(stores++))
    const warehouse = server.addWarehouse(join(folder, 'warehouse'))
    return restStore({ uri: server.uri, warehouse, folder })
  },
})
