import { describe, expect, it } from 'vitest'

import type { Catalog } from '../../src/catalog/catalog.ts'
import { commitTable } from '../../src/catalog/commit-table.ts'
import { loadIfPresent } from '../../src/catalog/load-if-present.ts'
import { formatIdentifier } from '../../src/catalog/table-identifier.ts'
import { IcebergError } from '../../src/iceberg/errors.ts'
import type { FileIO } from '../../src/iceberg/io/file-io.ts'
import { asObject } from '../../src/iceberg/json/json-fields.ts'
import type { TableMetadata } from '../../src/iceberg/metadata/metadata.ts'
import { type JsonValue, parseJson, stringifyJson } from '../../src/iceberg/json/lossless-json.ts'
import { commitOnce, createEvents, EVENTS, filesBelow, SCHEMA, setProperty } from './support-files.ts'
import type { StagedCommit } from '../../src/iceberg/update/staged-commit.ts'

/** One stored catalog that can be opened any number of times, as by several processes. */
export interface CatalogStore {
  readonly io: FileIO
  readonly warehouse: string
  open(): Catalog
}

export interface BehaviourOptions {
  readonly create: () => CatalogStore
  /** Whether tables can be registered and dropped, and created at any location. */
  readonly movable: boolean
  /**
   * A server applies commits: it names the metadata files, and may change what no requirement covers. `java`:
   * Iceberg's own server over a JDBC catalog, which drops unknown keys, writes even when nothing changes, keeps the
   * files of refused commits, and retries for minutes when it cannot read metadata.
   */
  readonly served?: { readonly java: boolean }
}

/** The behaviour of every catalog. */
export function catalogBehaviour(name: string, options: BehaviourOptions): void {
  describe(`${name} catalog`, () => {
    namespaces(options)
    tables(options)
    if (options.movable) registration(options)
    else withoutRegistration(options)
    if (options.movable) ownership(options)
    commits(options)
    trimming(options)
    rivals(options)
    hostileNames(options)
  })
}

function namespaces({ create, served }: BehaviourOptions): void {
  it('is empty at first and responds', async () => {
    const catalog = create().open()
    await catalog.ping()
    expect(await catalog.listNamespaces()).toEqual([])
    expect(await catalog.listTables()).toEqual([])
  })

  it('creates nested namespaces with their parents, and an existing one again', async () => {
    const store = create()
    const catalog = store.open()
    await catalog.createNamespace(['b', 'x', 'deep'])
    await catalog.createNamespace(['a_%!'])
    await catalog.createNamespace(['b'])
    await catalog.createNamespace(['b'])
    const expected = [['a_%!'], ['b'], ['b', 'x'], ['b', 'x', 'deep']]
    expect(await catalog.listNamespaces()).toEqual(expected)
    expect(await store.open().listNamespaces()).toEqual(expected)
  })

  it('reports a missing namespace, even if its name is similar to an existing one', async () => {
    const catalog = create().open()
    await catalog.createNamespace(['n_s', 'x'])
    await catalog.createNamespace(['Upper', 'x'])
    const alike = served?.java ? [] : ['nas', 'n%', 'upper'] // it compares by LIKE
    for (const missing of ['nope', 'n_s.y', 'n', ...alike]) {
      const namespace = missing.split('.')
      await expect(catalog.listTables(namespace)).rejects.toMatchObject({ code: 'NO_SUCH_NAMESPACE' })
      const creation = catalog.createTable({ namespace, name: 't' }, { schema: SCHEMA })
      await expect(creation).rejects.toMatchObject({ code: 'NO_SUCH_NAMESPACE' })
    }
    expect(await catalog.listTables(['n_s'])).toEqual([])
  })
}

