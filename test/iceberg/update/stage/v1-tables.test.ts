import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MemoryFileIO } from '../../../../src/iceberg/io/memory.ts'
import { loadEntries, loadManifests } from '../../../../src/iceberg/manifest/cache.ts'
import {
  currentSnapshot,
  parseTableMetadata,
  serializeTableMetadata,
} from '../../../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../../../src/iceberg/scan/scan.ts'
import type { Table } from '../../../../src/iceberg/metadata/table.ts'
import { applyUpdates } from '../../../../src/iceberg/update/apply/apply-updates.ts'
import { planExpiry } from '../../../../src/iceberg/update/expire-snapshots.ts'
import { filesOnlyReachableFrom } from '../../../../src/iceberg/update/reachability.ts'
import { stageRewrite } from '../../../../src/iceberg/update/stage/stage-rewrite.ts'
import type { TableUpdate } from '../../../../src/iceberg/update/table-update.ts'
import { fixturesRoot, haveFixtures } from '../../../support/iceberg-fixtures.ts'

/** A v1 table of another system, its metadata folder copied into memory under the locations it names. */
async function load(path: string, name: string): Promise<Table> {
  const folder = join(fixturesRoot, path, 'metadata')
  const metadata = parseTableMetadata(readFileSync(join(folder, name)))
  const io = new MemoryFileIO()
  const [snapshot] = metadata.snapshots
  const known = snapshot?.manifestList ?? snapshot?.manifests?.[0] ?? ''
  const prefix = known.slice(0, known.lastIndexOf('/'))
  for (const file of readdirSync(folder)) await io.create(`${prefix}/${file}`, readFileSync(join(folder, file)))
  return { identifier: { namespace: [], name: path }, metadataLocation: `${prefix}/${name}`, metadata, io }
}

/** The table after a change, read back from what would be written. */
function after(table: Table, updates: readonly TableUpdate[]): Table {
  const metadata = applyUpdates(table.metadata, updates, { nowMs: Date.now() })
  return { ...table, metadata: parseTableMetadata(serializeTableMetadata(metadata)) }
}

describe.skipIf(!haveFixtures)('format version 1', () => {
  it.each([
    ['impala/iceberg_partitioned', 'v2.metadata.json'],
    ['impala/hadoop_catalog/ice/iceberg_alltypes_part', 'v2.metadata.json'],
    ['impala/hadoop_catalog/ice/iceberg_timestamp_part', 'v2.metadata.json'],
    ['duckdb-iceberg/iceberg_v1_deprecated/default/legacy_v1', 'v2.metadata.json'],
  ])('keeps its form when files of %s are rewritten, and expires', async (path, name) => {
    const table = await load(path, name)
    expect(table.metadata.formatVersion).toBe(1)
    const tasks = await planFiles(table, { metrics: true })
    const [first, ...rest] = tasks.map((task) => task.dataFile)
    const start = currentSnapshot(table.metadata)
    if (first === undefined || start === undefined) throw new Error('empty table')
    const rewritten = { ...first, filePath: `${first.filePath}-rewritten` }
    const staged = await stageRewrite(table, {
      startingSnapshotId: start.snapshotId,
      startingSequenceNumber: 0,
      replaced: [first],
      added: [rewritten],
      operationId: 'rewrite',
    })
    const next = after(table, staged.updates)
    expect(next.metadata.formatVersion).toBe(1)
    expect(next.metadata.lastSequenceNumber).toBe(0)
    expect((await planFiles(next)).map((task) => task.dataFile.filePath)).toEqual(
      [rewritten, ...rest].map((file) => file.filePath),
    )
    const snapshot = currentSnapshot(next.metadata)
    if (snapshot === undefined) throw new Error('no snapshot')
    const manifests = await loadManifests(next, snapshot)
    const entries = (await Promise.all(manifests.map((manifest) => loadEntries(next, manifest)))).flat()
    expect(entries.filter((entry) => entry.status === 'deleted').map((entry) => entry.dataFile)).toEqual([first])
    expect(entries.every((entry) => entry.sequenceNumber === 0 && entry.fileSequenceNumber === 0)).toBe(true)

    const nowMs = Date.now() + 1
    const expired = after(next, planExpiry(next.metadata, { nowMs, olderThanMs: nowMs }).updates)
    expect(expired.metadata.snapshots.map(({ snapshotId }) => snapshotId)).toEqual([staged.snapshotId])
    const files = await filesOnlyReachableFrom(next, expired)
    expect([...files.dataFiles, ...files.foreignFiles]).toContain(first.filePath)
    for (const file of rest) expect([...files.dataFiles, ...files.foreignFiles]).not.toContain(file.filePath)
  })
})
