import { IcebergError } from '../../../iceberg/errors.ts'
import type { Transform } from '../../../iceberg/partitioning/partitioning.ts'
import type { Schema } from '../../../iceberg/schema/schema.ts'
import { fieldById, parentFieldId } from '../../../iceberg/schema/schema.ts'
import { applyTransform, formatTransform, transformResultType } from '../../../iceberg/partitioning/transforms.ts'
import type { NestedField, PrimitiveType } from '../../../iceberg/schema/types.ts'
import { isNested } from '../../../iceberg/schema/types.ts'

import type { DuckDbRun } from '../session/session.ts'
import { engineValue } from '../session/engine-values.ts'
import { toValue } from '../session/result-values.ts'
import { TableFiller } from '../scan/table-filler.ts'
import { withInfinities } from '../session/temporal-infinity.ts'
import { duckType } from '../session/type-mapping.ts'
import { valueLiteral } from '../session/value-literal.ts'

/** A transform applied to the rows of `s`, whose columns are named `c<id>`. */
export interface TransformSql {
  /** SQL of the transformed value. */
  readonly sql: string
  readonly type: PrimitiveType
  /** A join that the value needs; empty for most. */
  readonly join: string
}

export interface TransformRequest {
  readonly schema: Schema
  readonly sourceId: number
  readonly transform: Transform
  /** SELECT of the rows that will be transformed, to learn the values whose buckets have to be computed here. */
  readonly rows: string
  /** Makes the names of lookup tables unique in a run. */
  readonly name: string
}

const MICROS_PER_HOUR = 3_600_000_000n

/** SQL for a partition or sort transform (Iceberg spec, "Partition Transforms"; docs/iceberg-notes.md#transforms). */
export async function transformSql(run: DuckDbRun, request: TransformRequest): Promise<TransformSql> {
  const { schema, sourceId, transform } = request
  if (transform.kind === 'void') return { sql: 'NULL::INTEGER', type: { kind: 'unknown' }, join: '' }
  const field = fieldById(schema, sourceId)
  if (field === undefined || isNested(field.type)) {
    throw new IcebergError(
      'UNSUPPORTED',
      `the source column ${sourceId} of transform ${formatTransform(transform)} no longer exists`,
    )
  }
  const source = leafSql(schema, field)
  const type = transformResultType(transform, field.type)
  const direct = directSql(transform, field.type, source)
  if (direct !== undefined) return { sql: direct, type, join: '' }
  return lookupSql(run, { ...request, source, sourceType: field.type, type })
}

/** SQL of a column at any depth of structs. */
function leafSql(schema: Schema, field: NestedField): string {
  const parent = parentFieldId(schema, field.id)
  if (parent === undefined) return `s.c${field.id}`
  const outer = fieldById(schema, parent)
  if (outer?.type.kind !== 'struct') {
    throw new IcebergError('INVALID_METADATA', `column ${field.name} is inside a list or map and cannot be transformed`)
  }
  const at = outer.type.fields.findIndex((candidate) => candidate.id === field.id)
  return `struct_extract_at(${leafSql(schema, outer)}, ${at + 1})`
}

/** SQL without a lookup, or undefined when the values have to be computed here. */
function directSql(transform: Transform, type: PrimitiveType, source: string): string | undefined {
  switch (transform.kind) {
    case 'identity':
      return source
    case 'year':
    case 'month':
    case 'day':
    case 'hour':
      return timeSql(transform.kind, type, source)
    case 'truncate':
      return truncateSql(type, source, transform.width)
    case 'bucket':
      return bucketSql(type, source, transform.buckets)
    default:
      throw new IcebergError(
        'UNSUPPORTED',
        `the transform "${formatTransform(transform)}" is unknown and cannot be applied`,
      )
  }
}

function timeSql(unit: 'year' | 'month' | 'day' | 'hour', type: PrimitiveType, source: string): string {
  if (type.kind === 'date') return dateSql(unit, source)
  if (unit === 'hour') return `CAST(${floorQuotient(microsSql(type, source), MICROS_PER_HOUR)} AS INTEGER)`
  // from the microseconds, to be independent of the session's zone and of rounding before 1970
  const days = `CAST(${floorQuotient(microsSql(type, source), 24n * MICROS_PER_HOUR)} AS INTEGER)`
  return dateUnits(unit, `(DATE '1970-01-01' + ${days})`)
}

function dateSql(unit: 'year' | 'month' | 'day' | 'hour', source: string): string {
  const type: PrimitiveType = { kind: 'date' }
  if (unit === 'day') return source
  return withInfinities({ type, source, sql: dateUnits(unit, source) }, (days) =>
    valueLiteral({ kind: 'int' }, applyTransform({ kind: unit }, type, Number(days))),
  )
}

function dateUnits(unit: string, date: string): string {
  if (unit === 'day') return date
  const year = `(year(${date}) - 1970)`
  return unit === 'year' ? `CAST(${year} AS INTEGER)` : `CAST(${year} * 12 + month(${date}) - 1 AS INTEGER)`
}

function microsSql(type: PrimitiveType, source: string): string {
  if (type.kind === 'timestamp_ns') return floorQuotient(`epoch_ns(${source})`, 1000n)
  return `(${withInfinities({ type, source, sql: `epoch_us(${source})` }, (micros) => `'${micros}'::BIGINT`)})`
}

/** DuckDB's `//` rounds towards zero. */
function floorQuotient(source: string, divisor: bigint): string {
  return `(${source} // ${divisor} - (${source} % ${divisor} < 0)::INTEGER)`
}

