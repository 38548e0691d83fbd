import { parquetReadObjects } from 'hyparquet'
import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import type { OutputSpec } from '../../../src/engines/output-spec.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import type { PartitionSpec, Transform } from '../../../src/iceberg/partitioning/partitioning.ts'
import { applyTransform, formatTransform } from '../../../src/iceberg/partitioning/transforms.ts'
import type { NestedField, PrimitiveType, Value } from '../../../src/iceberg/schema/types.ts'
import { compareValues, valueFromBytes, valueKey, valueToJson } from '../../../src/iceberg/values/values.ts'
import { decompress } from 'fzstd'
import { edgeTypes } from '../../support/edge-values.ts'
import { field, footer, Lake, schemaOf, task } from './harness/lake.ts'
import { LONG } from '../../support/effort.ts'

const lake = new Lake()
afterAll(() => lake.close())

const spec = (transform: Transform): PartitionSpec => ({
  specId: 0,
  fields: [{ fieldId: 1000, sourceId: 2, name: 'p', transform }],
})
const newDataLocation = (): string => lake.path(`out/${crypto.randomUUID()}.parquet`)
const IDENTITY = spec({ kind: 'identity' })

/** The values of a column, as the bytes of the file hold them, by a reader that is not DuckDB. */
async function rawValues(file: DataFile, type: PrimitiveType, column = 'v'): Promise<(Value | null)[]> {
  const buffer = readFileSync(file.filePath)
  const raw = (value: unknown): unknown => value
  const rows = await parquetReadObjects({
    file: buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength),
    compressors: { ZSTD: (input) => decompress(input) },
    utf8: false,
    parsers: {
      dateFromDays: raw,
      timestampFromMilliseconds: raw,
      timestampFromMicroseconds: raw,
      timestampFromNanoseconds: raw,
      stringFromBytes: raw,
      uuidFromBytes: raw,
    },
  })
  return rows.map((row) => fromRaw(type, row[column]))
}

function fromRaw(type: PrimitiveType, value: unknown): Value | null {
  if (value === null || value === undefined) return null
  if (type.kind === 'string' && value instanceof Uint8Array) return new TextDecoder().decode(value)
  if (type.kind === 'uuid' && value instanceof Uint8Array) return valueFromBytes(type, value)
  return value as Value
}

/** A file of one row with an id and without column `v`, and the table's schema. */
async function lacking(fields: readonly NestedField[], partition: readonly (Value | null)[] = []) {
  const input = await lake.data('SELECT 1::INTEGER AS id', '{id: 1}', { partition })
  return { input, schema: schemaOf(fields) }
}

/** hyparquet turns decimals into doubles, so their digits are asked of the engine's own reader too. */
const isExact = (type: PrimitiveType): boolean => type.kind !== 'decimal'

async function expectValue(file: DataFile, type: PrimitiveType, value: Value, id = 2): Promise<void> {
  const column = id === 2 ? 'v' : `v${id}`
  expect(footer(file.filePath).num_rows).toBe(1n)
  if (isExact(type)) {
    const [found] = await rawValues(file, type, column)
    expect(valueKey(type, found ?? null)).toBe(valueKey(type, value))
  } else {
    const [row] = await lake.sql(
      `SELECT regexp_replace(${column}::VARCHAR, '^(-?)[.]', '\\10.') AS v FROM '${file.filePath}'`,
    )
    expect(row?.['v']).toBe(valueToJson(type, value))
  }
  expectBounds(file, type, value, id)
}

/** Bounds that are there include the value. */
function expectBounds(file: DataFile, type: PrimitiveType, value: Value, id: number): void {
  const [lower, upper] = [file.lowerBounds?.get(id), file.upperBounds?.get(id)]
  if (lower) expect(compareValues(type, valueFromBytes(type, lower), value)).toBeLessThanOrEqual(0)
  if (upper) expect(compareValues(type, valueFromBytes(type, upper), value)).toBeGreaterThanOrEqual(0)
}

const isJson = (value: Value): boolean => typeof value !== 'number' || Number.isFinite(value)

