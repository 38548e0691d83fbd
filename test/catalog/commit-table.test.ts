import { describe, expect, it } from 'vitest'

import type { Catalog } from '../../src/catalog/catalog.ts'
import { commitTable } from '../../src/catalog/commit-table.ts'
import { createMemoryCatalog } from '../../src/catalog/memory-catalog.ts'
import { IcebergError } from '../../src/iceberg/errors.ts'
import { MemoryFileIO } from '../../src/iceberg/io/memory.ts'
import { createEvents, EVENTS, setProperty } from './support-files.ts'

const QUICK = { minWaitMs: 1, maxWaitMs: 2 }

interface Setup {
  readonly io: MemoryFileIO
  readonly catalog: Catalog
}

async function setup(properties: Readonly<Record<string, string>> = {}): Promise<Setup> {
  const io = new MemoryFileIO()
  const catalog = createMemoryCatalog({ name: 'test', warehouse: 'mem://w', io })
  await createEvents(catalog, properties)
  return { io, catalog }
}

/** Stages a property and one file per attempt, and lets a rival win the first `lost` attempts. */
function stageAgainstRivals({ io, catalog }: Setup, lost: number) {
  const files: string[] = []
  const bases: string[] = []
  return {
    files,
    bases,
    stage: async (table: Awaited<ReturnType<Catalog['loadTable']>>) => {
      bases.push(table.metadataLocation)
      const file = `mem://w/attempt-${files.length}.avro`
      await io.create(file, new Uint8Array([1]))
      files.push(file)
      const rival = setProperty('rival', `${files.length}`)
      const requirement = { type: 'assert-current-schema-id', 'current-schema-id': 0 } as const
      const change = await setProperty('mine', 'yes')(table)
      const impossible = { type: 'assert-current-schema-id', 'current-schema-id': 99 } as const
      if (files.length <= lost) await catalog.commit(EVENTS, await rival(table))
      const requirements = [files.length <= lost ? impossible : requirement]
      return { ...change, requirements, writtenFiles: [file] }
    },
  }
}

