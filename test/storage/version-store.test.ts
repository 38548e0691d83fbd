import { expect, it } from 'vitest'
import type { Environment } from '../../src/domain/environments.ts'
import { createLifecycleStores, type LifecycleStores } from '../../src/storage/stores/lifecycle-stores.ts'
import type { DeployedVersion } from '../../src/storage/stores/version-store.ts'
import { describeDatabases } from './open.ts'

const AT = '2026-01-01T00:00:00.000Z'

async function define(stores: LifecycleStores, id: string, environments: readonly Environment[]): Promise<void> {
  const times = { createdAt: AT, updatedAt: AT, createdBy: 'ed' }
  await stores.definitions.insert({
    id,
    name: `name of ${id}`,
    description: '',
    managedBy: undefined,
    revision: 1,
    ...times,
  })
  for (const [at, environment] of environments.entries()) {
    await stores.versions.insert({
      id: `${id}-v${at + 1}`,
      definitionId: id,
      formatVersion: 1,
      environment,
      createdBy: 'ed',
      createdAt: AT,
      graph: { nodes: [], edges: [] },
    })
  }
}

async function idsOf(versions: AsyncIterable<DeployedVersion>): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { id } of versions) ids.push(id)
  return ids
}

describeDatabases('version store', (databases) => {
  it('lists the newest version of each definition in each environment, over several pages', async () => {
    const db = await databases.open()
    const stores = createLifecycleStores(db)
    await define(stores, 'def-a', ['production', 'production', 'qa', 'development', 'development', 'retired'])
    await define(stores, 'def-b', ['development'])
    const all = await idsOf(stores.versions.newestInEnvironments(['development', 'qa', 'production']))
    expect(all).toEqual(['def-a-v2', 'def-a-v3', 'def-a-v5', 'def-b-v1'])
    expect(await idsOf(stores.versions.newestInEnvironments(['qa']))).toEqual(['def-a-v3'])
    await db.transaction().execute(async (tx) => {
      for (let at = 0; at < 401; at++) await define(createLifecycleStores(tx), `def-many-${1000 + at}`, ['uat'])
    })
    expect(await idsOf(stores.versions.newestInEnvironments(['uat']))).toHaveLength(401)
  })

  it('finds versions by their ids, with the names of their definitions', async () => {
    const stores = createLifecycleStores(await databases.open())
    await define(stores, 'def-a', ['retired', 'qa'])
    const none = Array.from({ length: 600 }, (_, at) => `none-${at}`)
    const found = await stores.versions.withIds([...none, 'def-a-v1', 'def-a-v2'])
    expect(found.map(({ id, definitionName }) => [id, definitionName]).toSorted()).toEqual([
      ['def-a-v1', 'name of def-a'],
      ['def-a-v2', 'name of def-a'],
    ])
    expect(await stores.versions.withIds([])).toEqual([])
  })
})
