import { afterAll, describe, expect, it } from 'vitest'
import type {
  PartitionField,
  PartitionSpec,
  PartitionTuple,
  Transform,
} from '../../../src/iceberg/partitioning/partitioning.ts'
import { applyTransform } from '../../../src/iceberg/partitioning/transforms.ts'
import type { NestedField, PrimitiveType, Value } from '../../../src/iceberg/schema/types.ts'
import { valueKey } from '../../../src/iceberg/values/values.ts'
import { column, field, Lake, readAll, readParquet, schemaOf, struct } from './harness/lake.ts'
import { LONG } from '../../support/effort.ts'

const lake = new Lake()
afterAll(() => lake.close())

function spec(...fields: readonly (readonly [sourceId: number, transform: Transform])[]): PartitionSpec {
  return {
    specId: 1,
    fields: fields.map(([sourceId, transform], at): PartitionField => ({
      fieldId: 1000 + at,
      sourceId,
      name: `p${at}`,
      transform,
    })),
  }
}

async function split(
  fields: readonly NestedField[],
  partitionSpec: PartitionSpec,
  select: string,
  ids: string,
): Promise<Map<string, { partition: PartitionTuple; rows: Record<string, unknown>[] }>> {
  const engine = await lake.engine()
  const schema = schemaOf(fields)
  const { partition: _, ...task } = lake.task({ schemas: [schema], formatVersion: 3 }, [await lake.data(select, ids)])
  const { files, rowsRead, rowsWritten } = await engine.rewrite({
    ...task,
    output: lake.output(schema, { partitionSpec }),
  })
  expect(rowsWritten).toBe(rowsRead)
  const found = new Map<string, { partition: PartitionTuple; rows: Record<string, unknown>[] }>()
  for (const file of files) {
    expect(file.specId).toBe(1)
    const key = JSON.stringify(
      file.partition.map((value) =>
        typeof value === 'bigint'
          ? `${value}n`
          : Object.is(value, -0)
            ? '-0'
            : Number.isNaN(value)
              ? 'NaN'
              : value instanceof Uint8Array
                ? [...value]
                : value,
      ),
    )
    const entry = found.get(key) ?? { partition: file.partition, rows: [] }
    found.set(key, entry)
    entry.rows.push(...(await readParquet(file.filePath)))
  }
  return found
}

