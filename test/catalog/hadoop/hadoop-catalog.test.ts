import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { describe, expect, it } from 'vitest'

import type { Catalog, CommitRequest } from '../../../src/catalog/catalog.ts'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { createHadoopCatalog } from '../../../src/catalog/hadoop/catalog.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import type { FileIO } from '../../../src/iceberg/io/file-io.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { reconcileOperation } from '../../../src/maintenance/recovery/reconcile.ts'
import { fixturesRoot, haveFixtures } from '../../support/iceberg-fixtures.ts'
import { FILE_CLOCK_MS, sleep } from '../../support/waiting.ts'
import { createEvents, EVENTS, filesBelow, setProperty } from '../support-files.ts'
import { faultyIO, ioFailure } from '../support.ts'

const METADATA = '/w/db/events/metadata'
const HINT = `${METADATA}/version-hint.text`

function open(io: FileIO, warehouse = '/w'): Catalog {
  return createHadoopCatalog({ io, warehouse, name: 'test' })
}

async function text(io: FileIO, location: string): Promise<string> {
  return new TextDecoder().decode(await io.read(location))
}

function write(io: FileIO, location: string, content: string): Promise<void> {
  return io.write(location, new TextEncoder().encode(content))
}

/** A table at version 4 whose property `v` is the number of each version. */
async function fourVersions(): Promise<{ io: MemoryFileIO; catalog: Catalog }> {
  const io = new MemoryFileIO()
  const catalog = open(io)
  await createEvents(catalog, { v: '1' })
  for (const v of ['2', '3', '4']) await commitTable(catalog, EVENTS, setProperty('v', v))
  return { io, catalog }
}

