import { beforeEach, describe, expect, it } from 'vitest'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { loadManifests } from '../../../src/iceberg/manifest/cache.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { currentSnapshot } from '../../../src/iceberg/metadata/metadata.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { planExpiry } from '../../../src/iceberg/update/expire-snapshots.ts'
import { filesOnlyReachableFrom } from '../../../src/iceberg/update/reachability.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { stageRewrite } from '../../../src/iceberg/update/stage/stage-rewrite.ts'
import { stageRowDelta } from '../../../src/iceberg/update/stage/stage-row-delta.ts'
import { TableFixture } from '../../support/table-fixture.ts'

const NOTHING = {
  dataFiles: [],
  positionDeleteFiles: [],
  equalityDeleteFiles: [],
  manifests: [],
  manifestLists: [],
  statisticsFiles: [],
  foreignFiles: [],
  unreadSnapshots: [],
  perhapsNeeded: [],
}

async function append(t: TableFixture, ...files: DataFile[]): Promise<void> {
  await t.commit((table) => stageAppend(table, { files, operationId: 'a', now: t.now }))
}

async function rewrite(t: TableFixture, replaced: readonly DataFile[], added: readonly DataFile[]): Promise<void> {
  const start = currentSnapshot(t.table.metadata)
  if (start === undefined) throw new Error('no snapshot')
  const starting = { startingSnapshotId: start.snapshotId, startingSequenceNumber: start.sequenceNumber }
  const read = await t.scanned(...replaced)
  await t.commit((table) => stageRewrite(table, { ...starting, replaced: read, added, operationId: 'r', now: t.now }))
}

async function expireAll(t: TableFixture): Promise<Table> {
  const before = t.table
  const plan = planExpiry(before.metadata, { nowMs: t.nowMs, olderThanMs: t.nowMs + 1 })
  await t.commitStaged({ ...plan, writtenFiles: [] })
  return before
}

async function tag(t: TableFixture, name: string): Promise<void> {
  const id = t.table.metadata.currentSnapshotId
  if (id === undefined) throw new Error('no snapshot')
  await t.update([{ action: 'set-snapshot-ref', 'ref-name': name, type: 'tag', 'snapshot-id': id }])
}

async function manifestPaths(table: Table): Promise<string[]> {
  const lists = await Promise.all(table.metadata.snapshots.map((snapshot) => loadManifests(table, snapshot)))
  return [...new Set(lists.flat().map((manifest) => manifest.manifestPath))]
}

