import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createHadoopCatalog } from '../../../../src/catalog/hadoop/catalog.ts'
import { LocalFileIO } from '../../../../src/iceberg/io/local.ts'
import { createIcebergRestService } from '../../../../src/services/catalogs/iceberg-rest/iceberg-rest-service.ts'
import { createEvents, EVENTS } from '../../../catalog/support-files.ts'
import { temporaryFolders } from '../../../catalog/support.ts'

const newFolder = temporaryFolders()

it('the entity tag of a hadoop table is not that of the table that had its name and file names before', async () => {
  const folder = newFolder()
  const catalog = createHadoopCatalog({ warehouse: folder, io: new LocalFileIO(), name: 'test' })
  await createEvents(catalog)
  // a load needs the catalog only
  const service = createIcebergRestService({ catalog: { current: () => catalog } } as never)
  const load = (known?: string) =>
    service.loadTable(EVENTS, { isKnown: (tag) => tag !== undefined && tag === known, onlyRefs: false })
  const first = await load()
  expect(first?.entityTag).toMatch(/^"[\da-f]{32}"$/)
  expect(await load(first?.entityTag)).toBeUndefined()
  await rm(join(folder, 'db/events'), { recursive: true })
  await createEvents(catalog)
  const second = await load(first?.entityTag)
  expect(second?.entityTag).not.toBe(first?.entityTag)
  expect(JSON.parse(second?.json ?? '{}').metadata['table-uuid']).toBe(
    (await catalog.loadTable(EVENTS)).metadata.tableUuid,
  )
  expect(await load(second?.entityTag)).toBeUndefined()
})