describe('hadoop versions', () => {
  it('are named and hinted as in Java', async () => {
    const { io } = await fourVersions()
    expect((await filesBelow(io, METADATA)).map((file) => file.slice(METADATA.length + 1))).toEqual([
      'v1.metadata.json',
      'v2.metadata.json',
      'v3.metadata.json',
      'v4.metadata.json',
      'version-hint.text',
    ])
    expect(await text(io, HINT)).toBe('4')
  })

  it.each([
    ['an old number', '2'],
    ['a number with a line break', '2\n'],
    ['an empty file', ''],
    ['garbage', '💥 ../../etc'],
    ['a number without a file', '77'],
    ['a negative number', '-1'],
    ['a huge number', '9'.repeat(40)],
    ['a huge file', '4'.repeat(100_000)],
    ['the name of an old file', 'v2.metadata.json'],
    ['the name of a missing file', '00009-abc'],
  ])('are found with %s as hint', async (_, hint) => {
    const { io, catalog } = await fourVersions()
    await write(io, HINT, hint)
    expect((await catalog.loadTable(EVENTS)).metadata.properties).toMatchObject({ v: '4' })
  })

  it('are found without a hint, and beyond invalid names', async () => {
    const { io, catalog } = await fourVersions()
    await io.delete(HINT)
    for (const name of [
      'v9.1.metadata.json',
      'v9.metadata.json.crc',
      '.v9.metadata.json',
      'v9.json',
      'v9.metadata.json.tmp',
      'vx.metadata.json',
      'old/v9.metadata.json',
      'v.metadata.json',
      'snap-9-1.avro',
    ]) {
      await write(io, `${METADATA}/${name}`, 'garbage')
    }
    expect((await catalog.loadTable(EVENTS)).metadata.properties).toMatchObject({ v: '4' })
    const { table } = await commitTable(catalog, EVENTS, setProperty('v', '5'))
    expect(table.metadataLocation).toBe(`${METADATA}/v5.metadata.json`)
    expect(await text(io, HINT)).toBe('5')
  })

  it('are followed from the known version, and back to a lower one when the known one is gone', async () => {
    const { io, catalog } = await fourVersions()
    const at = (version: string): string => `${METADATA}/${version}.metadata.json`
    const follow = async (known: string): Promise<string | undefined> => catalog.locateTable?.(EVENTS, known)
    await write(io, HINT, '1') // following works without the hint
    expect(await follow(at('v2'))).toBe(at('v4'))
    expect(await follow(at('v4'))).toBe(at('v4'))
    await io.write(at('v5.gz'), await io.read(at('v4')))
    expect(await follow(at('v4'))).toBe(at('v5.gz'))
    expect(await follow(at('v9'))).toBe(at('v5.gz'))
    for (const version of ['v3', 'v4', 'v5.gz']) await io.delete(at(version))
    expect(await follow(at('v4'))).toBe(at('v2'))
    for (const version of ['v1', 'v2']) await io.delete(at(version))
    await expect(follow(at('v2'))).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' })
  })

  it('are ordered by number, not by text', async () => {
    const { io, catalog } = await fourVersions()
    for (let v = 5; v <= 11; v++) await commitTable(catalog, EVENTS, setProperty('v', `${v}`))
    await io.delete(HINT)
    expect((await catalog.loadTable(EVENTS)).metadata.properties).toMatchObject({ v: '11' })
  })

  it.each(['v5.gz.metadata.json', 'v5.metadata.json.gz'])(
    'are found and followed when compressed, as %s',
    async (name) => {
      const { io, catalog } = await fourVersions()
      const current = await text(io, `${METADATA}/v4.metadata.json`)
      await io.write(`${METADATA}/${name}`, gzipSync(current.replace('"v":"4"', '"v":"5"')))
      expect((await catalog.loadTable(EVENTS)).metadata.properties).toMatchObject({ v: '5' })
      const { table } = await commitTable(catalog, EVENTS, setProperty('v', '6'))
      expect(table.metadataLocation).toBe(`${METADATA}/v6.metadata.json`)
      expect((await open(io).loadTable(EVENTS)).metadata.properties).toMatchObject({ v: '6' })
    },
  )

  it('use one name for all rivals while the codec changes', async () => {
    const { io, catalog } = await fourVersions()
    const codec = setProperty('write.metadata.compression-codec', 'gzip')
    const rival = commitTable(open(io), EVENTS, setProperty('v', 'rival'), { retries: { minWaitMs: 1 } })
    const [a, b] = await Promise.all([commitTable(catalog, EVENTS, codec, { retries: { minWaitMs: 1 } }), rival])
    expect(new Set([a.table.metadataLocation, b.table.metadataLocation]).size).toBe(2)
    const { metadata } = await catalog.loadTable(EVENTS)
    expect(metadata.properties).toMatchObject({ v: 'rival', 'write.metadata.compression-codec': 'gzip' })
    expect((await filesBelow(io, METADATA)).filter((file) => file.includes('v5.'))).toHaveLength(1)
  })

  it('are read but not changed when a metastore catalog named them', async () => {
    const { io, catalog } = await fourVersions()
    const current = await text(io, `${METADATA}/v4.metadata.json`)
    for (const file of await filesBelow(io, METADATA)) await io.delete(file)
    const uuid = '5d9111ed-e56c-4ceb-9040-09d3be71926b'
    await write(io, `${METADATA}/00009-${uuid}.metadata.json`, current.replace('"v":"4"', '"v":"9"'))
    await write(io, `${METADATA}/00010-${uuid}.metadata.json`, current.replace('"v":"4"', '"v":"10"'))
    for (const hint of [undefined, `00010-${uuid}`]) {
      if (hint !== undefined) await write(io, HINT, hint)
      const before = await filesBelow(io, METADATA)
      expect((await catalog.loadTable(EVENTS)).metadata.properties).toMatchObject({ v: '10' })
      expect(await catalog.listTables()).toEqual([EVENTS])
      const commit = commitTable(catalog, EVENTS, setProperty('v', '11'))
      await expect(commit).rejects.toMatchObject({ code: 'UNSUPPORTED' })
      expect(await filesBelow(io, METADATA)).toEqual(before)
    }
  })
})

