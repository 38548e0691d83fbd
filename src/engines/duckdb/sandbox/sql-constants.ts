import { JsonFloat } from '../../../iceberg/json/json-float.ts'
import type { JsonObject, JsonValue } from '../../../iceberg/json/lossless-json.ts'
import type { SqlConstant, SqlExpression } from '../../sql-syntax.ts'
import { objectOf, other, textIn } from './syntax-parts.ts'

/** A constant of the engine's syntax tree, exactly as it was written. */
export function constantOf(tree: JsonObject): SqlExpression {
  const type = objectOf(tree['type'])
  const id = textIn(type, 'id')
  const value = tree['is_null'] === true ? ({ type: 'null' } as const) : valueOf(id, type, tree['value'])
  return value === undefined ? other(`a constant of the type ${id}`) : { kind: 'constant', value }
}

function valueOf(id: string, type: JsonObject, value: JsonValue | undefined): SqlConstant | undefined {
  switch (id) {
    case 'BOOLEAN':
      return typeof value === 'boolean' ? { type: 'boolean', value } : undefined
    case 'VARCHAR':
      return typeof value === 'string' ? { type: 'text', value } : undefined
    case 'INTEGER':
    case 'BIGINT':
      return integer(id === 'INTEGER' ? 32 : 64, value)
    case 'DECIMAL':
      return decimal(objectOf(type['type_info']), value)
    case 'DOUBLE':
      return double(value)
    default:
      return undefined
  }
}

function integer(bits: 32 | 64, value: JsonValue | undefined): SqlConstant | undefined {
  const whole = wholeOf(value)
  return whole === undefined ? undefined : { type: 'integer', value: whole, bits }
}

function decimal({ width, scale }: JsonObject, value: JsonValue | undefined): SqlConstant | undefined {
  const unscaled = wholeOf(value)
  if (unscaled === undefined) return undefined
  return { type: 'decimal', unscaled, precision: Number(width), scale: Number(scale) }
}

/** An integer; one of more than 64 bits comes in two halves. */
function wholeOf(value: JsonValue | undefined): bigint | undefined {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined
  const { upper, lower } = objectOf(value)
  const [high, low] = [upper, lower].map((half) => (half === undefined ? undefined : wholeOf(half)))
  return high === undefined || low === undefined ? undefined : (high << 64n) + low
}

function double(value: JsonValue | undefined): SqlConstant | undefined {
  const plain = value instanceof JsonFloat ? value.value : value
  const number = typeof plain === 'bigint' || typeof plain === 'number' ? Number(plain) : Number.NaN
  return Number.isFinite(number) ? { type: 'double', value: number } : undefined
}
