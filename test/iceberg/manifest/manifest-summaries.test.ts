import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { summarizePartitions } from '../../../src/iceberg/manifest/summaries.ts'
import { writeManifest } from '../../../src/iceberg/manifest/writer.ts'
import type { PartitionSpec, PartitionTuple } from '../../../src/iceberg/partitioning/partitioning.ts'
import type { PrimitiveType } from '../../../src/iceberg/schema/types.ts'
import { compareValues, valueFromBytes, valueToBytes } from '../../../src/iceberg/values/values.ts'
import { added, dataFile, identitySpec, manifestOptions, schemaOf } from './sample-table.ts'

function summaries(type: PrimitiveType, values: PartitionTuple) {
  const spec = identitySpec(schemaOf(type))
  return summarizePartitions(
    spec,
    [type],
    values.map((value) => [value]),
  )
}

describe('summarizePartitions', () => {
  it('covers exactly the range of the values', () => {
    const type: PrimitiveType = { kind: 'string' }
    const values = fc.array(fc.option(fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed())), {
      minLength: 1,
    })
    fc.assert(
      fc.property(values, (tuple) => {
        const [summary] = summaries(type, tuple) ?? []
        const present = tuple.filter((value) => value !== null)
        const sorted = present.toSorted((a, b) => compareValues(type, a, b))
        expect(summary).toEqual({
          containsNull: present.length < tuple.length,
          containsNan: false,
          ...(sorted.length > 0 && {
            lowerBound: valueToBytes(type, sorted.at(0) ?? ''),
            upperBound: valueToBytes(type, sorted.at(-1) ?? ''),
          }),
        })
      }),
    )
  })

  it('keeps NaN out of the bounds and records its presence', () => {
    const type: PrimitiveType = { kind: 'double' }
    const [summary] = summaries(type, [Number.NaN, 2, -0, null, -5]) ?? []
    expect(summary).toMatchObject({ containsNull: true, containsNan: true })
    expect(valueFromBytes(type, summary?.lowerBound ?? new Uint8Array())).toBe(-5)
    expect(valueFromBytes(type, summary?.upperBound ?? new Uint8Array())).toBe(2)
    expect(summaries(type, [Number.NaN])).toEqual([{ containsNull: false, containsNan: true }])
  })

  it('orders text by code points, not by UTF-16 units', () => {
    const type: PrimitiveType = { kind: 'string' }
    const [summary] = summaries(type, ['🐟', '\uff5e']) ?? []
    expect(valueFromBytes(type, summary?.upperBound ?? new Uint8Array())).toBe('🐟')
  })

  it('orders negative decimals and longs as numbers', () => {
    const [decimals] = summaries({ kind: 'decimal', precision: 9, scale: 2 }, [-1n, -300n, 5n]) ?? []
    expect(decimals).toMatchObject({ lowerBound: new Uint8Array([0xfe, 0xd4]), upperBound: new Uint8Array([5]) })
  })

  it('is empty for an unpartitioned table', () => {
    expect(summarizePartitions({ specId: 0, fields: [] }, [], [[], []])).toEqual([])
  })

  it('is unknown, not wrong, for values without a known order', () => {
    const transform = { kind: 'unknown' as const, text: 'zorder' }
    const spec: PartitionSpec = { specId: 0, fields: [{ fieldId: 1000, sourceId: 1, name: 'z', transform }] }
    expect(summarizePartitions(spec, [{ kind: 'string' }], [['a'], ['b']])).toBeUndefined()
    expect(summarizePartitions(spec, [{ kind: 'string' }], [[null]])).toEqual([
      { containsNull: true, containsNan: false },
    ])
  })

  it('covers deleted entries too, as Java does', () => {
    const schema = schemaOf({ kind: 'int' })
    const numbers = { snapshotId: 1n, sequenceNumber: 1, fileSequenceNumber: 1 }
    const entries = [
      added(dataFile({ partition: [3] })),
      { status: 'deleted' as const, ...numbers, dataFile: dataFile({ partition: [9] }) },
    ]
    const { manifest } = writeManifest(manifestOptions({ schema, spec: identitySpec(schema), entries }))
    expect(manifest.partitions).toEqual([
      {
        containsNull: false,
        containsNan: false,
        lowerBound: new Uint8Array([3, 0, 0, 0]),
        upperBound: new Uint8Array([9, 0, 0, 0]),
      },
    ])
  })
})
