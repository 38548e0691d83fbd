import { describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { pinHistory, unpinHistory } from '../../../src/streaming/pins/retention-pin.ts'
import { MemoryTable, TABLE } from '../../maintenance/memory-table.ts'

describe('the retention of main from before a pin', () => {
  it.each([1n, 2n ** 53n + 1n, 2n ** 63n - 2n, 2n ** 63n - 1n])('is restored exactly: %s ms', async (ageMs) => {
    const table = await MemoryTable.create()
    const { metadata } = await table.append(await table.files(1))
    const snapshotId = metadata.currentSnapshotId ?? 0n
    await commitTable(table.catalog, TABLE, async () => ({
      updates: [
        {
          action: 'set-snapshot-ref',
          'ref-name': 'main',
          type: 'branch',
          'snapshot-id': snapshotId,
          'max-snapshot-age-ms': ageMs,
        },
      ],
      requirements: [],
      writtenFiles: [],
    }))
    await pinHistory(table.catalog, TABLE, { pipelineId: 'pipe-1', snapshotId })
    await pinHistory(table.catalog, TABLE, { pipelineId: 'pipe-2', snapshotId })
    expect((await table.load()).metadata.refs['main']?.maxSnapshotAgeMs).toBe(2n ** 63n - 1n)
    await unpinHistory(table.catalog, TABLE, 'pipe-1')
    await unpinHistory(table.catalog, TABLE, 'pipe-2')
    const after = (await table.load()).metadata
    expect(after.refs).toEqual({ main: { type: 'branch', snapshotId, maxSnapshotAgeMs: ageMs } })
    expect(after.properties).not.toHaveProperty('lockhouse.pins')
  })
})
