import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LocalFileIO } from '../../src/iceberg/io/local.ts'
import { loadEntries, loadManifests } from '../../src/iceberg/manifest/cache.ts'
import type { DataFile, ManifestFile } from '../../src/iceberg/manifest/manifest.ts'
import { currentSnapshot } from '../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../src/iceberg/scan/scan.ts'
import { stageAppend } from '../../src/iceberg/update/stage/stage-append.ts'
import { stageRewrite } from '../../src/iceberg/update/stage/stage-rewrite.ts'
import { stageRowDelta } from '../../src/iceberg/update/stage/stage-row-delta.ts'
import { byPart, TableFixture } from '../support/table-fixture.ts'
import { pyicebergAvailable } from './harness/environment.ts'
import { runPython } from './harness/python.ts'

interface Found {
  readonly entries: readonly unknown[]
  readonly files: readonly { readonly content: number; readonly path: string; readonly records: number }[]
  readonly manifests: readonly Record<string, unknown>[]
  readonly planned: Readonly<Record<string, readonly string[]>>
}

const STATUS = { existing: 0, added: 1, deleted: 2 } as const
const CONTENT = { data: 0, 'position-deletes': 1, 'equality-deletes': 2 } as const

/** PyIceberg's inspection requires every kind of metrics. */
const METRICS: Partial<DataFile> = {
  columnSizes: new Map([[1, 40]]),
  valueCounts: new Map([[1, 100]]),
  nullValueCounts: new Map([[1, 0]]),
  nanValueCounts: new Map(),
  lowerBounds: new Map([[1, new Uint8Array([1, 0, 0, 0, 0, 0, 0, 0])]]),
  upperBounds: new Map([[1, new Uint8Array([9, 0, 0, 0, 0, 0, 0, 0])]]),
  splitOffsets: [4],
}

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lockhouse-staged-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function manifestsOf(t: TableFixture): Promise<readonly ManifestFile[]> {
  const snapshot = currentSnapshot(t.table.metadata)
  return snapshot === undefined ? [] : loadManifests(t.table, snapshot)
}

/** Our own scan result, in the format of PyIceberg. */
async function ownEntries(t: TableFixture): Promise<readonly unknown[]> {
  const found = []
  for (const manifest of await manifestsOf(t)) {
    for (const { status, snapshotId, sequenceNumber, fileSequenceNumber, dataFile } of await loadEntries(
      t.table,
      manifest,
    )) {
      found.push({
        status: STATUS[status],
        snapshot_id: snapshotId.toString(),
        sequence_number: sequenceNumber,
        file_sequence_number: fileSequenceNumber,
        content: CONTENT[dataFile.content],
        path: dataFile.filePath,
        partition: { part: dataFile.partition[0] ?? null },
        records: dataFile.recordCount,
      })
    }
  }
  return found
}

async function compare(t: TableFixture): Promise<Found> {
  const found = await runPython<Found>('pyiceberg_entries.py', { metadata: t.table.metadataLocation })
  expect(found.entries).toEqual(await ownEntries(t))
  const manifests = await manifestsOf(t)
  expect(found.manifests).toMatchObject(
    manifests.map((manifest) => ({
      path: manifest.manifestPath,
      length: manifest.manifestLength,
      spec: manifest.partitionSpecId,
      content: manifest.content === 'data' ? 0 : 1,
      added: manifest.addedFilesCount,
      existing: manifest.existingFilesCount,
      deleted: manifest.deletedFilesCount,
    })),
  )
  return found
}

describe.skipIf(!pyicebergAvailable('staged metadata'))('PyIceberg reads metadata staged by the service', () => {
  it('through appends, upserts, position deletes and a rewrite', async () => {
    const io = new LocalFileIO()
    const t = await TableFixture.create({ partitionSpec: byPart, io, location: `file://${folder}/v2` })
    const files: DataFile[] = []
    for (const part of [1, 1, 2, null]) files.push(await t.dataFile([part], METRICS))
    await t.commit((table) => stageAppend(table, { files, operationId: 'append' }))
    await compare(t)
    const [a, b, c] = files
    if (a === undefined || b === undefined || c === undefined) throw new Error('no files')
    const start = currentSnapshot(t.table.metadata)
    if (start === undefined) throw new Error('no snapshot')
    const late = await t.dataFile([1], METRICS)
    const equality = await t.equalityDeletes([1], METRICS)
    const upsert = { dataFiles: [late], deleteFiles: [equality], operationId: 'upsert' }
    await t.commit((table) => stageRowDelta(table, upsert))
    const position = await t.positionDeletes([2], METRICS)
    await t.commit((table) => stageRowDelta(table, { dataFiles: [], deleteFiles: [position], operationId: 'delete' }))
    await compare(t)
    const merged = await t.dataFile([1], { ...METRICS, recordCount: 200 })
    const rewrite = {
      startingSnapshotId: start.snapshotId,
      startingSequenceNumber: start.sequenceNumber,
      replaced: [a, b],
      added: [merged],
      operationId: 'rewrite',
    }
    await t.commit((table) => stageRewrite(table, rewrite))
    const found = await compare(t)
    const live = await planFiles(t.table)
    expect(found.files.map((file) => file.path).toSorted()).toEqual(
      [...live.map((task) => task.dataFile.filePath), equality.filePath, position.filePath].toSorted(),
    )
  })

  it('through appends and deletes by position, with the same scan plan as ours', async () => {
    const io = new LocalFileIO()
    const t = await TableFixture.create({ partitionSpec: byPart, io, location: `file://${folder}/position` })
    const files: DataFile[] = []
    for (const part of [1, 1, 2]) files.push(await t.dataFile([part], METRICS))
    await t.commit((table) => stageAppend(table, { files, operationId: 'append' }))
    for (const part of [1, 2]) {
      const deleteFiles = [await t.positionDeletes([part], METRICS)]
      await t.commit((table) => stageRowDelta(table, { dataFiles: [], deleteFiles, operationId: 'delete' }))
      const more = [await t.dataFile([part], METRICS)]
      await t.commit((table) => stageAppend(table, { files: more, operationId: 'append' }))
    }
    const found = await compare(t)
    const planned = (await planFiles(t.table)).map(({ dataFile, deletes }) => [
      dataFile.filePath,
      deletes.map((ref) => ref.file.filePath).toSorted(),
    ])
    expect(found.planned).toEqual(Object.fromEntries(planned))
  })
})