function tables({ create, served }: BehaviourOptions): void {
  it('creates a table that another instance can load', async () => {
    const store = create()
    const created = await createEvents(store.open(), { owner: 'me' })
    const loaded = await store.open().loadTable(EVENTS)
    expect(loaded.metadataLocation).toBe(created.metadataLocation)
    expect(loaded.identifier).toEqual(EVENTS)
    expect(loaded.metadata.tableUuid).toBe(created.metadata.tableUuid)
    expect(loaded.metadata.location).toBe(`${store.warehouse}/db/events`)
    expect(loaded.metadata.properties).toMatchObject({ owner: 'me' })
    expect(loaded.metadata.formatVersion).toBe(2)
  })

  it('lists tables by name, all or in one namespace', async () => {
    const catalog = create().open()
    await catalog.createNamespace(['db', 'sub'])
    await catalog.createNamespace(['other'])
    const names = [
      ['db', 'b'],
      ['db', 'a'],
      ['db', 'sub', 'c'],
      ['other', 'a'],
    ]
    const identifiers = names.map((levels) => ({ namespace: levels.slice(0, -1), name: levels.at(-1) ?? '' }))
    for (const identifier of identifiers) await catalog.createTable(identifier, { schema: SCHEMA })
    const [b, a, c, other] = identifiers
    expect(await catalog.listTables()).toEqual([a, b, c, other])
    expect(await catalog.listTables(['db'])).toEqual([a, b])
    expect(await catalog.listTables(['db', 'sub'])).toEqual([c])
    expect(await catalog.listNamespaces()).toEqual([['db'], ['db', 'sub'], ['other']])
  })

  it('refuses a second table with the same name and leaves the first one unchanged', async () => {
    const store = create()
    const catalog = store.open()
    const first = await createEvents(catalog)
    const before = await filesBelow(store.io, store.warehouse)
    await expect(catalog.createTable(EVENTS, { schema: SCHEMA })).rejects.toMatchObject({ code: 'TABLE_EXISTS' })
    expect((await catalog.loadTable(EVENTS)).metadata.tableUuid).toBe(first.metadata.tableUuid)
    expect(await filesBelow(store.io, store.warehouse)).toEqual(before)
  })

  it('lets one of several concurrent creations succeed', async () => {
    const store = create()
    await store.open().createNamespace(['db'])
    const creators = Array.from({ length: 5 }, () => store.open().createTable(EVENTS, { schema: SCHEMA }))
    const settled = await Promise.allSettled(creators)
    expect(settled.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
    for (const result of settled) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'TABLE_EXISTS' })
    }
    if (served?.java) return
    expect((await filesBelow(store.io, store.warehouse)).filter((file) => file.endsWith('.json'))).toHaveLength(1)
  })

  it('loads a table if it is present, and nothing if its name or its namespace is missing', async () => {
    const catalog = create().open()
    const { identifier, metadataLocation } = await createEvents(catalog)
    expect((await loadIfPresent(catalog, identifier))?.metadataLocation).toBe(metadataLocation)
    expect((await loadIfPresent(catalog, formatIdentifier(identifier)))?.metadataLocation).toBe(metadataLocation)
    expect(await loadIfPresent(catalog, { ...identifier, name: 'nope' })).toBeUndefined()
    expect(await loadIfPresent(catalog, 'nope.nope')).toBeUndefined()
    await expect(loadIfPresent(catalog, 'a..b')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('reports a missing table', async () => {
    const catalog = create().open()
    await createEvents(catalog)
    for (const identifier of [
      { ...EVENTS, name: 'nope' },
      { ...EVENTS, name: 'EVENTS' },
      { namespace: ['x'], name: 'events' },
    ]) {
      await expect(catalog.loadTable(identifier)).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' })
      const commit = commitOnce(catalog, identifier, { requirements: [], updates: [] })
      await expect(commit).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' })
    }
  })

  it.skipIf(served?.java)('reports damaged metadata without changing it', async () => {
    const store = create()
    const catalog = store.open()
    const { metadataLocation } = await createEvents(catalog)
    const bytes = await store.io.read(metadataLocation)
    for (const damaged of [
      bytes.slice(0, 100),
      new Uint8Array(),
      new TextEncoder().encode('[]'),
      new Uint8Array([0x1f, 0x8b, 1]),
    ]) {
      await store.io.write(metadataLocation, damaged)
      await expect(catalog.loadTable(EVENTS)).rejects.toMatchObject({ name: 'IcebergError' })
      const commit = commitTable(catalog, EVENTS, setProperty('a', 'b'))
      await expect(commit).rejects.toMatchObject({ name: 'IcebergError' })
      expect([...(await store.io.read(metadataLocation))]).toEqual([...damaged])
    }
    await store.io.write(metadataLocation, bytes)
    expect((await catalog.loadTable(EVENTS)).metadataLocation).toBe(metadataLocation)
  })
}

function registration({ create }: BehaviourOptions): void {
  it('drops a table, keeps its files, and can register them again', async () => {
    const store = create()
    const catalog = store.open()
    const { metadataLocation, metadata } = await createEvents(catalog)
    await catalog.dropTable(EVENTS)
    await expect(catalog.loadTable(EVENTS)).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' })
    await expect(catalog.dropTable(EVENTS)).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' })
    expect(await catalog.listTables()).toEqual([])
    const again = { namespace: ['db'], name: 'again' }
    expect((await catalog.registerTable(again, metadataLocation)).metadata.tableUuid).toBe(metadata.tableUuid)
    expect((await store.open().loadTable(again)).metadataLocation).toBe(metadataLocation)
  })

  it('refuses to register over a table, the same table twice, a missing file, and invalid metadata', async () => {
    const store = create()
    const catalog = store.open()
    const { metadataLocation } = await createEvents(catalog)
    const other = { namespace: ['db'], name: 'other' }
    const exists = { code: 'TABLE_EXISTS' }
    await expect(catalog.registerTable(EVENTS, metadataLocation)).rejects.toMatchObject(exists)
    await expect(catalog.registerTable(other, metadataLocation)).rejects.toMatchObject(exists)
    const missing = catalog.registerTable(other, `${store.warehouse}/nope.metadata.json`)
    await expect(missing).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
    const garbage = `${store.warehouse}/garbage.metadata.json`
    await store.io.write(garbage, new TextEncoder().encode('{"format-version": 2}'))
    await expect(catalog.registerTable(other, garbage)).rejects.toMatchObject({ name: 'IcebergError' })
    expect(await catalog.listTables()).toEqual([EVENTS])
  })

  it('creates a table at the requested location', async () => {
    const store = create()
    const catalog = store.open()
    await catalog.createNamespace(['db'])
    const location = `${store.warehouse}/elsewhere/t`
    const table = await catalog.createTable(EVENTS, { schema: SCHEMA, location, formatVersion: 3 })
    expect(table.metadata.location).toBe(location)
    expect(table.metadata.formatVersion).toBe(3)
    expect(table.metadataLocation.startsWith(`${location}/metadata/00000-`)).toBe(true)
  })
}

/** A table written to storage as another system would, with any location, properties and id. */
async function plantTable(store: CatalogStore, catalog: Catalog, changes: Readonly<Record<string, JsonValue>>) {
  const { metadataLocation } = await catalog.loadTable(EVENTS)
  const json = asObject(parseJson(await store.io.read(metadataLocation)), 'metadata')
  const location = changes['location'] ?? `${store.warehouse}/planted`
  const planted = { ...json, 'table-uuid': crypto.randomUUID(), location, ...changes }
  const file = `${store.warehouse}/planted/metadata/00000-${crypto.randomUUID()}.metadata.json`
  await store.io.write(file, new TextEncoder().encode(stringifyJson(planted)))
  return file
}

function ownership({ create }: BehaviourOptions): void {
  const other = { namespace: ['db'], name: 'other' }

  it('refuses a table under a second name, with an older metadata file and in every spelling', async () => {
    const store = create()
    const catalog = store.open()
    const base = await createEvents(catalog)
    const { table } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    const readable = async (location: string) => (await store.io.stat(location)) !== undefined
    const path = table.metadataLocation
    const spellings = [
      path,
      base.metadataLocation,
      path.replace('/metadata/', '//metadata//'),
      path.replace('/metadata/', '/./metadata/'),
      path.replace('/metadata/', '/data/../metadata/'),
      ...(path.startsWith('/') ? [`file:${path}`, `file://${path}`, `file:/${path}`] : [path.replace(/^s3:/, 's3a:')]),
    ]
    for (const location of spellings) {
      const refused = store.open().registerTable(other, location)
      const message = (await readable(location).catch(() => false))
        ? { code: 'TABLE_EXISTS' }
        : { name: 'IcebergError' }
      await expect(refused, location).rejects.toMatchObject(message)
    }
    expect(await catalog.listTables()).toEqual([EVENTS])
  })

  it('refuses a table whose folders overlap the folders of another table', async () => {
    const store = create()
    const catalog = store.open()
    const { metadata } = await createEvents(catalog)
    const { location } = metadata
    const crafted: readonly Readonly<Record<string, JsonValue>>[] = [
      { location },
      { location: `${location}/nested` },
      { location: store.warehouse },
      { location: location.replace('/db/', '//db/./') },
      ...['write.data.path', 'write.metadata.path', 'write.object-storage.path', 'write.folder-storage.path'].flatMap(
        (key) =>
          [`${location}/data`, `${location}/data/deeper`, location].map((path) => ({ properties: { [key]: path } })),
      ),
    ]
    for (const changes of crafted) {
      const file = await plantTable(store, catalog, changes)
      const refused = { code: 'TABLES_OVERLAP', message: expect.stringContaining('db.events') }
      await expect(store.open().registerTable(other, file), JSON.stringify(changes)).rejects.toMatchObject(refused)
    }
    expect(await catalog.listTables()).toEqual([EVENTS])
    const alike = await plantTable(store, catalog, { location: `${location}2` })
    expect((await store.open().registerTable(other, alike)).metadata.location).toBe(`${location}2`)
  })

  it('accepts at most one of two names when a table is registered under both at once', async () => {
    const store = create()
    const catalog = store.open()
    await createEvents(catalog)
    const file = await plantTable(store, catalog, {})
    for (const instances of [
      [catalog, catalog],
      [store.open(), store.open()],
    ]) {
      const attempts = instances.map((instance, at) => instance.registerTable({ ...other, name: `twin${at}` }, file))
      const settled = await Promise.allSettled(attempts)
      const won = settled.filter(({ status }) => status === 'fulfilled').length
      expect(won).toBeLessThanOrEqual(1)
      const left = (await catalog.listTables()).filter(({ name }) => name.startsWith('twin'))
      expect(left).toHaveLength(won)
      if (instances[0] === instances[1]) expect(won).toBe(1)
      for (const identifier of left) await catalog.dropTable(identifier)
    }
  })
}

function withoutRegistration({ create }: BehaviourOptions): void {
  it('refuses what a catalog of plain folders does not support', async () => {
    const store = create()
    const catalog = store.open()
    const { metadataLocation } = await createEvents(catalog)
    const other = { namespace: ['db'], name: 'other' }
    const unsupported = { code: 'UNSUPPORTED' }
    await expect(catalog.registerTable(other, metadataLocation)).rejects.toMatchObject(unsupported)
    await expect(catalog.dropTable(EVENTS)).rejects.toMatchObject(unsupported)
    const location = `${store.warehouse}/elsewhere`
    const elsewhere = catalog.createTable(other, { schema: SCHEMA, location })
    await expect(elsewhere).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect((await catalog.loadTable(EVENTS)).metadataLocation).toBe(metadataLocation)
  })
}

function commits({ create, served }: BehaviourOptions): void {
  it('commits, logs the previous metadata file and keeps it', async () => {
    const store = create()
    const catalog = store.open()
    const base = await createEvents(catalog)
    const staged: StagedCommit[] = []
    const onStaged = async (commit: StagedCommit): Promise<void> => {
      staged.push(commit)
    }
    const { table, attempts } = await commitTable(catalog, EVENTS, setProperty('a', '1'), { onStaged })
    expect(attempts).toBe(1)
    expect(staged).toEqual(
      served ? [{ kind: 'served', main: undefined }] : [{ kind: 'file', location: table.metadataLocation }],
    )
    expect(table.metadata.properties).toMatchObject({ a: '1' })
    expect(table.metadata.metadataLog.map((entry) => entry.metadataFile)).toEqual([base.metadataLocation])
    const loaded = await store.open().loadTable(EVENTS)
    expect(loaded.metadataLocation).toBe(table.metadataLocation)
    expect(loaded.metadata.properties).toMatchObject({ a: '1' })
    expect(await store.io.stat(base.metadataLocation)).toBeDefined()
  })

  it('refuses a commit whose requirements no longer hold, and leaves no file', async () => {
    const store = create()
    const catalog = store.open()
    const base = await createEvents(catalog)
    await commitTable(catalog, EVENTS, setProperty('a', '1'))
    const before = await filesBelow(store.io, store.warehouse)
    const stale = [
      [{ type: 'assert-table-uuid', uuid: crypto.randomUUID() }],
      [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': 5n }],
      [{ type: 'assert-create' }],
      [{ type: 'assert-current-schema-id', 'current-schema-id': 7 }],
    ] as const
    for (const requirements of stale) {
      const updates = [{ action: 'set-properties', updates: { b: '2' } }] as const
      const commit = commitOnce(catalog, EVENTS, { requirements, updates })
      await expect(commit).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    }
    expect(await filesBelow(store.io, store.warehouse)).toEqual(before)
    const { metadata } = await catalog.loadTable(EVENTS)
    expect(metadata.properties).not.toHaveProperty('b')
    expect(metadata.tableUuid).toBe(base.metadata.tableUuid)
  })

  it('refuses a commit that is not confirmed at the last moment, and leaves no file', async () => {
    const store = create()
    const catalog = store.open()
    const base = await createEvents(catalog)
    const before = await filesBelow(store.io, store.warehouse)
    const lost = new IcebergError('CANCELLED', 'another process may have taken the table')
    const moments: string[] = []
    const commit = commitOnce(catalog, EVENTS, {
      requirements: [],
      updates: [{ action: 'set-properties', updates: { b: '2' } }],
      onStaged: async () => void moments.push('staged'),
      confirm: async () => {
        moments.push('confirm')
        throw lost
      },
    })
    await expect(commit).rejects.toBe(lost)
    expect(moments).toEqual(['staged', 'confirm'])
    expect(await filesBelow(store.io, store.warehouse)).toEqual(before)
    expect((await store.open().loadTable(EVENTS)).metadataLocation).toBe(base.metadataLocation)
  })

  it.skipIf(served)('makes a fence that changes only the time and the log of metadata files', async () => {
    const store = create()
    const catalog = store.open()
    const base = await createEvents(catalog, { a: '1' })
    const fence = await commitOnce(catalog, EVENTS, { requirements: [], updates: [], isFence: true })
    const { metadata, metadataLocation } = await store.open().loadTable(EVENTS)
    expect(metadataLocation).toBe(fence.metadataLocation)
    expect(metadataLocation).not.toBe(base.metadataLocation)
    expect(metadata.metadataLog.map(({ metadataFile }) => metadataFile)).toEqual([base.metadataLocation])
    const changed = ['last-updated-ms', 'metadata-log']
    const kept = ({ json }: TableMetadata) => Object.entries(json).filter(([key]) => !changed.includes(key))
    expect(kept(metadata)).toEqual(kept(base.metadata))
  })

  it.runIf(served)('makes no fence where a server applies commits', async () => {
    const store = create()
    const catalog = store.open()
    const { metadataLocation } = await createEvents(catalog)
    const fence = commitOnce(catalog, EVENTS, { requirements: [], updates: [], isFence: true })
    await expect(fence).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    expect((await store.open().loadTable(EVENTS)).metadataLocation).toBe(metadataLocation)
  })

  it.skipIf(served?.java)('writes nothing when nothing changes', async () => {
    const store = create()
    const catalog = store.open()
    const base = await createEvents(catalog, { a: '1' })
    const before = await filesBelow(store.io, store.warehouse)
    const { table } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect(table.metadataLocation).toBe(base.metadataLocation)
    expect(await filesBelow(store.io, store.warehouse)).toEqual(before)
  })

  it.skipIf(served?.java)('keeps unknown keys and 64-bit numbers', async () => {
    const store = create()
    const catalog = store.open()
    const { metadataLocation } = await createEvents(catalog)
    const json = asObject(parseJson(await store.io.read(metadataLocation)), 'metadata')
    const foreign = { 'x-foreign': { big: 9223372036854775807n, list: [1, null, 'ü'] } }
    await store.io.write(metadataLocation, new TextEncoder().encode(stringifyJson({ ...json, ...foreign })))
    const { table } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    const written = asObject(parseJson(await store.io.read(table.metadataLocation)), 'metadata')
    expect(written['x-foreign']).toEqual(foreign['x-foreign'])
  })

  it('compresses metadata files when the table requests it', async () => {
    const store = create()
    const catalog = store.open()
    const created = await createEvents(catalog, { 'write.metadata.compression-codec': 'gzip' })
    const { table } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    for (const { metadataLocation } of [created, table]) {
      expect(metadataLocation).toMatch(/\.gz\.metadata\.json$/)
      expect(Array.from(await store.io.readRange(metadataLocation, 0, 2))).toEqual([0x1f, 0x8b])
    }
    expect((await store.open().loadTable(EVENTS)).metadata.properties).toMatchObject({ a: '1' })
  })

  it('deletes metadata files that leave the log only when the table requests it', async () => {
    const store = create()
    const catalog = store.open()
    await createEvents(catalog, { 'write.metadata.previous-versions-max': '2' })
    const metadataFiles = async (): Promise<number> =>
      (await filesBelow(store.io, `${store.warehouse}/db/events`)).filter((file) => file.endsWith('.metadata.json'))
        .length
    for (let i = 0; i < 5; i++) await commitTable(catalog, EVENTS, setProperty('a', `${i}`))
    expect(await metadataFiles()).toBe(6)
    await commitTable(catalog, EVENTS, setProperty('write.metadata.delete-after-commit.enabled', 'true'))
    await commitTable(catalog, EVENTS, setProperty('a', 'x'))
    const { metadata, metadataLocation } = await store.open().loadTable(EVENTS)
    const kept = [...metadata.metadataLog.map((entry) => entry.metadataFile), metadataLocation]
    expect(kept).toHaveLength(3)
    for (const location of kept) expect(await store.io.stat(location)).toBeDefined()
    expect(await metadataFiles()).toBe(8 - 2)
  })
}

function trimming({ create, served }: BehaviourOptions): void {
  it.skipIf(served)('never trims a file that is not an old metadata file of its own table', async () => {
    const store = create()
    const catalog = store.open()
    await catalog.createNamespace(['db'])
    const victim = await catalog.createTable({ namespace: ['db'], name: 'victim' }, { schema: SCHEMA })
    const { metadata, metadataLocation } = await createEvents(catalog, {
      'write.metadata.delete-after-commit.enabled': 'true',
      'write.metadata.previous-versions-max': '1',
    })
    const data = `${metadata.location}/data/x.parquet`
    const stray = `${metadata.location}/metadata/snap-1.avro`
    const outside = `${store.warehouse}/backup/00000-a.metadata.json`
    for (const file of [data, stray, outside]) await store.io.write(file, new Uint8Array(4))
    const log = [victim.metadataLocation, data, stray, outside, metadataLocation]
    const json = asObject(parseJson(await store.io.read(metadataLocation)), 'metadata')
    const entries = log.map((file) => ({ 'timestamp-ms': 1, 'metadata-file': file }))
    const crafted = stringifyJson({ ...json, 'metadata-log': entries })
    await store.io.write(metadataLocation, new TextEncoder().encode(crafted))
    for (let i = 0; i < 3; i++) await commitTable(catalog, EVENTS, setProperty('a', `${i}`))
    for (const file of [victim.metadataLocation, data, stray, outside]) {
      expect(await store.io.stat(file), file).toBeDefined()
    }
    expect(await store.io.stat(metadataLocation)).toBeUndefined()
    expect((await store.open().loadTable(victim.identifier)).metadata.tableUuid).toBe(victim.metadata.tableUuid)
  })
}

function rivals({ create, served }: BehaviourOptions): void {
  it('commits all changes of 20 parallel committers on 4 instances', async () => {
    const store = create()
    await createEvents(store.open())
    const instances = Array.from({ length: 4 }, () => store.open())
    const retries = { count: 200, minWaitMs: 1, maxWaitMs: 20 }
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const catalog = instances[i % instances.length] ?? store.open()
        return commitTable(catalog, EVENTS, setProperty(`p${i}`, `${i}`), { retries })
      }),
    )
    const { metadata, metadataLocation } = await store.open().loadTable(EVENTS)
    const expected = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`p${i}`, `${i}`]))
    expect(metadata.properties).toMatchObject(expected)
    expect(metadata.metadataLog).toHaveLength(20)
    if (served?.java) return // it returns the state after the last of the concurrent commits
    expect(new Set(results.map(({ table }) => table.metadataLocation)).size).toBe(20)
    // Lost attempts left nothing behind.
    const files = (await filesBelow(store.io, `${store.warehouse}/db/events`)).filter((file) => file.endsWith('.json'))
    expect(files.sort()).toEqual([...metadata.metadataLog.map((entry) => entry.metadataFile), metadataLocation].sort())
  })

  it.skipIf(served)('refuses the slower of two commits on the same state', async () => {
    const store = create()
    const [first, second] = [store.open(), store.open()]
    await createEvents(first)
    const updates = [{ action: 'set-properties', updates: { late: 'yes' } }] as const
    const late = commitOnce(second, EVENTS, {
      requirements: [],
      updates,
      onStaged: async () => {
        await commitTable(first, EVENTS, setProperty('early', 'yes'))
      },
    })
    await expect(late).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    const { metadata, metadataLocation } = await second.loadTable(EVENTS)
    expect(metadata.properties).toMatchObject({ early: 'yes' })
    expect(metadata.properties).not.toHaveProperty('late')
    const files = (await filesBelow(store.io, `${store.warehouse}/db/events`)).filter((file) => file.endsWith('.json'))
    expect(files).toHaveLength(2)
    expect(files).toContain(metadataLocation)
  })

  it('is unchanged when the committer dies before the pointer moves', async () => {
    const store = create()
    const base = await createEvents(store.open())
    await new Promise<void>((resolve) => {
      const dying = {
        requirements: [],
        updates: [{ action: 'set-properties' as const, updates: { a: '1' } }],
        onStaged: () => {
          resolve()
          return new Promise<void>(() => {})
        },
      }
      void commitOnce(store.open(), EVENTS, dying)
    })
    const survivor = store.open()
    const loaded = await survivor.loadTable(EVENTS)
    expect(loaded.metadataLocation).toBe(base.metadataLocation)
    const { table } = await commitTable(survivor, EVENTS, setProperty('b', '2'))
    expect(table.metadata.properties).toMatchObject({ b: '2' })
    expect(table.metadata.properties).not.toHaveProperty('a')
  })

  it('fails cleanly when the ledger cannot be written', async () => {
    const store = create()
    const base = await createEvents(store.open())
    const before = await filesBelow(store.io, store.warehouse)
    const failing = commitOnce(store.open(), EVENTS, {
      requirements: [],
      updates: [{ action: 'set-properties', updates: { a: '1' } }],
      onStaged: async () => {
        throw new Error('no ledger')
      },
    })
    await expect(failing).rejects.toMatchObject({ name: 'IcebergError', cause: { message: 'no ledger' } })
    expect((await store.open().loadTable(EVENTS)).metadataLocation).toBe(base.metadataLocation)
    expect(await filesBelow(store.io, store.warehouse)).toEqual(before)
  })
}

