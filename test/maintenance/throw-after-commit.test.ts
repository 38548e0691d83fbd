import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shares } from '../support/effort.ts'
import { IcebergError } from '../../src/iceberg/errors.ts'
import { runCompaction } from '../../src/maintenance/compaction/compact.ts'
import { runEvolve } from '../../src/maintenance/evolve.ts'
import { runExpiry } from '../../src/maintenance/expiry/expire.ts'
import { runRewriteManifests } from '../../src/maintenance/manifests/rewrite-manifests.ts'
import { runRollback } from '../../src/maintenance/rollback.ts'
import { type FaultyCatalog, throwAfterCommit } from '../catalog/throw-after-commit.ts'
import { TABLE } from './memory-table.ts'
import { RealLake, Workshop } from './real-lake.ts'

let shop: Workshop
let faults: FaultyCatalog | undefined

beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

async function faultyLake(): Promise<{ readonly lake: RealLake; readonly faulty: FaultyCatalog }> {
  const lake = await RealLake.create(shop, {
    partitioned: true,
    wrapCatalog: (catalog) => (faults = throwAfterCommit(catalog)).catalog,
  })
  for (let round = 0; round < 6; round += 1) await lake.append(5, round % 2 === 0 ? 'eu' : 'us')
  await lake.deletePositions(0, 2)
  if (faults === undefined) throw new Error('the catalog was not wrapped')
  return { lake, faulty: faults }
}

const LATER = Date.now() + 30 * 86_400_000

/** The operations that change a table, each with the number of rows it adds or removes. */
const CHANGES: Readonly<Record<string, readonly [rows: number, change: (lake: RealLake) => Promise<unknown>]>> = {
  compaction: [0, (lake) => runCompaction(compaction(lake, { min_input_files: 2 }))],
  'compaction with partial progress': [
    0,
    (lake) =>
      runCompaction(compaction(lake, { min_input_files: 2, partial_progress: true, partial_progress_max_commits: 2 })),
  ],
  append: [3, (lake) => lake.append(3, 'eu')],
  'row delta by value': [-1, (lake) => lake.upsert([7])],
  'row delta by position': [-2, (lake) => lake.deletePositions(1, 3)],
  expiry: [0, (lake) => runExpiry({ ...target(lake), request: { retain_last: 1 }, nowMs: LATER })],
  'manifest rewrite': [0, (lake) => runRewriteManifests({ ...target(lake), request: {}, operationId: 'op-manifests' })],
  'column change': [
    0,
    (lake) => runEvolve({ ...target(lake), change: { kind: 'add_column', name: 'note', type: 'string' } }),
  ],
}

function target({ catalog }: RealLake) {
  return { catalog, identifier: TABLE }
}

function compaction(lake: RealLake, request: Readonly<Record<string, unknown>>) {
  return { ...target(lake), engine: shop.engine, request, operationId: 'op-compact' }
}

const ERRORS = [
  new IcebergError('IO_FAILED', 'the disk is full'),
  new IcebergError('COMMIT_CONFLICT', 'a late conflict'),
]

const CASES = Object.entries(CHANGES).flatMap(([name, [rows, change]]) =>
  ERRORS.map((error) => ({ name, rows, change, error, title: error.message })),
)

describe.each(shares(CASES, 4))('a catalog that throws after the pointer has moved', (cases, options) => {
  it.each(cases)('keeps every file after a $name: $title', options, async ({ change, error, rows }) => {
    const { lake, faulty } = await faultyLake()
    const before = await lake.read()
    const filesBefore = await lake.list()
    faulty.error = error
    await expect(change(lake)).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN', cause: error })
    expect(faulty.thrown).toBe(1)
    faulty.error = undefined
    expect(await lake.list()).toEqual(expect.arrayContaining(filesBefore))
    const table = await lake.load()
    for (const { snapshotId } of table.metadata.snapshots) await lake.read(snapshotId)
    expect(await lake.read()).toHaveLength(before.length + rows)
  })
})

describe('a catalog that throws after a rollback', () => {
  it('keeps every file', async () => {
    const { lake, faulty } = await faultyLake()
    const [oldest] = (await lake.load()).metadata.snapshots
    const filesBefore = await lake.list()
    faulty.error = new IcebergError('IO_FAILED', 'the disk is full')
    const rollback = runRollback({ ...target(lake), snapshotId: oldest?.snapshotId ?? 0n })
    await expect(rollback).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    expect(await lake.list()).toEqual(expect.arrayContaining(filesBefore))
    expect(await lake.read()).toHaveLength(5)
  })
})