describe('hadoop commits with failing files', () => {
  it('succeed without the hint', async () => {
    const inner = new MemoryFileIO()
    const io = faultyIO(inner, {
      before: (method, location) => {
        if (method === 'write' && location === HINT) throw ioFailure()
      },
    })
    await createEvents(open(io))
    for (const v of ['2', '3']) await commitTable(open(io), EVENTS, setProperty('v', v))
    expect((await open(inner).loadTable(EVENTS)).metadata.properties).toMatchObject({ v: '3' })
  })

  it('fail with certainty when the file does not exist, and succeed when it does', async () => {
    const inner = new MemoryFileIO()
    await createEvents(open(inner))
    const written = '/w/manifest.avro'
    const stage = async (table: Parameters<ReturnType<typeof setProperty>>[0]) => {
      await inner.write(written, new Uint8Array([1]))
      return { ...(await setProperty('v', 'x')(table)), writtenFiles: [written] }
    }
    const never = faultyIO(inner, {
      before: (method) => {
        if (method === 'create') throw ioFailure()
      },
    })
    await expect(commitTable(open(never), EVENTS, stage)).rejects.toMatchObject({ code: 'IO_FAILED' })
    expect(await inner.stat(written)).toBeUndefined()

    const unsure = faultyIO(inner, {
      after: (method) => {
        if (method === 'create') throw ioFailure()
      },
    })
    const { table } = await commitTable(open(unsure), EVENTS, stage)
    expect(table.metadataLocation).toBe(`${METADATA}/v2.metadata.json`)
    expect(await inner.stat(written)).toBeDefined()
    expect((await open(inner).loadTable(EVENTS)).metadata.properties).toMatchObject({ v: 'x' })
  })

  it('are unknown when the file cannot be checked, and every file is kept', async () => {
    const inner = new MemoryFileIO()
    await createEvents(open(inner))
    const written = '/w/manifest.avro'
    await inner.write(written, new Uint8Array([1]))
    let away = false
    const io = faultyIO(inner, {
      before: () => {
        if (away) throw ioFailure()
      },
      after: (method) => {
        if (method !== 'create') return
        away = true
        throw ioFailure()
      },
    })
    const commit = commitTable(open(io), EVENTS, async (table) => ({
      ...(await setProperty('v', 'x')(table)),
      writtenFiles: [written],
    }))
    await expect(commit).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    expect(await inner.stat(written)).toBeDefined()
  })
})

