import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { planTableCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { describeCompactionPlan } from '../../../src/maintenance/compaction/result.ts'
import { previewTableCompaction, type ShownPlan } from '../../../src/maintenance/inspection/preview-compaction.ts'
import { createTotalsSource } from '../../../src/maintenance/inspection/totals/totals-source.ts'
import { runs } from '../../support/effort.ts'
import { BY_REGION, MemoryTable } from '../memory-table.ts'

const MIB = 1024 * 1024

const anyFile = fc.record({
  region: fc.constantFrom('a', 'b', null),
  fileSizeInBytes: fc.constantFrom(0, 1, MIB, 20 * MIB, 383 * MIB, 384 * MIB, 500 * MIB, 922 * MIB, 2000 * MIB),
  recordCount: fc.nat(1000),
  splitOffsets: fc.constantFrom(undefined, [], [4], [4, 9 * MIB], [4, 100, 12 * MIB], [20 * MIB]),
  fileFormat: fc.constantFrom(...Array.from({ length: 30 }, () => 'parquet'), 'avro', 'orc'),
  keyMetadata: fc.constantFrom(...Array.from({ length: 30 }, () => undefined), new Uint8Array([1])),
})

const anyRequest = fc.record(
  {
    rewrite_all: fc.boolean(),
    method: fc.constantFrom('auto', 'copy', 'rewrite'),
    min_input_files: fc.integer({ min: 1, max: 4 }),
    max_files_to_rewrite: fc.integer({ min: 1, max: 5 }),
    max_bytes_to_rewrite: fc.constantFrom(25 * MIB, 1000 * MIB),
    partial_progress: fc.boolean(),
    where: fc.constantFrom("region = 'a'", 'region IS NULL'),
  },
  { requiredKeys: [] },
)

/** How the current partition spec differs from the one that the files were written under. */
const anySpecs = fc.constantFrom<'same' | 'other' | 'unpartitioned'>('same', 'same', 'other', 'unpartitioned')

function evolved({ metadata, ...table }: Table, specs: 'same' | 'other' | 'unpartitioned'): Table {
  if (specs === 'same') return { ...table, metadata }
  const fields = [{ fieldId: 1001, sourceId: 1, name: 'id', transform: { kind: 'identity' as const } }]
  const next = { specId: 1, fields: specs === 'other' ? fields : [] }
  const partitionSpecs = [...metadata.partitionSpecs, next]
  return { ...table, metadata: { ...metadata, partitionSpecs, defaultSpecId: 1 } }
}

async function shown(plan: Promise<ShownPlan>): Promise<unknown> {
  try {
    const found = await plan
    const inputs = found.groups.map((group) => group.inputs.length)
    const keys = found.groups.map(({ partitionKey, targetSplitBytes, index }) => [
      partitionKey,
      targetSplitBytes,
      index,
    ])
    return [describeCompactionPlan(found), found.totals, found.skipped, inputs, keys]
  } catch (error) {
    if (error instanceof IcebergError) return [error.code, error.message]
    throw error
  }
}

it('a preview shows the plan that would run on random tables', async () => {
  const commits = fc.array(fc.array(anyFile, { minLength: 1, maxLength: 8 }), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(commits, anyRequest, anySpecs, fc.boolean(), async (made, request, specs, hasDeletes) => {
      const table = await MemoryTable.create({ partitionSpec: BY_REGION })
      for (const commit of made) {
        const files = commit.map(({ region, splitOffsets, keyMetadata, ...file }) =>
          table.file({
            ...file,
            partition: [region],
            ...(splitOffsets && { splitOffsets }),
            ...(keyMetadata && { keyMetadata }),
          }),
        )
        await table.append(await Promise.all(files))
      }
      if (hasDeletes && made.length > 0) {
        await table.rowDelta([await table.file({ content: 'position-deletes', partition: ['a'], recordCount: 1 })])
      }
      const loaded = evolved(await table.load(), specs)
      const totals = createTotalsSource({ pool: null })
      const planned = await shown(planTableCompaction(loaded, request))
      expect(await shown(previewTableCompaction(loaded, request, totals))).toEqual(planned)
    }),
    { numRuns: runs(1000, 40) },
  )
})

it('a preview reads no manifest again that a health report has read', async () => {
  const table = await MemoryTable.create({ partitionSpec: BY_REGION })
  await table.append(await table.files(6, { partition: ['a'] }))
  const totals = createTotalsSource({ pool: null })
  const loaded = await table.load()
  await totals.read(loaded)
  await table.io.delete(loaded.metadata.snapshots[0]?.manifestList ?? '')
  const plan = await previewTableCompaction(loaded, {}, totals)
  expect(plan.totals.files).toBe(6)
})