/** Types whose partitions are always tested. */
const PARTITIONED = new Set(['int', 'timestamptz', 'string', 'uuid'])

describe.each(edgeTypes)('extreme values of type %s', (text, type, values) => {
  const options = PARTITIONED.has(text) ? {} : LONG
  it('are written as the default of a column that files lack', async () => {
    const engine = await lake.engine()
    const given = values.filter(isJson)
    const columns = given.map((value, at) =>
      field(10 + at, `v${10 + at}`, text, { initialDefault: valueToJson(type, value) }),
    )
    const { input, schema } = await lacking([field(1, 'id', 'int'), ...columns])
    const rewrite = lake.task({ schemas: [schema], formatVersion: 3 }, [input], { verifyValues: true })
    const { files, values: compared } = await engine.rewrite(rewrite)
    expect(compared?.isEqual).toBe(true)
    for (const [at, value] of given.entries()) await expectValue(files[0] as DataFile, type, value, 10 + at)
  })

  it(
    'are written as the partition value of a column that files lack, and read back as the same partition',
    options,
    async () => {
      const engine = await lake.engine()
      for (const value of values) {
        const { input, schema } = await lacking([field(1, 'id', 'int'), field(2, 'v', text)], [value])
        const shape = { schemas: [schema], specs: [IDENTITY], formatVersion: 3 as const }
        const output: OutputSpec = lake.output(schema, { partitionSpec: IDENTITY, newDataLocation })
        const { files } = await engine.rewrite(lake.task(shape, [input], { partition: [value], output }))
        const [file] = files
        await expectValue(file as DataFile, type, value)
        const { partition: _, ...computed } = lake.task(shape, [task(file as DataFile)])
        const again = await engine.rewrite({
          ...computed,
          output: lake.output(schema, { partitionSpec: IDENTITY, newDataLocation }),
        })
        expect(again.files).toHaveLength(1)
        expect(valueKey(type, again.files[0]?.partition[0] ?? null)).toBe(valueKey(type, value))
        await expectValue(again.files[0] as DataFile, type, value)
      }
    },
  )

  it('are put into the partitions that the specification says', options, async () => {
    const engine = await lake.engine()
    const schema = schemaOf([field(1, 'id', 'int'), field(2, 'v', text)])
    const rows: DataFile[] = []
    for (const value of values) {
      const { input } = await lacking(schema.fields, [value])
      const written = await engine.rewrite(
        lake.task({ schemas: [schema], specs: [IDENTITY], formatVersion: 3 as const }, [input]),
      )
      rows.push(...written.files.map((file) => ({ ...file, partition: [value] })))
    }
    expect(rows).toHaveLength(values.length)
    for (const transform of transformsOf(type)) {
      const inputs = rows.flatMap((file, at) =>
        hasResult(transform, type, values[at]) ? task({ ...file, partition: [] }) : [],
      )
      const { partition: _, ...computed } = lake.task({ schemas: [schema], formatVersion: 3 }, inputs)
      const output = lake.output(schema, { partitionSpec: spec(transform), newDataLocation })
      const { files, rowsWritten, values: compared } = await engine.rewrite({ ...computed, output, verifyValues: true })
      expect([rowsWritten, compared?.isEqual]).toEqual([inputs.length, true])
      const result = transform.kind === 'day' ? ({ kind: 'date' } as const) : type
      const keyOf = (value: Value | null): string => valueKey(result, value)
      const expected = values
        .filter((value) => hasResult(transform, type, value))
        .map((value) => keyOf(applyTransform(transform, type, value)))
      expect(
        files.map((file) => keyOf(file.partition[0] ?? null)).toSorted(),
        `${formatTransform(transform)} of ${text}`,
      ).toEqual([...new Set(expected)].toSorted())
      if (!isExact(type)) continue
      for (const file of files)
        for (const value of await rawValues(file, type))
          expect(keyOf(applyTransform(transform, type, value))).toBe(keyOf(file.partition[0] ?? null))
    }
  })
})

