import { canPromote } from '../../iceberg/schema/type-json.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { isNested, type NestedField, type Type } from '../../iceberg/schema/types.ts'

/** Types as Spark's SQL names them (Iceberg for Spark, "Type compatibility"). */
const NAMES: Readonly<Record<string, string>> = {
  boolean: 'BOOLEAN',
  int: 'INT',
  long: 'BIGINT',
  float: 'FLOAT',
  double: 'DOUBLE',
  date: 'DATE',
  timestamp: 'TIMESTAMP_NTZ',
  timestamptz: 'TIMESTAMP_LTZ',
  string: 'STRING',
  uuid: 'STRING',
  binary: 'BINARY',
}

/** Types that Spark cannot read or write in Iceberg tables, or whose values it rounds. */
const UNREADABLE: ReadonlySet<string> = new Set([
  'time',
  'timestamp_ns',
  'timestamptz_ns',
  'unknown',
  'variant',
  'geometry',
  'geography',
])

/** The name of a type for a CAST; undefined for types that no CAST may name. */
export function sparkTypeName(type: Type): string | undefined {
  return type.kind === 'decimal' ? `DECIMAL(${type.precision}, ${type.scale})` : NAMES[type.kind]
}

/** Names of columns that Spark cannot distinguish, because it ignores their case. */
export function ambiguousNames({ fields }: Schema): string[] {
  const names = new Set<string>()
  const twice = fields.filter(({ name }) => names.size === names.add(withoutCase(name)).size)
  return twice.map(({ name }) => `two columns are named ${name} when case is ignored, as Spark does`)
}

/** As Java compares names: `ı` is `i`, because their upper-case letters are the same. */
function withoutCase(name: string): string {
  return name.toUpperCase().toLowerCase()
}

/** Why Spark cannot leave out a column of the sink; empty when it writes NULL. */
export function absentProblem({ name, writeDefault }: NestedField): string[] {
  if (writeDefault === undefined || writeDefault === null) return []
  return [`column ${name} has a default, which Spark does not write`]
}

/** Why Spark cannot read or write a type, by the path of each such column. */
export function typeProblems(name: string, type: Type): string[] {
  if (type.kind === 'struct') return type.fields.flatMap((field) => typeProblems(`${name}.${field.name}`, field.type))
  if (type.kind === 'list') return typeProblems(`${name}.element`, type.element)
  if (type.kind === 'map') {
    return [...typeProblems(`${name}.key`, type.key), ...typeProblems(`${name}.value`, type.value)]
  }
  if (!UNREADABLE.has(type.kind)) return []
  return [`column ${name} is ${formatType(type)}, which Spark cannot read and write`]
}

/**
 * A value of one type as one of another, to which the embedded engine would promote it; undefined when Spark's cast would not
 * match by name.
 */
export function promotedSql(value: string, from: Type, to: Type): string | undefined {
  if (isAlike(from, to)) return value
  const name = canPromote(from, to, 3) ? sparkTypeName(to) : undefined
  return name && `CAST(${value} AS ${name})`
}

/** Whether two types are the same apart from field ids; fields of structs have the same names in the same order. */
export function isAlike(from: Type, to: Type): boolean {
  if (from.kind === 'struct' && to.kind === 'struct') {
    const isSame = (field: NestedField, at: number): boolean =>
      field.name === to.fields[at]?.name && isAlike(field.type, to.fields[at].type)
    return from.fields.length === to.fields.length && from.fields.every(isSame)
  }
  if (from.kind === 'list' && to.kind === 'list') return isAlike(from.element, to.element)
  if (from.kind === 'map' && to.kind === 'map') return isAlike(from.key, to.key) && isAlike(from.value, to.value)
  return !isNested(from) && !isNested(to) && formatType(from) === formatType(to)
}
