import { describe, expect, it } from 'vitest'
import { changeRange, type ChangeRangeRequest } from '../../../src/iceberg/changes/change-range.ts'
import { changeTasks, type SnapshotChanges } from '../../../src/iceberg/changes/changed-files.ts'
import { planChanges, type PlanChangesOptions } from '../../../src/iceberg/changes/plan-changes.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { BY_REGION, MemoryTable } from '../../maintenance/memory-table.ts'

const LIMITS = { maxFiles: 10_000, maxEntries: 1_000_000 }

async function plan(
  table: Table,
  range: ChangeRangeRequest,
  options: Partial<PlanChangesOptions> = {},
): Promise<readonly SnapshotChanges[]> {
  const steps: SnapshotChanges[] = []
  const request = changeRange(table.metadata, range)
  for await (const step of planChanges(table, request, { ...LIMITS, ...options })) steps.push(step)
  return steps
}

/** The name of each changed file, with the number of deletes on both sides. */
function changesOf(steps: readonly SnapshotChanges[]): string[][] {
  const count = (deletes: readonly unknown[] | undefined): string => String(deletes?.length ?? '-')
  return steps.map(({ files }) =>
    files.map(
      ({ dataFile, before, after }) => `${dataFile.filePath.split('/').at(-1)} ${count(before)}>${count(after)}`,
    ),
  )
}

/** Counts the manifests and manifest lists that are read. */
class CountingIO extends MemoryFileIO {
  reads = 0

  override read(location: string): Promise<Uint8Array> {
    if (location.endsWith('.avro')) this.reads += 1
    return super.read(location)
  }
}

const equality = (made: MemoryTable, overrides: Partial<DataFile> = {}): Promise<DataFile> =>
  made.file({ content: 'equality-deletes', equalityIds: [1], recordCount: 1, ...overrides })

describe('the plan of changes', () => {
  it('has added files, files with other deletes, and nothing for a compaction', async () => {
    const made = await MemoryTable.create()
    const [a, b] = await made.files(2)
    if (a === undefined || b === undefined) throw new Error('no files')
    const first = await made.append([a])
    await made.append([b])
    const vectorless = await made.file({ content: 'position-deletes', recordCount: 1, referencedDataFile: a.filePath })
    await made.rowDelta([vectorless])
    await made.rowDelta([await equality(made)])
    const table = await made.replace([b])
    const steps = await plan(table, { from: first.metadata.currentSnapshotId })
    expect(changesOf(steps)).toEqual([['f2.parquet ->0'], ['f1.parquet 0>1'], ['f2.parquet 0>1', 'f1.parquet 1>2']])
    expect(steps.map(({ ordinal }) => ordinal)).toEqual([0, 1, 2])
    const [, pair] = steps.map(changeTasks)
    expect(pair?.map(({ change, deletes }) => [change.side, change.isPaired, deletes.length])).toEqual([
      ['before', true, 0],
      ['after', true, 1],
    ])
  })

  it('finds only files of the partition of an equality delete', async () => {
    const made = await MemoryTable.create({ partitionSpec: BY_REGION })
    const [x, y] = [await made.file({ partition: ['x'] }), await made.file({ partition: ['y'] })]
    await made.append([x, y])
    const table = await made.rowDelta([await equality(made, { partition: ['y'] })])
    expect(changesOf(await plan(table, {}))).toEqual([[`${y.filePath.split('/').at(-1)} 0>1`]])
  })

  it('reads only what the newest snapshots of a long history have alone', async () => {
    const io = new CountingIO()
    const made = await MemoryTable.create({ io })
    for (const file of await made.files(30)) await made.append([file])
    const table = await made.load()
    const [from] = table.metadata.snapshots.slice(-6)
    io.reads = 0
    expect(changesOf(await plan(table, { from: from?.snapshotId })).flat()).toHaveLength(5)
    expect(io.reads).toBe(6 + 5) // a manifest list per state, and one new manifest per snapshot
  })

  it('ends at the limits of files and entries, and when it is cancelled', async () => {
    const made = await MemoryTable.create()
    const [first] = await made.files(1)
    const start = await made.append(first === undefined ? [] : [first])
    const table = await made.append(await made.files(20))
    const range = { from: start.metadata.currentSnapshotId }
    await expect(plan(table, range, { maxFiles: 19 })).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    await expect(plan(table, range, { maxEntries: 20 })).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    expect(await plan(table, range, { maxFiles: 20 })).toHaveLength(1)
    const signal = AbortSignal.abort()
    await expect(plan(table, range, { signal })).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('counts a file that is listed twice as two', async () => {
    const made = await MemoryTable.create()
    const [file] = await made.files(1)
    if (file === undefined) throw new Error('no file')
    await made.append([file])
    const table = await made.append([file])
    expect(changesOf(await plan(table, {}))).toEqual([['f1.parquet ->0']])
  })
})
