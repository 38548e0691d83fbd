import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createSqlCatalog, type SqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import { WrittenMetadata } from '../../../src/catalog/kept-metadata/written-metadata.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { parseTableMetadata, serializeTableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { FILE_CLOCK_MS, sleep } from '../../support/waiting.ts'
import { commitOnce, createEvents, EVENTS, setProperty } from '../support-files.ts'
import { openSqlDatabase, temporaryFolders } from '../support.ts'

/** Remembers which files are read. */
class ListeningIO extends LocalFileIO {
  readonly reads: string[] = []

  override async read(location: string): Promise<Uint8Array> {
    this.reads.push(location)
    return super.read(location)
  }
}

const newFolder = temporaryFolders()
const opened: SqlCatalog[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((catalog) => catalog.close()))
})

interface Lake {
  readonly catalog: SqlCatalog
  readonly io: ListeningIO
}

function openLake(folder: string): Lake {
  const io = new ListeningIO()
  const db = openSqlDatabase(join(folder, 'catalog.db'))
  const catalog = createSqlCatalog({ db, name: 'test', warehouse: join(folder, 'warehouse'), io })
  opened.push(catalog)
  return { catalog, io }
}

async function put(catalog: SqlCatalog, key: string, value: string): Promise<Table> {
  return commitOnce(catalog, EVENTS, await setProperty(key, value)(await catalog.loadTable(EVENTS)))
}

async function readsOfCommit({ catalog, io }: Lake, key: string, value: string): Promise<readonly string[]> {
  const request = await setProperty(key, value)(await catalog.loadTable(EVENTS))
  io.reads.length = 0
  await commitOnce(catalog, EVENTS, request)
  return [...io.reads]
}

describe('metadata files that this process wrote', () => {
  it('are not read again by the next commit, and are what a reader finds in them', async () => {
    const lake = openLake(newFolder())
    await createEvents(lake.catalog)
    await put(lake.catalog, 'first', '1')
    for (let at = 0; at < 20; at += 1) expect(await readsOfCommit(lake, `key_${at}`, String(at))).toEqual([])
    const committed = await put(lake.catalog, 'last', '1')
    const stored = parseTableMetadata(await new LocalFileIO().read(committed.metadataLocation))
    expect(stored).toEqual(committed.metadata)
    expect(Object.keys(stored.properties)).toHaveLength(23)
    expect(new TextDecoder().decode(serializeTableMetadata(stored))).toBe(
      new TextDecoder().decode(serializeTableMetadata(committed.metadata)),
    )
  })

  it('are not used after another process has committed', async () => {
    const folder = newFolder()
    const [one, other] = [openLake(folder), openLake(folder)]
    await createEvents(one.catalog)
    await put(one.catalog, 'a', '1')
    for (let round = 0; round < 5; round += 1) {
      const theirs = await put(other.catalog, `theirs_${round}`, 'x')
      expect(await readsOfCommit(one, `ours_${round}`, 'x')).toEqual([theirs.metadataLocation])
    }
    const { properties } = (await other.catalog.loadTable(EVENTS)).metadata
    expect(Object.keys(properties).sort()).toEqual(
      [
        'a',
        'write.parquet.compression-codec',
        ...[0, 1, 2, 3, 4].flatMap((round) => [`ours_${round}`, `theirs_${round}`]),
      ].sort(),
    )
  })

  it('are read again when they were replaced or lost, and under another name', async () => {
    const { catalog, io } = openLake(newFolder())
    await createEvents(catalog)
    const { metadata, metadataLocation } = await put(catalog, 'of', 'the commit')
    const stored = new TextDecoder().decode(serializeTableMetadata(metadata))
    await rm(metadataLocation.replace('file://', ''))
    const lost = await catalog.commit(EVENTS, await setProperty('more', '1')({ metadata } as Table))
    expect(lost).toMatchObject({ kind: 'refused', error: { code: 'FILE_NOT_FOUND' } })
    await io.create(metadataLocation, new TextEncoder().encode(stored.replace('the commit', 'somebody else')))
    expect((await put(catalog, 'more', '1')).metadata.properties).toMatchObject({ of: 'somebody else' })

    const again = await put(catalog, 'of', 'the commit')
    const text = new TextDecoder().decode(serializeTableMetadata(again.metadata))
    await catalog.dropTable(EVENTS)
    await rm(again.metadataLocation.replace('file://', ''))
    await io.create(again.metadataLocation, new TextEncoder().encode(text.replace('the commit', 'the others')))
    const other = { namespace: ['db'], name: 'other' }
    const registered = await catalog.registerTable(other, again.metadataLocation)
    const change = await setProperty('last', '1')(registered)
    expect((await commitOnce(catalog, other, change)).metadata.properties).toMatchObject({ of: 'the others' })
  })

  it('are read again when an operator has repaired one, and its size has stayed the same', async () => {
    const { catalog } = openLake(newFolder())
    await createEvents(catalog)
    const { metadata, metadataLocation } = await put(catalog, 'keep', '1000')
    const stored = new TextDecoder().decode(serializeTableMetadata(metadata))
    await sleep(FILE_CLOCK_MS)
    await writeFile(metadataLocation.replace('file://', ''), stored.replace('"1000"', '"9000"'))
    expect((await put(catalog, 'more', '1')).metadata.properties).toMatchObject({ keep: '9000', more: '1' })
  })

  it('stand for no other table that gets the name later', async () => {
    const { catalog } = openLake(newFolder())
    await createEvents(catalog)
    const old = await put(catalog, 'of', 'the old table')
    await catalog.dropTable(EVENTS)
    const fresh = await catalog.createTable(EVENTS, {
      schema: old.metadata.schemas[0]!,
      location: `${old.metadata.location}-2`,
    })
    const changed = await put(catalog, 'of', 'the new table')
    expect(changed.metadata.tableUuid).toBe(fresh.metadata.tableUuid)
    expect(changed.metadata.tableUuid).not.toBe(old.metadata.tableUuid)
  })

  it('are kept once per table when commits follow each other', async () => {
    const { catalog, io } = openLake(newFolder())
    await createEvents(catalog)
    const { metadata, metadataLocation } = await put(catalog, 'a', '1')
    const file = await io.stat(metadataLocation)
    if (file === undefined) throw new Error('the commit wrote no file')
    const written = new WrittenMetadata()
    const other = { namespace: ['db'], name: 'other' }
    const locations = Array.from({ length: 50 }, (_, at) => `events-${at}`)
    for (const location of locations) written.keep(EVENTS, location, { metadata, file })
    written.keep(other, 'other-0', { metadata, file })
    const found = locations.filter((location) => written.find(EVENTS, location) !== undefined)
    expect(found).toEqual(['events-49'])
    expect(written.find(other, 'other-0')).toBeDefined()
    expect(written.find(other, 'events-49')).toBeUndefined()
  })
})