describe('hadoop commits that take long', () => {
  const TRIMMED = {
    'write.metadata.delete-after-commit.enabled': 'true',
    'write.metadata.previous-versions-max': '2',
  }
  const change = (properties: Readonly<Record<string, string>>, during?: () => Promise<void>): CommitRequest => ({
    requirements: [],
    updates: [{ action: 'set-properties', updates: properties }],
    ...(during && { onStaged: during }),
  })

  interface Pause {
    readonly when: 'before' | 'after'
    readonly method: string
    readonly location: string
  }

  async function commitMany(io: FileIO, count: number, name = 'rival'): Promise<void> {
    await sleep(FILE_CLOCK_MS) // commits of one millisecond cannot be told apart by the metadata log
    for (let n = 1; n <= count; n++) {
      expect((await open(io).commit(EVENTS, change({ [`${name}-${n}`]: 'yes' }))).kind).toBe('committed')
    }
  }

  const pauses: Record<string, (io: MemoryFileIO, rivals: () => Promise<void>) => [FileIO, CommitRequest]> = {
    'before the versions are looked at': (io, rivals) => [io, change({ slow: 'yes' }, rivals)],
    'between the look and the creation': (io, rivals) => [pausing(io, rivals), change({ slow: 'yes' })],
  }
  /** Runs `work` once, before or after the first call of a method for a location. */
  function pausing(io: FileIO, work: () => Promise<void>, at: Partial<Pause> = {}): FileIO {
    const { when = 'before', method = 'create', location } = at
    let isFirst = true
    const hook = async (called: string, place: string): Promise<void> => {
      if (!isFirst || called !== method || (location !== undefined && place !== location)) return
      isFirst = false
      await work()
    }
    return faultyIO(io, { [when]: hook })
  }

  describe.each(Object.keys(pauses))('%s', (pause) => {
    async function slowCommit(count: number) {
      const io = new MemoryFileIO()
      await createEvents(open(io), TRIMMED)
      const [slowIo, request] = pauses[pause]?.(io, () => commitMany(io, count)) ?? [io, change({})]
      const outcome = await open(slowIo).commit(EVENTS, request)
      return { io, outcome }
    }

    it.each([1, 2, 3, 4, 8, 30])('lose against %i others, whose commits stay', async (count) => {
      const { io, outcome } = await slowCommit(count)
      expect(outcome).toMatchObject({ kind: 'refused', error: { code: 'COMMIT_CONFLICT' } })
      expect(await text(io, HINT)).toBe(`${count + 1}`)
      await commitMany(io, 2, 'later')
      for (const hint of [`${count + 3}`, '2', undefined]) {
        if (hint === undefined) await io.delete(HINT)
        else await write(io, HINT, hint)
        const { metadata, metadataLocation } = await open(io).loadTable(EVENTS)
        expect(metadataLocation).toBe(`${METADATA}/v${count + 3}.metadata.json`)
        expect(metadata.properties).toMatchObject({ 'rival-1': 'yes', [`rival-${count}`]: 'yes', 'later-2': 'yes' })
        expect(metadata.properties).not.toHaveProperty('slow')
      }
      expect(await open(io).locateTable?.(EVENTS, `${METADATA}/v2.metadata.json`)).toMatch(`v${count + 3}.metadata`)
    })
  })

  it('are committed when others continue them at once', async () => {
    for (const count of [1, 2]) {
      const io = new MemoryFileIO()
      await createEvents(open(io), TRIMMED)
      const slowed = pausing(io, () => commitMany(io, count), { when: 'after' })
      expect((await open(slowed).commit(EVENTS, change({ slow: 'yes' }))).kind).toBe('committed')
      const { metadata } = await open(io).loadTable(EVENTS)
      expect(metadata.properties).toMatchObject({ slow: 'yes', 'rival-1': 'yes' })
      expect(await text(io, HINT)).toBe(`${count + 2}`)
    }
  })

  it('are unknown when another system created the version under the name of another codec', async () => {
    const io = new MemoryFileIO()
    await createEvents(open(io))
    const other = `${METADATA}/v2.gz.metadata.json`
    const slowed = pausing(io, async () => io.write(other, gzipSync(await io.read(`${METADATA}/v1.metadata.json`))))
    const outcome = await open(slowed).commit(EVENTS, change({ slow: 'yes' }))
    expect(outcome).toMatchObject({ kind: 'unknown', error: { code: 'COMMIT_STATE_UNKNOWN' } })
    expect(await io.stat(other)).toBeDefined()
  })

  it('do not lower the hint of a newer version', async () => {
    const io = new MemoryFileIO()
    await createEvents(open(io), TRIMMED)
    const slowed = pausing(io, () => commitMany(io, 6), { method: 'write', location: HINT })
    expect((await open(slowed).commit(EVENTS, change({ slow: 'yes' }))).kind).toBe('committed')
    expect(await text(io, HINT)).toBe('8')
  })

  it('are not found again through the known location of a version that a dead process created too late', async () => {
    const io = new MemoryFileIO()
    await createEvents(open(io), TRIMMED)
    await commitMany(io, 1)
    const late = await io.read(`${METADATA}/v2.metadata.json`)
    await commitMany(io, 6, 'later')
    await io.create(`${METADATA}/v2.metadata.json`, late)
    expect(await open(io).locateTable?.(EVENTS, `${METADATA}/v2.metadata.json`)).toBe(`${METADATA}/v8.metadata.json`)
  })
})

describe('hadoop commits whose creation is answered wrongly', () => {
  const exists = () => new IcebergError('FILE_EXISTS', 'The file already exists.')
  const written = '/w/manifest.avro'
  const stage = (io: FileIO) => async (table: Table) => {
    await io.write(written, new Uint8Array([1]))
    return { ...(await setProperty('v', 'mine')(table)), writtenFiles: [written] }
  }

  it('are committed when the file that exists is their own', async () => {
    const inner = new MemoryFileIO()
    await createEvents(open(inner))
    let isLost = true
    const io = faultyIO(inner, {
      after: (method) => {
        if (method !== 'create' || !isLost) return
        isLost = false
        throw exists()
      },
    })
    const { attempts } = await commitTable(open(io), EVENTS, stage(inner))
    expect(attempts).toBe(1)
    expect(await inner.stat(written)).toBeDefined()
    expect((await open(inner).loadTable(EVENTS)).metadata.properties).toMatchObject({ v: 'mine' })
  })

  it('are unknown when the file that exists cannot be read, and every file is kept', async () => {
    const inner = new MemoryFileIO()
    await createEvents(open(inner))
    const isOurs = (location: string) => location === `${METADATA}/v2.metadata.json`
    const io = faultyIO(inner, {
      before: (method, location) => {
        if (method === 'read' && isOurs(location)) throw ioFailure()
      },
      after: (method) => {
        if (method === 'create') throw exists()
      },
    })
    await expect(commitTable(open(io), EVENTS, stage(inner))).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    expect(await inner.stat(written)).toBeDefined()
  })

  it('are unknown when the network failed and the file is not there yet', async () => {
    const inner = new MemoryFileIO()
    await createEvents(open(inner))
    const io = faultyIO(inner, {
      before: (method) => {
        if (method !== 'create') return
        const cause = Object.assign(new Error('the server does not answer'), { code: 'ETIMEDOUT' })
        throw new IcebergError('IO_FAILED', 'Could not write.', { cause })
      },
    })
    await expect(commitTable(open(io), EVENTS, stage(inner))).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    expect(await inner.stat(written)).toBeDefined()
  })
})