describe('filesOnlyReachableFrom', () => {
  let t: TableFixture
  let a: DataFile
  let b: DataFile

  beforeEach(async () => {
    t = await TableFixture.create()
    a = await t.dataFile()
    b = await t.dataFile()
    await append(t, a)
    await append(t, b)
  })

  it('finds nothing when nothing was removed', async () => {
    expect(await filesOnlyReachableFrom(t.table, t.table)).toEqual(NOTHING)
  })

  it('finds only manifest lists after appends', async () => {
    const before = await expireAll(t)
    const [first] = before.metadata.snapshots
    expect(await filesOnlyReachableFrom(before, t.table)).toEqual({ ...NOTHING, manifestLists: [first?.manifestList] })
  })

  it('finds replaced files and dropped deletes by kind', async () => {
    const position = await t.positionDeletes([], { referencedDataFile: a.filePath })
    const equality = await t.equalityDeletes()
    const delta = { dataFiles: [], deleteFiles: [position, equality], operationId: 'd', now: t.now }
    await t.commit((table) => stageRowDelta(table, delta))
    await rewrite(t, [a, b], [await t.dataFile([], { recordCount: 190 })])
    const before = await expireAll(t)
    const files = await filesOnlyReachableFrom(before, t.table)
    const kept = new Set(await manifestPaths(t.table))
    expect(files.dataFiles.toSorted()).toEqual([a.filePath, b.filePath])
    expect(files.positionDeleteFiles).toEqual([position.filePath])
    expect(files.equalityDeleteFiles).toEqual([equality.filePath])
    expect(files.manifestLists).toEqual(before.metadata.snapshots.slice(0, 3).map((s) => s.manifestList))
    expect(files.manifests.toSorted()).toEqual((await manifestPaths(before)).filter((p) => !kept.has(p)).toSorted())
    expect(files.manifests.length).toBeGreaterThan(0)
  })

  it('keeps files that a tag still reads, although main deleted them', async () => {
    await tag(t, 'keep')
    await rewrite(t, [a, b], [await t.dataFile([], { recordCount: 200 })])
    await append(t, await t.dataFile())
    const before = await expireAll(t)
    const files = await filesOnlyReachableFrom(before, t.table)
    expect(before.metadata.snapshots.length - t.table.metadata.snapshots.length).toBe(2)
    expect(files.dataFiles).toEqual([])
    expect(files.manifests).toEqual([])
  })

  it('keeps a live file that another manifest lists, under any spelling of its location', async () => {
    await rewrite(t, [b], [await t.dataFile()])
    const again = { ...b, filePath: b.filePath.replace('mem:', 'MEM://host') }
    await append(t, again)
    const before = await expireAll(t)
    const files = await filesOnlyReachableFrom(before, t.table)
    expect(files.manifests.length).toBeGreaterThan(0)
    expect(files.dataFiles).toEqual([])
  })

  it('keeps a Puffin file while one of its vectors is live', async () => {
    const v3 = await TableFixture.create({ formatVersion: 3 })
    const one = await v3.dataFile()
    const two = await v3.dataFile()
    await append(v3, one, two)
    const ofOne = await v3.deletionVector(one)
    const ofTwo = await v3.deletionVector(two, { filePath: ofOne.filePath, contentOffset: 44 })
    const delta = { dataFiles: [], deleteFiles: [ofOne, ofTwo], operationId: 'd', now: v3.now }
    await v3.commit((table) => stageRowDelta(table, delta))
    await rewrite(v3, [one], [await v3.dataFile([], { recordCount: 98 })])
    const files = await filesOnlyReachableFrom(await expireAll(v3), v3.table)
    expect(files).toMatchObject({ dataFiles: [one.filePath], positionDeleteFiles: [] })
    await rewrite(v3, [two], [await v3.dataFile([], { recordCount: 98 })])
    const later = await filesOnlyReachableFrom(await expireAll(v3), v3.table)
    expect(later).toMatchObject({ dataFiles: [two.filePath], positionDeleteFiles: [ofOne.filePath] })
  })

  it('reports files outside the table instead of listing them for deletion', async () => {
    const imported = await t.dataFile([], { filePath: 'mem:/hive/warehouse/old.parquet' })
    const sneaky = await t.dataFile([], { filePath: 'mem:/warehouse/t/data/../../u/x.parquet' })
    await append(t, imported, sneaky)
    await rewrite(t, [imported, sneaky], [await t.dataFile([], { recordCount: 200 })])
    const files = await filesOnlyReachableFrom(await expireAll(t), t.table)
    expect(files.dataFiles).toEqual([])
    expect(files.foreignFiles.toSorted()).toEqual([imported.filePath, sneaky.filePath].toSorted())
  })

  it('finds statistics that are no longer named, unless another snapshot names the same file', async () => {
    const [first, second] = t.table.metadata.snapshots
    const withStats = (paths: readonly (readonly [bigint | undefined, string])[]): Table => ({
      ...t.table,
      metadata: {
        ...t.table.metadata,
        statistics: paths.map(([id, statisticsPath]) => ({ snapshotId: id ?? 0n, statisticsPath, fileSizeInBytes: 1 })),
      },
    })
    const folder = 'mem:/warehouse/t/metadata'
    const before = withStats([
      [first?.snapshotId, `${folder}/1.stats`],
      [second?.snapshotId, `${folder}/2.stats`],
    ])
    const after = withStats([[second?.snapshotId, `${folder}/2.stats`]])
    expect(await filesOnlyReachableFrom(before, after)).toEqual({ ...NOTHING, statisticsFiles: [`${folder}/1.stats`] })
    const shared = withStats([
      [second?.snapshotId, `${folder}/1.stats`],
      [second?.snapshotId, `${folder}/2.stats`],
    ])
    expect(await filesOnlyReachableFrom(before, shared)).toEqual(NOTHING)
  })

  it.each(['manifest list', 'manifest'] as const)(
    'keeps what a kept snapshot may need when its %s is missing',
    async (what) => {
      await tag(t, 'keep')
      const shortLived = await t.dataFile()
      await rewrite(t, [b], [shortLived])
      await rewrite(t, [shortLived], [await t.dataFile()])
      const before = await expireAll(t)
      const whole = await filesOnlyReachableFrom(before, t.table)
      expect(whole.dataFiles).toEqual([shortLived.filePath])
      const tagged = t.table.metadata.snapshots[0]
      const [manifest] = tagged === undefined ? [] : await loadManifests(t.table, tagged)
      const location = what === 'manifest' ? manifest?.manifestPath : tagged?.manifestList
      if (location === undefined) throw new Error('no location')
      await t.io.delete(location)
      const files = await filesOnlyReachableFrom(before, t.table)
      expect(files).toMatchObject({ dataFiles: [], manifests: [], manifestLists: whole.manifestLists })
      expect(files.perhapsNeeded).toEqual(expect.arrayContaining([...whole.manifests]))
      expect(files.unreadSnapshots).toMatchObject([{ snapshotId: tagged?.snapshotId, isKept: true }])
      expect(files.unreadSnapshots[0]?.reason).toContain(location)
    },
  )

  it.each(['manifest list', 'manifest'] as const)(
    'does not delete files that only a missing %s of an expired snapshot listed',
    async (what) => {
      const shortLived = await t.dataFile()
      await rewrite(t, [b], [shortLived])
      const other = await t.dataFile()
      await rewrite(t, [shortLived], [other])
      await rewrite(t, [other], [await t.dataFile()])
      const broken = t.table.metadata.snapshots[2]
      if (broken?.manifestList === undefined) throw new Error('no list')
      const manifests = await loadManifests(t.table, broken)
      const own = manifests.find((manifest) => manifest.addedSnapshotId === broken.snapshotId)
      const location = what === 'manifest' ? own?.manifestPath : broken.manifestList
      await t.io.delete(location ?? '')
      const before = await expireAll(t)
      const files = await filesOnlyReachableFrom(before, t.table)
      expect(files.dataFiles).toContain(other.filePath)
      expect(files.dataFiles).not.toContain(a.filePath)
      expect(files.unreadSnapshots.map(({ isKept }) => isKept)).toContain(false)
      expect([...files.manifests, ...files.manifestLists]).not.toContain(location)
      expect(files.perhapsNeeded).toEqual([])
    },
  )

  it('fails when a file cannot be read for a temporary reason', async () => {
    await rewrite(t, [b], [await t.dataFile()])
    const before = await expireAll(t)
    const list = before.metadata.snapshots[0]?.manifestList
    const down = new IcebergError('IO_FAILED', 'the store does not answer')
    const read = t.io.read.bind(t.io)
    t.io.read = async (location) => {
      if (location === list) throw down
      return read(location)
    }
    await expect(filesOnlyReachableFrom(before, t.table)).rejects.toBe(down)
  })

  it('refuses other tables and tables without garbage collection', async () => {
    const other = await TableFixture.create()
    const attempt = filesOnlyReachableFrom(t.table, other.table)
    await expect(attempt).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    const before = await expireAll(t)
    await t.update([{ action: 'set-properties', updates: { 'gc.enabled': 'false' } }])
    await expect(filesOnlyReachableFrom(before, t.table)).rejects.toMatchObject({ code: 'GC_DISABLED' })
  })
})
