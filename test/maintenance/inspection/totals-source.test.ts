import { describe, expect, it, onTestFinished } from 'vitest'
import { DecodePool } from '../../../src/maintenance/inspection/totals/decode-pool.ts'
import { createTotalsSource } from '../../../src/maintenance/inspection/totals/totals-source.ts'
import { loadManifests } from '../../../src/iceberg/manifest/cache.ts'
import { readManifestTotals } from '../../../src/iceberg/manifest/totals.ts'
import { currentSnapshot } from '../../../src/iceberg/metadata/metadata.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { partitionType } from '../../../src/iceberg/partitioning/partitioning.ts'
import { BY_REGION, MemoryTable } from '../memory-table.ts'

/** Node 20 runs no TypeScript in threads; the package has JavaScript there. */
const hasThreads = 'Bun' in globalThis || Number(process.versions.node.split('.')[0]) >= 24
if (!hasThreads) console.warn('skipped: this runtime runs no TypeScript in threads')

/** Of three files of 1,000, 1,001 and 1,002 bytes: the last row group is smallest, the first is, and there are none. */
const OFFSETS = [[4, 900], [4, 100], []]
const SMALLEST = new Float64Array([100, 96, 1002])

async function makeTable(): Promise<Table> {
  const table = await MemoryTable.create({ partitionSpec: BY_REGION })
  const files = ['eu', 'us', null].map((region, at) =>
    table.file({ partition: [region], fileSizeInBytes: 1000 + at, recordCount: at, splitOffsets: OFFSETS[at] ?? [] }),
  )
  await table.append(await Promise.all(files))
  return table.load()
}

async function firstManifest(table: Table) {
  const snapshot = currentSnapshot(table.metadata)
  const [manifest] = snapshot === undefined ? [] : await loadManifests(table, snapshot)
  if (manifest === undefined) throw new Error('the table has no manifest')
  const types = partitionType(BY_REGION, table.metadata.schemas)
  const bytes = new Uint8Array(await table.io.read(manifest.manifestPath))
  return { manifest, bytes, partitioning: { spec: BY_REGION, types } }
}

function pool(script?: URL): DecodePool {
  const made = new DecodePool(script, 2)
  onTestFinished(() => made.close())
  return made
}

describe.skipIf(!hasThreads)('decoding in threads', () => {
  it('a thread reads the same totals as this process, and leaves the bytes alone', async () => {
    const { bytes, manifest, partitioning } = await firstManifest(await makeTable())
    const threads = pool()
    const expected = readManifestTotals(bytes, { manifest, partitioning })
    expect(expected.smallestRowGroups).toEqual(SMALLEST)
    const found = await Promise.all([1, 2, 3].map(() => threads.decode({ bytes, manifest, partitioning })))
    for (const totals of found) expect(totals).toEqual(expected)
    expect(bytes.byteLength).toBe(manifest.manifestLength)
  })

  it('a damaged manifest is the same error from a thread', async () => {
    const { bytes, manifest, partitioning } = await firstManifest(await makeTable())
    const damaged = bytes.slice(0, -1)
    const error = { code: 'CORRUPT_FILE', message: expect.stringContaining('truncated') as string }
    await expect(pool().decode({ bytes: damaged, manifest, partitioning })).rejects.toMatchObject(error)
  })
})

it('a source reads manifests itself when threads cannot start', async () => {
  const threads = pool(new URL('data:text/javascript,throw new Error("no")'))
  const { bytes, manifest, partitioning } = await firstManifest(await makeTable())
  await expect(threads.decode({ bytes, manifest, partitioning })).rejects.toThrow()
  expect(threads.isUsable).toBe(false)
  const [counted] = await createTotalsSource({ pool: threads }).read(await makeTable())
  expect(counted?.totals.dataFiles.count).toBe(3)
})

it('requests at the same time share one read', async () => {
  const table = await makeTable()
  const source = createTotalsSource({ pool: null })
  const [first, second] = await Promise.all([source.read(table), source.read(table)])
  expect(first).toBe(second)
})
