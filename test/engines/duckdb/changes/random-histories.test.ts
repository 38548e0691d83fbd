import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changeRange } from '../../../../src/iceberg/changes/change-range.ts'
import { keepsRows } from '../../../../src/iceberg/metadata/snapshots.ts'
import { ancestorsOf } from '../../../../src/iceberg/metadata/snapshot-ancestry.ts'
import type { Table } from '../../../../src/iceberg/metadata/table.ts'
import { ModelLake, type Random } from '../../../maintenance/compaction/model-lake.ts'
import { createRandom, writeRandomly } from '../../../maintenance/compaction/random-writers.ts'
import { Workshop } from '../../../maintenance/real-lake.ts'
import { runs } from '../../../support/effort.ts'
import { bagDifference, type Change, inOrder, readChanges } from './read-changes.ts'

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

const ROW = '(tag, d, n)::VARCHAR'

/** What the model says: how the rows of each snapshot differ from those of its parent. */
function expectedChanges(
  lake: ModelLake,
  table: Table,
  range: { readonly from: bigint; readonly to: bigint },
): Change[] {
  const changes: Change[] = []
  let ordinal = 0
  for (const snapshot of changeRange(table.metadata, range).snapshots) {
    if (keepsRows(snapshot)) continue
    const textsAt = (id: bigint | undefined): string[] =>
      (id === undefined ? [] : (lake.rowsAt(id) ?? [])).map(({ text }) => text)
    const { snapshotId, parentSnapshotId } = snapshot
    for (const change of bagDifference(textsAt(parentSnapshotId), textsAt(snapshotId))) {
      changes.push({ ...change, ordinal, snapshotId })
    }
    ordinal += 1
  }
  return changes
}

async function randomHistory(random: Random, formatVersion: 2 | 3): Promise<ModelLake> {
  const lake = await ModelLake.create(shop, { formatVersion })
  const partitionAt = random(12)
  await lake.append(random, 3 + random(6))
  for (let n = 0; n < 12; n += 1) {
    if (n === partitionAt) await lake.partition()
    if (random(4) === 0) await lake.rewriteRows(random)
    else await writeRandomly(lake, random)
  }
  return lake
}

describe('changed rows of random histories', () => {
  const seeds = Array.from({ length: runs(40) }, (_, at) => at + 1)

  it.each(seeds)('are what the model says, in both format versions, with seed %i', async (seed) => {
    const random = createRandom(seed)
    const lake = await randomHistory(random, seed % 2 === 0 ? 2 : 3)
    const table = await lake.load()
    const line = [...ancestorsOf(table.metadata, table.metadata.currentSnapshotId ?? 0n)].reverse()
    expect(line.every(({ snapshotId }) => lake.rowsAt(snapshotId) !== undefined)).toBe(true)
    const start = random(line.length)
    const [from, to] = [line[start]?.snapshotId ?? 0n, line[start + random(line.length - start)]?.snapshotId ?? 0n]
    for (const range of [
      { from: line[0]?.snapshotId ?? 0n, to: line.at(-1)?.snapshotId ?? 0n },
      { from, to },
    ]) {
      const found = await readChanges(shop.engine, table, { ...range, row: ROW })
      expect(found).toEqual(inOrder(expectedChanges(lake, table, range)))
    }
  })
})
