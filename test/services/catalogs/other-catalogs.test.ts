import { expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { createMemoryCatalog } from '../../../src/catalog/memory/catalog.ts'
import { rootsOfClosed } from '../../../src/catalog/open-catalog.ts'
import type { CatalogSettings } from '../../../src/catalog/settings.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import { OtherCatalogs } from '../../../src/services/catalogs/other-catalogs.ts'
import type { StoredCatalog } from '../../../src/services/catalogs/other-catalogs-store.ts'
import { sleep, until } from '../../support/waiting.ts'

const stored = (name: string): StoredCatalog => {
  const settings: CatalogSettings = {
    catalogType: 'hadoop',
    warehouse: '/x',
    catalogName: name,
    uri: null,
    extraProps: {},
  }
  return { settings, revision: 1 }
}

it.each([
  [{}, ['/x']],
  [{ 'allowed-locations': 's3://b/one, file:///two' }, ['/x', 's3://b/one', 'file:///two']],
  [{ 'allowed-locations': 'env:LAKE_LOCATIONS' }, []],
])('the locations of a closed catalog with %j are all that its settings allow', (extraProps, roots) => {
  expect(rootsOfClosed({ ...stored('a').settings, extraProps })).toEqual(roots)
})

it('a catalog that stays closed is tried again, and what is known of the open ones stays', async () => {
  let tries = 0
  let changes = 0
  let isThere = false
  const replaced: Catalog[] = []
  const others = new OtherCatalogs({
    store: { load: async () => ({ catalogs: ['a', 'b'].map(stored), revision: 1 }), save: async (next) => next },
    all: () => Promise.reject(new Error('not asked')) as never,
    replaced: (catalog) => replaced.push(catalog),
    onChange: () => (changes += 1),
    retryMs: 5,
    openCatalog: async ({ catalogName: name, warehouse }) => {
      if (name === 'b') tries += 1
      if (name === 'b' && !isThere) throw new IcebergError('IO_FAILED', 'the folder is not there')
      return createMemoryCatalog({ name, warehouse, io: new MemoryFileIO() })
    },
  })
  try {
    await others.refresh()
    const [a, b] = others.list()
    expect([a?.catalog?.name, b?.catalog]).toEqual(['a', undefined])
    await until(() => tries >= 5)
    expect([changes, replaced]).toEqual([1, []])
    isThere = true
    await until(() => others.list()[1]?.catalog !== undefined)
    expect([changes, replaced, others.list()[0]?.catalog]).toEqual([2, [], a?.catalog])
    const before = tries
    await sleep(50)
    expect(tries).toBe(before)
  } finally {
    await others.close()
  }
})