function hostileNames({ create }: BehaviourOptions): void {
  it.each(['..', '.', '', '../x', 'a/b', 'a\\b', 'a\0b', 'a.b', ' a', 'a\n', '\ud83d', 'a\udc00b', 'x'.repeat(256)])(
    'refuses the name %j everywhere',
    async (bad) => {
      const store = create()
      const catalog = store.open()
      await catalog.createNamespace(['db'])
      const before = await filesBelow(store.io, store.warehouse)
      const invalid = { code: 'INVALID_ARGUMENT' }
      await expect(catalog.createNamespace(['db', bad])).rejects.toMatchObject(invalid)
      for (const identifier of [
        { namespace: ['db'], name: bad },
        { namespace: [bad], name: 't' },
      ]) {
        await expect(catalog.createTable(identifier, { schema: SCHEMA })).rejects.toMatchObject(invalid)
        await expect(catalog.loadTable(identifier)).rejects.toMatchObject(invalid)
        const commit = commitOnce(catalog, identifier, { requirements: [], updates: [] })
        await expect(commit).rejects.toMatchObject(invalid)
      }
      expect(await filesBelow(store.io, store.warehouse)).toEqual(before)
    },
  )

  it('accepts names in any script, with quotes and wildcards', async () => {
    const store = create()
    const catalog = store.open()
    const names = ['tábla', '表', '🧊', "it's", '"q"', 'a b', '100%', 'under_score', 'semi;colon', '--', 'NULL']
    await catalog.createNamespace(['n\'"%_!'])
    for (const name of names) await catalog.createTable({ namespace: ['n\'"%_!'], name }, { schema: SCHEMA })
    const listed = (await store.open().listTables(['n\'"%_!'])).map((identifier) => identifier.name)
    expect(listed.sort()).toEqual(names.sort())
    for (const name of names) await store.open().loadTable({ namespace: ['n\'"%_!'], name })
  })
}
