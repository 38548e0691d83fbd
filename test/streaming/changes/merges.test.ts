import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import type { TableIdentifier } from '../../../src/iceberg/metadata/table.ts'
import { addColumn, dropColumn, renameColumn } from '../../../src/iceberg/update/apply/schema-update.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { findUnreachable } from '../../../src/maintenance/reachable-files.ts'
import { Faults } from '../../maintenance/faults.ts'
import { TABLE } from '../../maintenance/memory-table.ts'
import { RealLake, Workshop } from '../../maintenance/real-lake.ts'
import { everyNth } from '../../support/effort.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'
import { createMirror, drain, openMirror, rowsOf } from './mirror-lab.ts'

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

/** A run that is not whole fails only each n-th call. */
const STEP = 9
const SINK: TableIdentifier = { namespace: ['ns'], name: 'sink' }
const LINK = { source: TABLE, sink: SINK }

/** A lake in which something happens right before the next commit to the sink. */
async function interruptedLake(formatVersion: 2 | 3) {
  const pending: { before?: (() => Promise<void>) | undefined } = {}
  const lake: RealLake = await RealLake.create(shop, {
    formatVersion,
    wrapCatalog: (inner) =>
      new Proxy(inner, {
        get(target, key) {
          const member: unknown = Reflect.get(target, key, target)
          if (key !== 'commit') return typeof member === 'function' ? member.bind(target) : member
          return async (...args: Parameters<typeof inner.commit>) => {
            const { before } = pending
            if (before !== undefined && args[0].name === SINK.name) {
              pending.before = undefined
              await before()
            }
            return target.commit(...args)
          }
        },
      }),
  })
  await lake.append(4, 'eu')
  await createMirror(lake, LINK)
  const session = await openMirror(lake, LINK)
  await drain(session)
  return { lake, pending, session }
}

const OTHER = 'other writer'
const { signal } = new AbortController()

