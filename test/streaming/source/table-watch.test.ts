import { expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { createHadoopCatalog } from '../../../src/catalog/hadoop/catalog.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import { createEvents, EVENTS, setProperty } from '../../catalog/support-files.ts'

const METADATA = '/w/db/events/metadata'

it('finds a table that took the place and the file names of another one', async () => {
  const io = new MemoryFileIO()
  const catalog = createHadoopCatalog({ io, warehouse: '/w', name: 'test' })
  await createEvents(catalog, { of: 'the first' })
  const watch = createTableWatch(() => catalog)
  const first = await watch.current(EVENTS)
  for await (const { location } of io.list('/w/db/events')) await io.delete(location)
  await createEvents(catalog, { of: 'the other' })
  const other = await watch.current(EVENTS)
  expect(other.metadataLocation).toBe(first.metadataLocation)
  expect(other.metadata.tableUuid).not.toBe(first.metadata.tableUuid)
  expect(await watch.current(EVENTS)).toBe(other)
})

it('finds a table again when its known version is far behind', async () => {
  const io = new MemoryFileIO()
  const catalog = createHadoopCatalog({ io, warehouse: '/w', name: 'test' })
  await createEvents(catalog, { v: '1' })
  const watch = createTableWatch(
    () => catalog,
    () => 0,
  )
  const known = await watch.current(EVENTS)
  expect(await watch.current(EVENTS)).toBe(known)
  // Another engine commits, and deletes all old metadata files except the one that is known here.
  for (const v of ['2', '3', '4']) await commitTable(catalog, EVENTS, setProperty('v', v))
  for (const version of [2, 3]) await io.delete(`${METADATA}/v${version}.metadata.json`)
  const found = await watch.current(EVENTS)
  expect(found.metadata.properties).toMatchObject({ v: '4' })
  expect(await watch.current(EVENTS)).toBe(found)
})