describe('partition values computed from rows', () => {
  it('put every row into a file of its partition', async () => {
    const found = await split(
      [field(1, 'id', 'int'), field(2, 'region', 'string'), field(3, 'moment', 'timestamptz')],
      spec([2, { kind: 'identity' }], [3, { kind: 'day' }]),
      `SELECT i::INTEGER AS id, CASE i % 3 WHEN 0 THEN 'eu' WHEN 1 THEN NULL ELSE '' END AS region,
        TIMESTAMPTZ '1969-12-30 12:00:00+00' + to_hours(i % 48) AS moment FROM range(144) r(i)`,
      '{id: 1, region: 2, moment: 3}',
    )
    expect([...found.keys()].sort()).toEqual(
      ['"eu"', '""', 'null'].flatMap((region) => [-2, -1, 0].map((day) => `[${region},${day}]`)).sort(),
    )
    const all = [...found.values()].flatMap(({ rows }) => rows)
    expect(new Set(column(all, 'id')).size).toBe(144)
    for (const { partition, rows } of found.values()) {
      for (const row of rows) {
        expect(row['region']).toBe(partition[0])
        expect(Math.floor((row['moment'] as Date).getTime() / 86_400_000)).toBe(partition[1])
      }
    }
  })

  const transforms: readonly (readonly [string, PrimitiveType, Transform, string])[] = [
    ['year', { kind: 'date' }, { kind: 'year' }, `DATE '1968-01-01' + (i * 100)::INTEGER`],
    ['month', { kind: 'date' }, { kind: 'month' }, `DATE '1968-01-01' + (i * 20)::INTEGER`],
    ['month', { kind: 'timestamp' }, { kind: 'month' }, `TIMESTAMP '1969-11-30 23:59:59.999999' + to_hours(i * 200)`],
    ['day', { kind: 'timestamp_ns' }, { kind: 'day' }, 'make_timestamp_ns(-1 + (i - 5) * 43200000000000)'],
    [
      'hour',
      { kind: 'timestamptz' },
      { kind: 'hour' },
      `TIMESTAMPTZ '1969-12-31 22:59:59.999999+00' + to_minutes(i * 31)`,
    ],
    ['hour', { kind: 'timestamp_ns' }, { kind: 'hour' }, 'make_timestamp_ns(-1 + (i - 5) * 1800000000000)'],
    ['truncate[10]', { kind: 'int' }, { kind: 'truncate', width: 10 }, '(i - 20)::INTEGER'],
    ['truncate[10]', { kind: 'long' }, { kind: 'truncate', width: 10 }, '(i - 20)::BIGINT'],
    [
      'truncate[50]',
      { kind: 'decimal', precision: 9, scale: 2 },
      { kind: 'truncate', width: 50 },
      '((i - 20) / 4.0)::DECIMAL(9,2)',
    ],
    ['truncate[2]', { kind: 'string' }, { kind: 'truncate', width: 2 }, `'😀' || chr(97 + (i % 3)::INTEGER) || i`],
    ['truncate[1]', { kind: 'binary' }, { kind: 'truncate', width: 1 }, `encode(chr(97 + (i % 3)::INTEGER) || i)`],
    ['bucket[7]', { kind: 'int' }, { kind: 'bucket', buckets: 7 }, '(i * 1000003 - 20000000)::INTEGER'],
    [
      'bucket[7]',
      { kind: 'long' },
      { kind: 'bucket', buckets: 7 },
      `(hash(i) // 2)::BIGINT * (CASE i % 2 WHEN 0 THEN 1 ELSE -1 END)`,
    ],
    ['bucket[7]', { kind: 'date' }, { kind: 'bucket', buckets: 7 }, `DATE '1969-12-20' + i::INTEGER`],
    ['bucket[7]', { kind: 'time' }, { kind: 'bucket', buckets: 7 }, `TIME '00:00:00' + to_minutes(i)`],
    [
      'bucket[7]',
      { kind: 'timestamp' },
      { kind: 'bucket', buckets: 7 },
      `TIMESTAMP '1969-12-20 00:00:00.000001' + to_hours(i)`,
    ],
    ['bucket[7]', { kind: 'timestamp_ns' }, { kind: 'bucket', buckets: 7 }, 'make_timestamp_ns(-1500 + i)'],
    ['bucket[7]', { kind: 'string' }, { kind: 'bucket', buckets: 7 }, `'häß' || i`],
    ['bucket[7]', { kind: 'uuid' }, { kind: 'bucket', buckets: 7 }, `md5(i::VARCHAR)::UUID`],
    [
      'bucket[7]',
      { kind: 'decimal', precision: 20, scale: 3 },
      { kind: 'bucket', buckets: 7 },
      `((i - 20) * 1234567.125)::DECIMAL(20,3)`,
    ],
    ['bucket[7]', { kind: 'binary' }, { kind: 'bucket', buckets: 7 }, `encode('b' || i)`],
    ['void', { kind: 'int' }, { kind: 'void' }, 'i::INTEGER'],
  ]

  it.each(transforms)('%s of %j is the value that the table format specifies', async (_, type, transform, sql) => {
    const fields = [field(1, 'n', 'int'), field(2, 'x', type)]
    const found = await split(
      fields,
      spec([2, transform]),
      `SELECT i::INTEGER AS n, CASE WHEN i = 13 THEN NULL ELSE ${sql} END AS x FROM range(60) r(i)`,
      '{n: 1, x: 2}',
    )
    const engine = await lake.engine()
    const metadata = lake.task({ schemas: [schemaOf(fields)], formatVersion: 3 }, []).metadata
    const partitions = [...found.values()]
    expect(partitions.flatMap(({ rows }) => rows)).toHaveLength(60)
    const plain = await lake.data(
      `SELECT i::INTEGER AS n, CASE WHEN i = 13 THEN NULL ELSE ${sql} END AS x FROM range(60) r(i)`,
      '{n: 1, x: 2}',
    )
    const { valueFromJson } = await import('../../../src/iceberg/values/values.ts')
    const expected = new Map<number, Value | null>()
    for await (const row of engine.readRows({ io: lake.io, metadata, schema: schemaOf(fields), inputs: [plain] })) {
      const text = row['x'] as string | number | null
      const value = text === null ? null : valueFromJson(type, type.kind === 'long' ? BigInt(text) : text)
      expected.set(row['n'] as number, applyTransform(transform, type, value))
    }
    for (const { partition, rows } of partitions) {
      for (const row of rows) {
        expect(valueKey(type, partition[0] ?? null)).toBe(valueKey(type, expected.get(row['n'] as number) ?? null))
      }
    }
  })

  it('distinguish the zeros and keep NaN together', async () => {
    const found = await split(
      [field(1, 'n', 'int'), field(2, 'f', 'double')],
      spec([2, { kind: 'identity' }]),
      `SELECT * FROM (VALUES (1, 0.0::DOUBLE), (2, -0.0::DOUBLE), (3, 'nan'::DOUBLE), (4, -('nan'::DOUBLE)), (5, NULL)) v(n, f)`,
      '{n: 1, f: 2}',
    )
    expect([...found.values()].map(({ rows }) => column(rows, 'n').join()).sort()).toEqual(['1', '2', '3,4', '5'])
    expect([...found.values()].filter(({ partition }) => Object.is(partition[0], -0))).toHaveLength(1)
  })

  it('come from members of structs as well', async () => {
    const found = await split(
      [field(1, 's', struct(field(2, 'a', 'int'), field(3, 'b', 'string')))],
      spec([3, { kind: 'identity' }]),
      `SELECT {a: i::INTEGER, b: 'x' || i % 2} AS s FROM range(4) r(i)`,
      '{s: {__duckdb_field_id: 1, a: 2, b: 3}}',
    )
    expect([...found.keys()].sort()).toEqual(['["x0"]', '["x1"]'])
  })

  it('create one file per partition even for many partitions', LONG, async () => {
    const found = await split(
      [field(1, 'n', 'int'), field(2, 'p', 'int')],
      spec([2, { kind: 'identity' }]),
      'SELECT i::INTEGER AS n, (i % 250)::INTEGER AS p FROM range(20000) r(i)',
      '{n: 1, p: 2}',
    )
    expect(found.size).toBe(250)
    expect([...found.values()].every(({ rows }) => rows.length === 80)).toBe(true)
  })

  it('split a large partition into files near the target size, with unique names', LONG, async () => {
    const engine = await lake.engine()
    const schema = schemaOf([field(1, 'n', 'long'), field(2, 'p', 'int'), field(3, 's', 'string')])
    const input = await lake.data(
      'SELECT i AS n, (i % 10 = 0)::INTEGER AS p, md5(i::VARCHAR) AS s FROM range(700000) r(i)',
      '{n: 1, p: 2, s: 3}',
    )
    const { partition: _, ...task } = lake.task({ schemas: [schema] }, [input])
    const target = Math.ceil(input.dataFile.fileSizeInBytes / 4)
    const output = lake.output(schema, { partitionSpec: spec([2, { kind: 'identity' }]), targetFileSizeBytes: target })
    const { files, rowsWritten } = await engine.rewrite({ ...task, output })
    expect(rowsWritten).toBe(700_000)
    const large = files.filter((file) => file.partition[0] === 0)
    expect(large.length).toBeGreaterThanOrEqual(3)
    expect(files.filter((file) => file.partition[0] === 1)).toHaveLength(1)
    expect(new Set(files.map((file) => file.filePath)).size).toBe(files.length)
    for (const file of files) expect(file.fileSizeInBytes).toBeLessThan(target * 2)
  })

  it('are right for tens of thousands of distinct texts', async () => {
    const found = await split(
      [field(1, 'n', 'int'), field(2, 's', 'string')],
      spec([2, { kind: 'bucket', buckets: 5 }]),
      `SELECT i::INTEGER AS n, 'text ' || i AS s FROM range(30000) r(i)`,
      '{n: 1, s: 2}',
    )
    expect(found.size).toBe(5)
    for (const { partition, rows } of found.values()) {
      expect(rows.length).toBeGreaterThan(5000)
      const buckets = rows.map((row) =>
        applyTransform({ kind: 'bucket', buckets: 5 }, { kind: 'string' }, row['s'] as string),
      )
      expect(new Set(buckets)).toEqual(new Set([partition[0]]))
    }
  })

  it('sort inside each partition', async () => {
    const engine = await lake.engine()
    const schema = schemaOf([field(1, 'n', 'int'), field(2, 'p', 'string')])
    const input = await lake.data(
      `SELECT (hash(i) % 1000)::INTEGER AS n, 'p' || i % 3 AS p FROM range(3000) r(i)`,
      '{n: 1, p: 2}',
    )
    const { partition: _, ...task } = lake.task({ schemas: [schema] }, [input])
    const { files } = await engine.rewrite({
      ...task,
      output: lake.output(schema, { partitionSpec: spec([2, { kind: 'bucket', buckets: 4 }]) }),
      sortOrder: {
        orderId: 2,
        fields: [
          { sourceId: 2, transform: { kind: 'bucket', buckets: 16 }, direction: 'asc', nullOrder: 'nulls-first' },
          { sourceId: 1, transform: { kind: 'identity' }, direction: 'desc', nullOrder: 'nulls-last' },
        ],
      },
    })
    expect(files.reduce((sum, file) => sum + file.recordCount, 0)).toBe(3000)
    for (const file of files) {
      const rows = await readAll([file])
      const keys = rows.map(
        (row) =>
          [
            Number(applyTransform({ kind: 'bucket', buckets: 16 }, { kind: 'string' }, row['p'] as string)),
            -Number(row['n']),
          ] as const,
      )
      expect(keys).toEqual(keys.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]))
    }
  })
})

