import { afterAll, describe, expect, it } from 'vitest'
import type { Clustering, RewriteTask } from '../../../src/engines/engine.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import type { PartitionSpec } from '../../../src/iceberg/partitioning/partitioning.ts'
import type { Value } from '../../../src/iceberg/schema/types.ts'
import { valueFromBytes } from '../../../src/iceberg/values/values.ts'
import { edgeTypes } from '../../support/edge-values.ts'
import { field, Lake, schemaOf, struct, UNPARTITIONED } from './harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

const CURVES = ['zorder', 'hilbert'] as const
const IDENTITY: PartitionSpec = {
  specId: 0,
  fields: [{ fieldId: 1000, sourceId: 2, name: 'p', transform: { kind: 'identity' } }],
}

describe.each(edgeTypes)('rows with extreme values of type %s', (text, _, values) => {
  it.each(CURVES)('are kept, and ordered from NULL to NaN by %s', async (curve) => {
    const engine = await lake.engine()
    const schema = schemaOf([field(1, 'id', 'int'), field(2, 'v', text)])
    const inputs = await Promise.all(
      [...values, null, ...values].map((value) =>
        lake.data('SELECT 1::INTEGER AS id', '{id: 1}', { partition: [value] }),
      ),
    )
    const output = lake.output(schema, { partitionSpec: { ...UNPARTITIONED, specId: 1 } })
    const task = lake.task({ schemas: [schema], specs: [IDENTITY, output.partitionSpec], formatVersion: 3 }, inputs, {
      output: { ...output, formatVersion: 3 },
      clustering: { curve, columnIds: [2] },
      verifyValues: true,
    })
    const result = await engine.rewrite(task)
    expect(result).toMatchObject({ rowsWritten: inputs.length, values: { isEqual: true } })
    expect(result.files.map(({ sortOrderId }) => sortOrderId)).toEqual([0])
    const [found] = await lake.sql(`
      SELECT count(*) FILTER (v < before OR (n > 0 AND v IS NULL))::INTEGER AS wrong, count(*)::INTEGER AS rows
      FROM (SELECT v, file_row_number AS n, lag(v) OVER (ORDER BY file_row_number) AS before
            FROM read_parquet('${result.files[0]?.filePath}', file_row_number = true))`)
    expect(found).toEqual({ wrong: 0, rows: inputs.length })
  })
})

/** Two skewed columns and a nested one, of which none says anything about the others. */
const SCHEMA = schemaOf([
  field(1, 'a', 'long'),
  field(2, 'b', 'string'),
  field(3, 's', struct(field(4, 'c', 'double'))),
])
const ROWS = 200_000
const SELECT = `
  SELECT exp((hash(i) % 1000000) / 60000.0)::BIGINT AS a, 'https://example.com/' || md5((i % 70000)::VARCHAR) AS b,
    {c: CASE WHEN i % 10 = 0 THEN NULL ELSE (hash(i + 7) % 100000) / 7 END} AS s
  FROM range(${ROWS}) r(i)`
const COLUMNS = [
  { id: 1, type: { kind: 'long' }, sql: 'a' },
  { id: 2, type: { kind: 'string' }, sql: 'b' },
  { id: 4, type: { kind: 'double' }, sql: 's.c' },
] as const

type Column = (typeof COLUMNS)[number]
type Range = readonly [from: Value, to: Value]

/** Ranges of a column with 2 % of its rows each. */
async function rangesOf({ sql, type }: Column): Promise<Range[]> {
  const shares = Array.from({ length: 20 }, (_, n) => (n + 0.5) / 20).flatMap((share) => [share, share + 0.02])
  const [row] = await lake.sql(`SELECT quantile_disc(${sql}, [${shares.join(', ')}]) AS q FROM (${SELECT})`)
  const values = ((row?.['q'] ?? []) as readonly (string | number)[]).map((value) =>
    type.kind === 'long' ? BigInt(value) : value,
  )
  return values.flatMap((from, at) => (at % 2 === 0 ? [[from, values[at + 1] ?? from] as const] : []))
}

/** Share of the files that a filter on a range must open, on average. */
function openedShare(files: readonly DataFile[], { id, type }: Column, ranges: readonly Range[]): number {
  const bounds = files.map(({ lowerBounds, upperBounds }): Range => {
    const [lower, upper] = [lowerBounds?.get(id), upperBounds?.get(id)]
    if (lower === undefined || upper === undefined) throw new Error(`no bounds of ${id}`)
    return [valueFromBytes(type, lower), valueFromBytes(type, upper)]
  })
  const opened = ranges.map(([from, to]) => bounds.filter(([lower, upper]) => lower <= to && from <= upper).length)
  return opened.reduce((sum, count) => sum + count, 0) / ranges.length / files.length
}

describe('the files that a filter on a range opens', () => {
  it('are few for every column of a curve, and for the first one of a sort order', async () => {
    const engine = await lake.engine()
    const ids = '{a: 1, b: 2, s: {__duckdb_field_id: 3, c: 4}}'
    const input = await lake.data(SELECT, ids)
    const properties = { 'write.parquet.row-group-size-bytes': '32768', 'write.metadata.metrics.default': 'full' }
    const ranges = await Promise.all(COLUMNS.map(rangesOf))
    const sharesAfter = async (layout: Partial<RewriteTask>): Promise<number[]> => {
      const output = lake.output(SCHEMA, { properties, targetFileSizeBytes: 50_000 })
      const task = lake.task({ schemas: [SCHEMA], properties }, [input], { ...layout, output, verifyValues: true })
      const { files, values, rowsWritten } = await engine.rewrite(task)
      expect([rowsWritten, values?.isEqual]).toEqual([ROWS, true])
      expect(files.length).toBeGreaterThan(40)
      return COLUMNS.map((column, at) => openedShare(files, column, ranges[at] ?? []))
    }
    const along = (curve: Clustering['curve']) => sharesAfter({ clustering: { curve, columnIds: [1, 2, 4] } })
    const order = { sourceId: 1, transform: { kind: 'identity' }, direction: 'asc', nullOrder: 'nulls-first' } as const
    const shares = {
      binpack: await sharesAfter({}),
      sort: await sharesAfter({ sortOrder: { orderId: 1, fields: [order] } }),
      zorder: await along('zorder'),
      hilbert: await along('hilbert'),
    }
    expect(Math.min(...shares.binpack)).toBeGreaterThan(0.9)
    expect(shares.sort[0]).toBeLessThan(0.1)
    expect(Math.min(...shares.sort.slice(1))).toBeGreaterThan(0.9)
    expect(Math.max(...shares.zorder)).toBeLessThan(0.65)
    expect(Math.max(...shares.hilbert)).toBeLessThan(0.45)
  })
})