/** Hours are counted in 32 bits, which end 245,000 years from 1970. */
function hasResult({ kind }: Transform, type: PrimitiveType, value: Value | undefined): boolean {
  if (kind !== 'hour' || typeof value !== 'bigint' || type.kind === 'timestamp_ns') return true
  return BigInt.asIntN(32, value / 3_600_000_000n) === value / 3_600_000_000n
}

it('refuses a row whose hour does not fit 32 bits', async () => {
  const engine = await lake.engine()
  const schema = schemaOf([field(1, 'id', 'int'), field(2, 'v', 'timestamp')])
  for (const value of [2n ** 63n - 1n, 2n ** 63n - 2n]) {
    expect(() => applyTransform({ kind: 'hour' }, { kind: 'timestamp' }, value)).toThrow('32 bits')
    const { input } = await lacking(schema.fields, [value])
    const { partition: _, ...computed } = lake.task({ schemas: [schema], specs: [IDENTITY] }, [input])
    const output = lake.output(schema, { partitionSpec: spec({ kind: 'hour' }), newDataLocation })
    await expect(engine.rewrite({ ...computed, output })).rejects.toHaveProperty('code', 'CORRUPT_FILE')
  }
})

it('refuses a date that does not fit the timestamp that its column has become', async () => {
  const engine = await lake.engine()
  const before = schemaOf([field(1, 'id', 'int'), field(2, 'v', 'date')])
  const after = schemaOf([field(1, 'id', 'int'), field(2, 'v', 'timestamp')], 1)
  for (const days of [2 ** 31 - 1, -(2 ** 31 - 1), 19_000]) {
    const { input } = await lacking(before.fields, [days])
    const written = await engine.rewrite(lake.task({ schemas: [before], specs: [IDENTITY], formatVersion: 3 }, [input]))
    const inFile = written.files.map((file) => task({ ...file, partition: [days] }))
    const lackingIt = [input]
    for (const inputs of [inFile, lackingIt]) {
      const shape = { schemas: [before, after], specs: [IDENTITY], formatVersion: 3 as const }
      const rewrite = engine.rewrite(lake.task(shape, inputs))
      if (days === 19_000)
        expect(await rawValues((await rewrite).files[0] as DataFile, { kind: 'long' })).toEqual([
          1_641_600_000_000_000n,
        ])
      else await expect(rewrite).rejects.toHaveProperty('code')
    }
  }
})

it.each(['timestamp', 'timestamptz', 'timestamp_ns'])(
  'a %s before the first day of the engine is refused, not changed',
  async (text) => {
    const engine = await lake.engine()
    const schema = schemaOf([field(1, 'id', 'int'), field(2, 'v', text)])
    for (const value of [-(2n ** 63n), -(2n ** 63n) + 2n]) {
      const { input } = await lacking(schema.fields, [value])
      const shape = { schemas: [schema], specs: [IDENTITY], formatVersion: 3 as const }
      const rewrite = engine.rewrite(lake.task(shape, [input]))
      const outcome = await rewrite.then(
        async ({ files }) => (await rawValues(files[0] as DataFile, { kind: 'timestamp' }))[0],
        (error: unknown) => error,
      )
      if (outcome !== value) expect(outcome).toHaveProperty('code', 'CORRUPT_FILE')
    }
  },
)

function transformsOf(type: PrimitiveType): readonly Transform[] {
  const bucket: Transform = { kind: 'bucket', buckets: 1_000_003 }
  switch (type.kind) {
    case 'boolean':
    case 'float':
    case 'double':
      return []
    case 'int':
    case 'long':
    case 'decimal':
    case 'string':
    case 'binary':
      return [bucket, { kind: 'truncate', width: 10 }, { kind: 'truncate', width: 1 }]
    case 'date':
      return [bucket, { kind: 'year' }, { kind: 'month' }, { kind: 'day' }]
    case 'time':
    case 'uuid':
      return [bucket]
    default:
      return [bucket, { kind: 'year' }, { kind: 'month' }, { kind: 'day' }, { kind: 'hour' }]
  }
}