describe('commitTable', () => {
  it('stages again on the fresh table after each conflict and keeps only the files that count', async () => {
    const { io, catalog } = await setup()
    const rivals = stageAgainstRivals({ io, catalog }, 3)
    const { table, attempts } = await commitTable(catalog, EVENTS, rivals.stage, { retries: QUICK })
    expect(attempts).toBe(4)
    expect(new Set(rivals.bases).size).toBe(4)
    expect(table.metadata.properties).toMatchObject({ mine: 'yes', rival: '3' })
    const kept = await Promise.all(rivals.files.map((file) => io.stat(file)))
    expect(kept.map((status) => status !== undefined)).toEqual([false, false, false, true])
  })

  it('gives up after the retries that the table allows', async () => {
    const { io, catalog } = await setup({ 'commit.retry.num-retries': '2', 'commit.retry.min-wait-ms': '1' })
    const rivals = stageAgainstRivals({ io, catalog }, 99)
    const commit = commitTable(catalog, EVENTS, rivals.stage)
    await expect(commit).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    expect(rivals.files).toHaveLength(3)
    for (const file of rivals.files) expect(await io.stat(file)).toBeUndefined()
    expect((await catalog.loadTable(EVENTS)).metadata.properties).not.toHaveProperty('mine')
  })

  it('takes odd retry properties for the defaults', async () => {
    const { io, catalog } = await setup({ 'commit.retry.num-retries': 'many', 'commit.retry.min-wait-ms': '-5' })
    const rivals = stageAgainstRivals({ io, catalog }, 99)
    await expect(commitTable(catalog, EVENTS, rivals.stage, { retries: QUICK })).rejects.toThrow()
    expect(rivals.files).toHaveLength(5)
  })

  it('gives up when the time is over', async () => {
    const { io, catalog } = await setup()
    const rivals = stageAgainstRivals({ io, catalog }, 99)
    const retries = { count: 1000, minWaitMs: 20, maxWaitMs: 20, totalTimeoutMs: 100 }
    await expect(commitTable(catalog, EVENTS, rivals.stage, { retries })).rejects.toMatchObject({
      code: 'COMMIT_CONFLICT',
    })
    expect(rivals.files.length).toBeGreaterThan(1)
    expect(rivals.files.length).toBeLessThan(15)
  })

  it('does not try again what is no conflict, and removes the files', async () => {
    const { io, catalog } = await setup()
    let stagings = 0
    const commit = commitTable(catalog, EVENTS, async () => {
      stagings += 1
      await io.create('mem://w/a.avro', new Uint8Array())
      return {
        requirements: [],
        updates: [{ action: 'set-current-schema', 'schema-id': 99 }],
        writtenFiles: ['mem://w/a.avro'],
      }
    })
    await expect(commit).rejects.toMatchObject({ name: 'IcebergError' })
    expect(stagings).toBe(1)
    expect(await io.stat('mem://w/a.avro')).toBeUndefined()
  })

  it.each([new IcebergError('COMMIT_STATE_UNKNOWN', 'unknown'), new TypeError('a bug')])(
    'keeps the files when the outcome is not certain: %s',
    async (error) => {
      const { io, catalog } = await setup()
      const doubtful: Catalog = {
        ...bound(catalog),
        commit: async () => {
          throw error
        },
      }
      const rivals = stageAgainstRivals({ io, catalog }, 0)
      await expect(commitTable(doubtful, EVENTS, rivals.stage, { retries: QUICK })).rejects.toBe(error)
      expect(rivals.files).toHaveLength(1)
      expect(await io.stat('mem://w/attempt-0.avro')).toBeDefined()
    },
  )

  it('passes on what staging throws', async () => {
    const { catalog } = await setup()
    const error = new IcebergError('NO_SUCH_COLUMN', 'There is no column x.')
    await expect(commitTable(catalog, EVENTS, () => Promise.reject(error))).rejects.toBe(error)
  })

  it('stops when it is cancelled: before, while staging, and while waiting', async () => {
    const { io, catalog } = await setup()
    const before = (await catalog.loadTable(EVENTS)).metadataLocation
    const cancelled = { code: 'CANCELLED' }
    const early = commitTable(catalog, EVENTS, setProperty('a', '1'), { signal: AbortSignal.abort() })
    await expect(early).rejects.toMatchObject(cancelled)

    const whileStaging = new AbortController()
    const rivals = stageAgainstRivals({ io, catalog }, 0)
    const staging = commitTable(
      catalog,
      EVENTS,
      async (table) => {
        const change = await rivals.stage(table)
        whileStaging.abort()
        return change
      },
      { signal: whileStaging.signal },
    )
    await expect(staging).rejects.toMatchObject(cancelled)
    expect(await io.stat('mem://w/attempt-0.avro')).toBeUndefined()
    expect((await catalog.loadTable(EVENTS)).metadataLocation).toBe(before)

    const whileWaiting = new AbortController()
    const started = performance.now()
    const waiting = commitTable(
      catalog,
      EVENTS,
      async (table) => ({ ...(await setProperty('a', '1')(table)), requirements: [{ type: 'assert-create' }] }),
      { signal: whileWaiting.signal, retries: { minWaitMs: 60_000 } },
    )
    setTimeout(() => whileWaiting.abort(), 20)
    await expect(waiting).rejects.toMatchObject(cancelled)
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})

/** The catalog's methods as properties, so that one can be replaced. */
function bound(catalog: Catalog): Catalog {
  return {
    name: catalog.name,
    warehouse: catalog.warehouse,
    ping: () => catalog.ping(),
    createNamespace: (namespace) => catalog.createNamespace(namespace),
    listNamespaces: () => catalog.listNamespaces(),
    listTables: (namespace) => catalog.listTables(namespace),
    loadTable: (identifier) => catalog.loadTable(identifier),
    createTable: (identifier, options) => catalog.createTable(identifier, options),
    registerTable: (identifier, location) => catalog.registerTable(identifier, location),
    dropTable: (identifier) => catalog.dropTable(identifier),
    commit: (identifier, request) => catalog.commit(identifier, request),
    close: () => catalog.close(),
  }
}
