import { expect, it } from 'vitest'
import { createHadoopCatalog } from '../../../src/catalog/hadoop/catalog.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import { createIcebergRestService } from '../../../src/services/iceberg-rest/iceberg-rest-service.ts'
import { createEvents, EVENTS } from '../../catalog/support-files.ts'

it('the entity tag of a hadoop table is not that of the table that had its name and file names before', async () => {
  const io = new MemoryFileIO()
  const catalog = createHadoopCatalog({ warehouse: '/w', io, name: 'test' })
  await createEvents(catalog)
  // a load needs the catalog only
  const service = createIcebergRestService({ catalog: { current: () => catalog } } as never)
  const load = (known?: string) =>
    service.loadTable(EVENTS, { isKnown: (tag) => tag !== undefined && tag === known, onlyRefs: false })
  const first = await load()
  expect(first?.entityTag).toMatch(/^"[\da-f]{32}"$/)
  expect(await load(first?.entityTag)).toBeUndefined()
  for await (const { location } of io.list('/w/db/events')) await io.delete(location)
  await createEvents(catalog)
  const second = await load(first?.entityTag)
  expect(second?.entityTag).not.toBe(first?.entityTag)
  expect(JSON.parse(second?.json ?? '{}').metadata['table-uuid']).toBe(
    (await catalog.loadTable(EVENTS)).metadata.tableUuid,
  )
  expect(await load(second?.entityTag)).toBeUndefined()
})
