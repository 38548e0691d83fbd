import {
  decimal,
  field,
  int64,
  list,
  struct,
  tableFromArrays,
  tableToIPC,
  timestamp,
  TimeUnit,
  utf8,
} from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { arrowRows } from '../../../../src/engines/spark/connect/operation/arrow-rows.ts'
import { caught } from '../../../support/caught.ts'
import { runs } from '../../../support/effort.ts'

describe('arrowRows', () => {
  it('keeps what a number does not hold', () => {
    const bytes = tableToIPC(
      tableFromArrays(
        {
          id: [2n ** 63n - 1n, null],
          money: [-12.345, 0.005],
          at: [1_700_000_000_123, null],
          tags: [['a', null], []],
          inner: [{ n: 2n ** 53n + 1n }, null],
        },
        {
          types: {
            id: int64(),
            money: decimal(20, 3, 128),
            at: timestamp(TimeUnit.MICROSECOND),
            tags: list(utf8()),
            inner: struct([field('n', int64())]),
          },
          useBigInt: true,
          useDecimalInt: true,
          useBigIntTimestamp: true,
        },
      ),
      { format: 'stream' },
    )
    const [first, second] = arrowRows(bytes ?? new Uint8Array())
    expect(first).toMatchObject({
      id: 2n ** 63n - 1n,
      money: '-12.345',
      at: 1_700_000_000_123_000n,
      inner: { n: 2n ** 53n + 1n },
    })
    expect(second).toMatchObject({ id: null, money: '0.005', at: null, inner: null })
  })

  it('reads data at any place in memory', () => {
    const bytes = tableToIPC(tableFromArrays({ id: BigInt64Array.of(7n) as never }), { format: 'stream' })
    const moved = new Uint8Array((bytes?.byteLength ?? 0) + 3)
    moved.set(bytes ?? [], 3)
    expect(arrowRows(moved.subarray(3))).toEqual([{ id: 7n }])
  })

  it('never takes noise for rows, nor for no rows', () => {
    for (let run = 0; run < runs(5000); run += 1) {
      const noise = crypto.getRandomValues(new Uint8Array(run % 300))
      if (run % 3 === 0) noise.fill(255, 0, 4)
      expect(caught(() => arrowRows(noise))).toMatchObject({ code: 'PROTOCOL' })
    }
  })
})