/**
 * The multiple of the width below a number. Below the smallest number of the type there is none: it wraps around, as
 * in the reference implementation.
 */
function truncateSql(type: PrimitiveType, source: string, width: number): string | undefined {
  switch (type.kind) {
    case 'int':
      return truncateInteger({ source, wide: 'BIGINT', bits: 32n, width })
    case 'long':
      return truncateInteger({ source, wide: 'HUGEINT', bits: 64n, width })
    case 'string':
      return `left(${source}, ${width})`
    default:
      return undefined
  }
}

interface IntegerTruncation {
  readonly source: string
  /** A type wide enough for what wraps around. */
  readonly wide: string
  readonly bits: bigint
  readonly width: number
}

function truncateInteger({ source, wide, bits, width }: IntegerTruncation): string {
  const own = bits === 32n ? 'INTEGER' : 'BIGINT'
  const least = `'${-(2n ** (bits - 1n))}'::${wide}`
  const multiple = `(CAST(${source} AS ${wide}) - (CAST(${source} AS ${wide}) % ${width} + ${width}) % ${width})`
  return `CAST(${multiple} + CASE WHEN ${multiple} < ${least} THEN '${2n ** bits}'::${wide} ELSE 0 END AS ${own})`
}

/** The bucket of everything that is hashed as a 64-bit integer, computed with 32-bit arithmetic in 64-bit numbers. */
function bucketSql(type: PrimitiveType, source: string, buckets: number): string | undefined {
  const long = hashedLong(type, source)
  return long === undefined ? undefined : `CAST(lockhouse_bucket(${long}, ${buckets}) AS INTEGER)`
}

function hashedLong(type: PrimitiveType, source: string): string | undefined {
  switch (type.kind) {
    case 'int':
    case 'long':
      return `CAST(${source} AS BIGINT)`
    case 'date':
      return `CAST(${source} - DATE '1970-01-01' AS BIGINT)`
    case 'time':
      return `epoch_us(${source})`
    case 'timestamp':
    case 'timestamptz':
    case 'timestamp_ns':
      return microsSql(type, source)
    default:
      return undefined
  }
}

/** Defines what {@link transformSql} uses: murmur3 x86 32 with seed 0 over 8 little-endian bytes (Iceberg spec, Appendix B). */
export async function defineTransformMacros(run: DuckDbRun): Promise<void> {
  const mask = 4_294_967_295
  const macros = [
    `mul(a, b) AS ((a::UBIGINT * b::UBIGINT) & ${mask}::UBIGINT)`,
    `rotl(a, r) AS (((a << r) | (a >> (32 - r))) & ${mask}::UBIGINT)`,
    'word(w) AS lockhouse_mul(lockhouse_rotl(lockhouse_mul(w, 3432918353), 15), 461845907)',
    'mix(h, w) AS ' +
      `((lockhouse_rotl(xor(h, lockhouse_word(w)), 13) * 5::UBIGINT + 3864292196::UBIGINT) & ${mask}::UBIGINT)`,
    'shake(h, r) AS xor(h, h >> r)',
    'end(h) AS lockhouse_shake(lockhouse_mul(lockhouse_shake(lockhouse_mul(' +
      'lockhouse_shake(xor(h, 8::UBIGINT), 16), 2246822507), 13), 3266489909), 16)',
    'hash(v) AS lockhouse_end(lockhouse_mix(' +
      `lockhouse_mix(0::UBIGINT, (v & ${mask})::UBIGINT), ((v >> 32) & ${mask})::UBIGINT))`,
    'bucket(v, n) AS (lockhouse_hash(v) & 2147483647::UBIGINT) % n',
  ]
  for (const macro of macros) await run.execute(`CREATE OR REPLACE TEMP MACRO lockhouse_${macro}`)
}

interface LookupRequest extends TransformRequest {
  readonly source: string
  readonly sourceType: PrimitiveType
  readonly type: PrimitiveType
}

/** A table from every distinct source value to its transformed value, which is computed here. */
async function lookupSql(run: DuckDbRun, request: LookupRequest): Promise<TransformSql> {
  const { name, source, sourceType, type, transform, rows } = request
  await run.execute(
    `CREATE OR REPLACE TEMP TABLE ${name}_values AS SELECT DISTINCT ${source} AS v FROM (${rows}) AS s WHERE v IS NOT NULL`,
  )
  await run.execute(`CREATE OR REPLACE TEMP TABLE ${name} (v ${duckType(sourceType)}, t ${duckType(type)})`)
  // materialized, as filling the table would end a stream of the same connection
  const result = await run.result(`SELECT v FROM ${name}_values`)
  let filled = 0
  const factory = await import('@duckdb/node-api')
  await TableFiller.fill(run, name, async (table) => {
    for (let chunk = await result.fetchChunk(); chunk && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
      for (const value of chunk.getColumnValues(0)) {
        const plain = toValue(sourceType, value)
        const transformed = plain === null ? null : applyTransform(transform, sourceType, plain)
        filled += 1
        const turn = table.add([value, transformed === null ? null : engineValue(factory, type, transformed)])
        if (turn) await turn
      }
    }
  })
  const [counted] = await run.rows(`SELECT count(*) AS n FROM ${name}_values`)
  if (Number(counted?.['n']) !== filled) throw new IcebergError('ENGINE_FAILED', 'some values to transform were lost')
  return { sql: `${name}.t`, type, join: `LEFT JOIN ${name} ON ${name}.v = ${source}` }
}
