import { LocalFileIO } from '../../src/iceberg/io/local.ts'
import type { DataFile } from '../../src/iceberg/manifest/manifest.ts'
import { planFiles, type FileScanTask } from '../../src/iceberg/scan/scan.ts'
import { stageAppend } from '../../src/iceberg/update/stage/stage-append.ts'
import { parseCompactionOptions } from '../../src/maintenance/compaction/options.ts'
import { planCompaction } from '../../src/maintenance/compaction/planner.ts'
import { byPart, TableFixture } from '../../test/support/table-fixture.ts'
import { processMemory } from '../support/process-memory.ts'
import { longestStall, type RecordFigure, timed } from './measure.ts'
import type { Place } from './place.ts'

/** Partitions of a table: with 2,000,000 files some 2,000 in each. */
const PARTITIONS = 1000
const MB = 1_000_000

/** A file that does not exist: nine of ten are small, as streams leave them. */
function fileOf(index: number): DataFile {
  const part = index % PARTITIONS
  return {
    content: 'data',
    filePath: `s3://bench-bucket/warehouse/db/t/data/part=${part}/00000-${String(index).padStart(9, '0')}-00001.parquet`,
    fileFormat: 'parquet',
    specId: 0,
    partition: [part],
    recordCount: 10_000,
    fileSizeInBytes: index % 10 === 9 ? 512 * MB : MB * (1 + (index % 100)),
  }
}

/** The planner alone, over scan tasks that are in memory already. */
export async function simulatePlanner({ size }: Place, record: RecordFigure): Promise<void> {
  const { table } = await TableFixture.create({ partitionSpec: byPart })
  const before = processMemory(process.pid).now
  const tasks: FileScanTask[] = Array.from({ length: size }, (_, index) => ({
    dataFile: fileOf(index),
    sequenceNumber: 1,
    fileSequenceNumber: 1,
    deletes: [],
  }))
  const held = processMemory(process.pid).now - before
  const options = parseCompactionOptions({}, {})
  let groups = 0
  const plan = async () => {
    groups = planCompaction({ metadata: table.metadata, tasks, options }).groups.length
  }
  record('memory of the scan tasks', held)
  record('plan, first', await timed(plan))
  record('groups', groups)
  record('plan, again', await timed(plan))
}

/** Files in one commit: a manifest of 8 MB holds some 40,000. */
const PER_COMMIT = 100_000

/** Manifests of a real table, written and read back. */
export async function simulateScan({ size, folder }: Place, record: RecordFigure): Promise<void> {
  const location = `file://${folder}/table-${size}`
  const fixture = await TableFixture.create({ partitionSpec: byPart, io: new LocalFileIO(), location })
  record(
    'writing the manifests',
    await timed(async () => {
      for (let at = 0; at < size; at += PER_COMMIT) {
        const files = Array.from({ length: Math.min(PER_COMMIT, size - at) }, (_, index) => fileOf(at + index))
        await fixture.commit((table) => stageAppend(table, { files, operationId: `c${at}` }))
      }
    }),
  )
  let tasks: readonly FileScanTask[] = []
  let read = 0
  const stall = await longestStall(async () => {
    read = await timed(async () => {
      tasks = await planFiles(fixture.table)
    })
  })
  const { metadata } = fixture.table
  const options = parseCompactionOptions({}, {})
  record('reading them', read)
  record('without an answer to others', stall)
  record('plan', await timed(async () => void planCompaction({ metadata, tasks, options })))
}