describe('hadoop commits of a dead process', () => {
  it("are cleaned up without changes to the rival's commit of the same version", async () => {
    const io = new MemoryFileIO()
    const catalog = open(io)
    await createEvents(catalog)
    const staged = `${METADATA}/v2.metadata.json`
    const overtaken = Object.create(catalog, {
      loadTable: {
        value: async () => {
          const table = await catalog.loadTable(EVENTS)
          await commitTable(open(io), EVENTS, setProperty('rival', 'yes'))
          return table
        },
      },
    })
    const operation = { identifier: EVENTS, operationId: 'op-1', staged: { kind: 'file', location: staged } as const }
    const result = await reconcileOperation({ catalog: overtaken, ...operation })
    expect(result.deletedFiles).toEqual([])
    const { metadataLocation, metadata } = await catalog.loadTable(EVENTS)
    expect(metadataLocation).toBe(staged)
    expect(metadata.properties).toMatchObject({ rival: 'yes' })
  })
})

describe('hadoop folders', () => {
  it('that are tables contain no namespaces', async () => {
    const catalog = open(new MemoryFileIO())
    await createEvents(catalog)
    const inside = catalog.createNamespace(['db', 'events', 'inside'])
    await expect(inside).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(catalog.listTables(['db', 'events'])).rejects.toMatchObject({ code: 'NO_SUCH_NAMESPACE' })
  })

  it('with names that are not valid identifiers are skipped', async () => {
    const io = new MemoryFileIO()
    const catalog = open(io)
    await createEvents(catalog)
    await write(io, '/w/default.db/t/metadata/v1.metadata.json', '{}')
    await write(io, '/w/.hidden/t/metadata/v1.metadata.json', '{}')
    expect(await catalog.listTables()).toEqual([EVENTS])
    expect(await catalog.listNamespaces()).toEqual([['db']])
  })
})

describe.skipIf(!haveFixtures)('hadoop tables of other systems (needs the fixtures)', () => {
  const io = new LocalFileIO()

  it('are listed and loaded, from Spark, Hive, Impala and Flink', async () => {
    const catalog = open(io, join(fixturesRoot, 'impala/hadoop_catalog'))
    const tables = await catalog.listTables()
    expect(tables.length).toBeGreaterThan(25)
    for (const identifier of tables) {
      const table = await catalog.loadTable(identifier)
      expect(table.metadata.tableUuid).toMatch(/^[0-9a-f-]{36}$/)
    }
  })

  it.each([
    ['duckdb-iceberg/iceberg', [], 'lineitem_iceberg_gz', 'v2.gz.metadata.json'],
    ['duckdb-iceberg/iceberg', [], 'lineitem_iceberg_gz_no_hint', 'v2.gz.metadata.json'],
    ['duckdb-iceberg/iceberg', [], 'lineitem_iceberg_no_hint', 'v2.metadata.json'],
    ['duckdb-iceberg/name_mapping', ['warehouse_1', 'mydb'], 't1', 'v7.metadata.json'],
    [
      'duckdb-iceberg/legacy_bare_deletion_vector',
      ['warehouse', 'default'],
      'legacy_bare_deletion_vector',
      '00002-legacy-bare-dv.metadata.json',
    ],
    ['impala', ['iceberg_v3'], 'iceberg_v3_deletion_vectors', 'v3.metadata.json'],
    ['impala', ['iceberg_v3'], 'iceberg_v3_all_types', 'v4.metadata.json'],
  ])('%s %j %s is at %s', async (warehouse, namespace, name, file) => {
    const catalog = open(io, join(fixturesRoot, warehouse))
    const table = await catalog.loadTable({ namespace, name })
    expect(table.metadataLocation.slice(table.metadataLocation.lastIndexOf('/') + 1)).toBe(file)
  })
})
