import { describe, expect, it } from 'vitest'

import type { Catalog } from '../../src/catalog/catalog.ts'
import type { CommitOutcome } from '../../src/catalog/commit-outcome.ts'
import { commitTable, tryCommitTable } from '../../src/catalog/commit-table.ts'
import { createMemoryCatalog } from '../../src/catalog/memory/catalog.ts'
import { IcebergError } from '../../src/iceberg/errors.ts'
import type { Table } from '../../src/iceberg/metadata/table.ts'
import { MemoryFileIO } from '../../src/iceberg/io/memory.ts'
import { commitOnce, createEvents, EVENTS, setProperty } from './support-files.ts'
import { later } from '../support/waiting.ts'

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

/** Stages a property and one file per attempt, and lets a rival commit first in the first `lost` attempts. */
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
      if (files.length <= lost) await commitOnce(catalog, EVENTS, await rival(table))
      const requirements = [files.length <= lost ? impossible : requirement]
      return { ...change, requirements, writtenFiles: [file] }
    },
  }
}

describe('commitTable', () => {
  it('stages again on the fresh table after each conflict and keeps only the files of the committed attempt', async () => {
    const { io, catalog } = await setup()
    const rivals = stageAgainstRivals({ io, catalog }, 3)
    const { table, attempts } = await commitTable(catalog, EVENTS, rivals.stage, { retries: QUICK })
    expect(attempts).toBe(4)
    expect(new Set(rivals.bases).size).toBe(4)
    expect(table.metadata.properties).toMatchObject({ mine: 'yes', rival: '3' })
    const kept = await Promise.all(rivals.files.map((file) => io.stat(file)))
    expect(kept.map((status) => status !== undefined)).toEqual([false, false, false, true])
  })

  it('gives up after the number of retries that the table allows', async () => {
    const { io, catalog } = await setup({ 'commit.retry.num-retries': '2', 'commit.retry.min-wait-ms': '1' })
    const rivals = stageAgainstRivals({ io, catalog }, 99)
    const commit = commitTable(catalog, EVENTS, rivals.stage)
    await expect(commit).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    expect(rivals.files).toHaveLength(3)
    for (const file of rivals.files) expect(await io.stat(file)).toBeUndefined()
    expect((await catalog.loadTable(EVENTS)).metadata.properties).not.toHaveProperty('mine')
  })

  it('replaces invalid retry properties by the defaults', async () => {
    const { io, catalog } = await setup({ 'commit.retry.num-retries': 'many', 'commit.retry.min-wait-ms': '-5' })
    const rivals = stageAgainstRivals({ io, catalog }, 99)
    await expect(commitTable(catalog, EVENTS, rivals.stage, { retries: QUICK })).rejects.toThrow()
    expect(rivals.files).toHaveLength(5)
  })

  it('repeats as often as the caller wishes where the table says nothing', async () => {
    const defaultRetries = { count: 12, minWaitMs: 1, maxWaitMs: 2 }
    const silent = await setup()
    const tenth = stageAgainstRivals(silent, 10)
    expect((await commitTable(silent.catalog, EVENTS, tenth.stage, { defaultRetries })).attempts).toBe(11)
    const strict = await setup({ 'commit.retry.num-retries': '2' })
    const rivals = stageAgainstRivals(strict, 99)
    await expect(commitTable(strict.catalog, EVENTS, rivals.stage, { defaultRetries })).rejects.toThrow()
    expect(rivals.files).toHaveLength(3)
  })

  it('gives up when the time limit is reached', async () => {
    const { io, catalog } = await setup()
    const rivals = stageAgainstRivals({ io, catalog }, 99)
    const retries = { count: 1000, minWaitMs: 20, maxWaitMs: 20, totalTimeoutMs: 100 }
    await expect(commitTable(catalog, EVENTS, rivals.stage, { retries })).rejects.toMatchObject({
      code: 'COMMIT_CONFLICT',
    })
    expect(rivals.files.length).toBeGreaterThan(1)
    expect(rivals.files.length).toBeLessThan(15)
  })

  it('does not retry other errors than conflicts, and removes the files', async () => {
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

  const lost = new IcebergError('COMMIT_STATE_UNKNOWN', 'unknown')

  it.each<[string, () => Promise<CommitOutcome>]>([
    ['is unknown', async () => ({ kind: 'unknown', error: lost })],
    ['throws an error of the catalog', () => Promise.reject(new IcebergError('IO_FAILED', 'disk'))],
    ['throws a conflict', () => Promise.reject(new IcebergError('COMMIT_CONFLICT', 'late'))],
    ['throws an unexpected error', () => Promise.reject(new TypeError('a bug'))],
  ])('keeps the files and does not retry when the commit %s', async (_, commit) => {
    const { io, catalog } = await setup()
    const rivals = stageAgainstRivals({ io, catalog }, 0)
    const committing = commitTable({ ...bound(catalog), commit }, EVENTS, rivals.stage, { retries: QUICK })
    await expect(committing).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    expect(rivals.files).toHaveLength(1)
    expect(await io.stat('mem://w/attempt-0.avro')).toBeDefined()
  })

  it('returns the staged result of the committed attempt', async () => {
    const { io, catalog } = await setup()
    const rivals = stageAgainstRivals({ io, catalog }, 2)
    const { staged, attempts } = await commitTable(catalog, EVENTS, rivals.stage, { retries: QUICK })
    expect(attempts).toBe(3)
    expect(staged.writtenFiles).toEqual(['mem://w/attempt-2.avro'])
  })

  it('skips the load when the table is still current, and loads it otherwise', async () => {
    const { catalog } = await setup()
    let loads = 0
    const counting: Catalog = {
      ...bound(catalog),
      locateTable: async (identifier) => (await catalog.locateTable?.(identifier)) ?? '',
      loadTable: (identifier) => {
        loads += 1
        return catalog.loadTable(identifier)
      },
    }
    const loaded = await catalog.loadTable(EVENTS)
    await commitTable(counting, EVENTS, setProperty('a', '1'), { loaded })
    expect(loads).toBe(0)
    const bases: string[] = []
    const stage = async (table: Table) => {
      bases.push(table.metadataLocation)
      return setProperty('b', '2')(table)
    }
    const { table } = await commitTable(counting, EVENTS, stage, { loaded })
    expect(loads).toBe(1)
    expect(bases).toEqual([table.metadata.metadataLog.at(-1)?.metadataFile])
    expect(table.metadata.properties).toMatchObject({ a: '1', b: '2' })
  })

  it('refuses a change that is cancelled or not confirmed between the metadata file and the swap', async () => {
    const { io, catalog } = await setup()
    const before = await catalog.loadTable(EVENTS)
    const cancelled = new AbortController()
    const lost = new TypeError('the lease has expired')
    const endings = [
      { confirm: async () => Promise.reject(lost), error: lost },
      { signal: cancelled.signal, error: { code: 'CANCELLED' } },
    ]
    for (const { error, ...options } of endings) {
      await io.write('mem://w/a.avro', new Uint8Array())
      const staging = async (table: Table) => ({
        ...(await setProperty('a', '1')(table)),
        writtenFiles: ['mem://w/a.avro'],
      })
      const onStaged = async (): Promise<void> => {
        if ('signal' in options) cancelled.abort()
      }
      const outcome = await tryCommitTable(catalog, EVENTS, staging, { ...options, onStaged })
      expect(outcome.kind).toBe('refused')
      expect('error' in outcome && outcome.error).toMatchObject(error)
      expect(await io.stat('mem://w/a.avro')).toBeUndefined()
    }
    expect((await catalog.loadTable(EVENTS)).metadataLocation).toBe(before.metadataLocation)
  })

  it('forwards errors from staging', async () => {
    const { catalog } = await setup()
    const error = new IcebergError('NO_SUCH_COLUMN', 'There is no column x.')
    await expect(commitTable(catalog, EVENTS, () => Promise.reject(error))).rejects.toBe(error)
  })

  it('stops when it is cancelled: before staging, while staging, and while waiting', async () => {
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
    later(20, () => whileWaiting.abort())
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