describe.each([2, 3] as const)('a batch that is merged by key into a sink of version %i', (formatVersion) => {
  it('searches again when another writer adds its keys before the commit', async () => {
    const { lake, pending, session } = await interruptedLake(formatVersion)
    await lake.append(3, 'us')
    const added = [6, 99].map((id) => ({ id, region: OTHER }))
    pending.before = () => lake.addTo(SINK, added)
    await drain(session)
    expect(pending.before).toBeUndefined()
    expect(await rowsOf(lake, SINK)).toEqual([...lake.expected(), { id: 99, region: OTHER }])
  })

  it('searches again when a compaction replaces files with its rows before the commit', async () => {
    const { lake, pending, session } = await interruptedLake(formatVersion)
    await lake.append(2, 'us')
    await drain(session)
    await lake.move([1, 5], 'moved')
    const request = { min_input_files: 2 }
    pending.before = async () => {
      const { catalog } = lake
      await runCompaction({ catalog, identifier: SINK, engine: shop.engine, request, operationId: 'op' })
    }
    await drain(session)
    expect(pending.before).toBeUndefined()
    expect(await rowsOf(lake, SINK)).toEqual(lake.expected())
  })

  it('replaces every row with its key when others added some twice', async () => {
    const { lake, session } = await interruptedLake(formatVersion)
    await lake.addTo(
      SINK,
      [1, 1, 2].map((id) => ({ id, region: OTHER })),
    )
    await lake.move([1], 'moved')
    await drain(session)
    const ones = (await rowsOf(lake, SINK)).filter(({ id }) => id === 1)
    expect(ones).toEqual([{ id: 1, region: 'moved' }])
  })

  it('waits when other columns of the sink get the names of its key', async () => {
    const { lake, session } = await interruptedLake(formatVersion)
    const before = await rowsOf(lake, SINK)
    const change = async (
      ...changes: readonly ((metadata: TableMetadata) => ReturnType<typeof addColumn>)[]
    ): Promise<void> => {
      for (const make of changes) {
        await commitTable(lake.catalog, SINK, async ({ metadata }) => ({ ...make(metadata), writtenFiles: [] }))
      }
    }
    await change(
      (metadata) => renameColumn(metadata, { name: 'id', newName: 'old' }),
      (metadata) => addColumn(metadata, { name: 'id', type: { kind: 'long' } }),
    )
    await lake.move([1, 2], 'moved')
    const other = { code: 'INCOMPATIBLE_SCHEMAS', message: expect.stringContaining('another column of the sink') }
    await expect(drain(session)).rejects.toMatchObject(other)
    await expect(drain(await openMirror(lake, LINK))).rejects.toMatchObject(other)
    await change(
      (metadata) => dropColumn(metadata, { name: 'id' }),
      (metadata) => renameColumn(metadata, { name: 'old', newName: 'id' }),
    )
    expect(await rowsOf(lake, SINK)).toEqual(before)
    await drain(await openMirror(lake, LINK))
    expect(await rowsOf(lake, SINK)).toEqual(lake.expected())
  })

  it('searches again when its sink is upgraded to version 3 before the commit', async () => {
    const { lake, pending, session } = await interruptedLake(formatVersion)
    await lake.move([1], 'moved')
    pending.before = async () => {
      await commitTable(lake.catalog, SINK, async () => ({
        requirements: [],
        updates: [{ action: 'upgrade-format-version', 'format-version': 3 }],
        writtenFiles: [],
      }))
    }
    await drain(session)
    expect(pending.before).toBeUndefined()
    await lake.move([1, 2], 'again')
    await drain(session)
    expect(await rowsOf(lake, SINK)).toEqual(lake.expected())
  })

  it('searches again when its sink is rolled back before the commit', async () => {
    const { lake, pending, session } = await interruptedLake(formatVersion)
    await lake.append(2, 'us')
    await drain(session)
    const { metadata } = await lake.catalog.loadTable(SINK)
    const first = metadata.snapshots[0]!.snapshotId
    await lake.move([1], 'moved')
    pending.before = async () => {
      await commitTable(lake.catalog, SINK, async () => ({
        requirements: [],
        updates: [{ action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': first }],
        writtenFiles: [],
      }))
    }
    await drain(session)
    expect(pending.before).toBeUndefined()
    expect((await rowsOf(lake, SINK)).map(({ id }) => id)).toEqual([1, 2, 3, 4])
    expect((await rowsOf(lake, SINK)).find(({ id }) => id === 1)).toEqual({ id: 1, region: 'moved' })
  })

  it('does not go on amid the first rows of a pipeline that appended them', async () => {
    const lake = await RealLake.create(shop, { formatVersion })
    for (let n = 0; n < 3; n += 1) await lake.append(2, 'eu')
    await createMirror(lake, LINK)
    const appending = { ...LINK, maxFiles: 1, write: { mode: 'append' }, read: 'appends' } as const
    await (await openMirror(lake, appending)).step(signal)
    await expect(openMirror(lake, LINK)).rejects.toMatchObject({ code: 'CHECKPOINT_MISMATCH' })
    await drain(await openMirror(lake, appending))
    await lake.move([1], 'moved')
    await drain(await openMirror(lake, LINK))
    expect(await rowsOf(lake, SINK)).toEqual(lake.expected())
  })

  it('finds no row that a batch before has deleted', async () => {
    const { lake, session } = await interruptedLake(formatVersion)
    await lake.move([1], 'moved')
    await drain(session)
    const before = await rowsOf(lake, SINK)
    await lake.deletePositions(0, 1)
    await drain(session)
    const left = new Set((await rowsOf(lake, SINK)).map(({ id }) => id))
    const again = before.filter(({ id }) => !left.has(id))
    expect(again.length).toBeGreaterThan(0)
    await lake.addTo(TABLE, again)
    const step = await session.step(signal)
    const counts = { num_inserted_rows: again.length, num_updated_rows: 0, num_deleted_rows: 0 }
    expect(step).toMatchObject({ progress: { sink: counts } })
    expect(await rowsOf(lake, SINK)).toEqual(before)
  })

  it('searches only files whose bounds have one of its keys', async () => {
    const { lake } = await interruptedLake(formatVersion)
    const searched: number[] = []
    const engine = overriddenEngine(shop.engine, {
      async openRowMerge(task, options) {
        const merge = await shop.engine.openRowMerge(task, options)
        const mergeInto: typeof merge.mergeInto = async (target, more) => {
          const merged = await merge.mergeInto(target, more)
          searched.push(merged.searchedFiles)
          return merged
        }
        return { rows: merge.rows, mergeInto, close: () => merge.close() }
      },
    })
    const session = await openMirror(lake, { ...LINK, engine })
    for (let n = 0; n < 3; n += 1) {
      await lake.append(5, 'us')
      await drain(session)
    }
    await lake.move([6, 8], 'moved')
    await drain(session)
    expect(searched).toEqual([0, 0, 0, 1])
    expect(await rowsOf(lake, SINK)).toEqual(lake.expected())
  })

  it('is in the sink once, and leaves no file, whichever call fails', { timeout: 900_000 }, async () => {
    let failures = 0
    for (let failing = 1; ; failing += 3 * everyNth(STEP)) {
      const faults = new Faults()
      const lake = await RealLake.create(shop, {
        formatVersion,
        wrapIo: (io) => faults.wrap(io, ['read', 'readRange', 'create', 'write', 'stat', 'moveIn']),
        wrapCatalog: (catalog) => faults.wrap(catalog, ['loadTable', 'locateTable', 'commit']),
      })
      await lake.append(4, 'eu')
      await createMirror(lake, LINK)
      await drain(await openMirror(lake, LINK))
      await lake.move([1, 2], 'moved')
      await lake.deletePositions(0, 3)
      await lake.append(2, 'us')
      const engine = overriddenEngine(shop.engine, {
        openRowMerge: async (task, options) =>
          faults.wrap(await shop.engine.openRowMerge(task, options), ['mergeInto']),
      })
      const run = async () => drain(await openMirror(lake, { ...LINK, engine: faults.wrap(engine, ['openRowMerge']) }))
      const { hit, error } = await faults.run(failing, run)
      const hint = `call ${failing} failed`
      if (!isIcebergError(error, 'COMMIT_STATE_UNKNOWN')) {
        const sink = await lake.catalog.loadTable(SINK)
        const files: string[] = []
        for await (const { location } of sink.io.list(`${sink.metadata.location}/data`)) files.push(location)
        expect(await findUnreachable(sink, files), hint).toEqual([])
      }
      await drain(await openMirror(lake, LINK))
      expect(await rowsOf(lake, SINK), hint).toEqual(lake.expected())
      if (!hit) break
      if (error !== undefined) failures += 1
    }
    expect(failures).toBeGreaterThan(Math.floor(8 / everyNth(STEP)))
  })
})