describe('a partition given by the caller', () => {
  const schema = schemaOf([field(1, 'n', 'int'), field(2, 'p', 'string')])
  const byP = spec([2, { kind: 'identity' }])

  it('is the partition of every file', async () => {
    const engine = await lake.engine()
    const input = await lake.data(`SELECT 1 AS n, 'x' AS p`, '{n: 1, p: 2}')
    const task = lake.task({ schemas: [schema] }, [input], {
      output: lake.output(schema, { partitionSpec: byP }),
      partition: ['x'],
    })
    expect((await engine.rewrite(task)).files).toMatchObject([{ partition: ['x'], specId: 1 }])
  })

  it('is refused when rows belong to another', async () => {
    const engine = await lake.engine()
    const input = await lake.data(`SELECT 1 AS n, unnest(['x', 'y']) AS p`, '{n: 1, p: 2}')
    const before = lake.leftovers()
    const task = lake.task({ schemas: [schema] }, [input], {
      output: lake.output(schema, { partitionSpec: byP }),
      partition: ['x'],
    })
    await expect(engine.rewrite(task)).rejects.toMatchObject({ code: 'CORRUPT_FILE' })
    expect(lake.leftovers()).toEqual(before)
  })

  it('cannot be computed by an unknown transform', async () => {
    const engine = await lake.engine()
    const input = await lake.data(`SELECT 1 AS n, 'x' AS p`, '{n: 1, p: 2}')
    const { partition: _, ...task } = lake.task({ schemas: [schema] }, [input])
    const output = lake.output(schema, { partitionSpec: spec([2, { kind: 'unknown', text: 'zorder' }]) })
    await expect(engine.rewrite({ ...task, output })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })
})
