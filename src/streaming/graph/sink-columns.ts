import type { ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { JsonFloat } from '../../iceberg/json/json-float.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { canPromote } from '../../iceberg/schema/type-json.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import { isNested, type NestedField, type StructType, type Type } from '../../iceberg/schema/types.ts'
import { quoted } from './compile-graph.ts'
import type { ProblemCode } from './graph-problem.ts'

export interface SinkProblem {
  readonly code: ProblemCode
  readonly message: string
}

export interface SinkColumns {
  /** SQL per top-level column of the sink, named `c<field id>`. */
  readonly select: readonly string[]
  readonly problems: readonly SinkProblem[]
}

/**
 * Matches the columns of a result with those of a sink by name, with an exact-case match first. Every column of the
 * result needs a sink column; sink columns without a match get their `write-default` or NULL. Types must be the same
 * or promotable (Iceberg spec, "Schema Evolution"): no value is rounded or truncated.
 */
export function sinkColumns(columns: readonly ResultColumn[], sink: Schema, sandbox: SqlSandbox): SinkColumns {
  const problems: SinkProblem[] = []
  const { pairs, others } = pairColumns(columns, sink)
  const select = pairs.map(({ field, partner }) => {
    if (partner === undefined) return absent(field, sandbox, problems)
    const why = partner.type === undefined ? notStorable(partner) : mismatch(partner.type, field.type, field.name)
    if (why !== undefined) problems.push({ code: 'TYPE_MISMATCH', message: why })
    return `${quoted(partner.name)} AS c${field.id}`
  })
  for (const { name } of others) {
    problems.push({
      code: 'COLUMN_MISMATCH',
      message: `the sink has no column ${name}: add it to the sink, or remove it from the query`,
    })
  }
  return { select, problems }
}

/** A column of a sink, and the column of a result that fills it; undefined: none does. */
export interface ColumnPair<Column> {
  readonly field: NestedField
  readonly partner: Column | undefined
}

/** Matches columns of a result with those of a sink by name; `others` have no column in the sink. */
export function pairColumns<Column extends { readonly name: string }>(
  columns: readonly Column[],
  sink: Schema,
): { readonly pairs: readonly ColumnPair<Column>[]; readonly others: readonly Column[] } {
  const free = new Set(columns)
  const pairs = sink.fields.map((field) => {
    const partner = partnerOf(field, sink, free)
    if (partner !== undefined) free.delete(partner)
    return { field, partner }
  })
  return { pairs, others: [...free] }
}

function partnerOf<Column extends { readonly name: string }>(
  field: NestedField,
  sink: Schema,
  free: ReadonlySet<Column>,
): Column | undefined {
  const exact = [...free].find(({ name }) => name === field.name)
  if (exact) return exact
  const isAlike = (name: string): boolean => name.toLowerCase() === field.name.toLowerCase()
  const rivals = sink.fields.filter(({ name }) => isAlike(name))
  return rivals.length === 1 ? [...free].find(({ name }) => isAlike(name)) : undefined
}

function absent(field: NestedField, sandbox: SqlSandbox, problems: SinkProblem[]): string {
  const { writeDefault } = field
  const type = engineType(field, sandbox)
  if (writeDefault === undefined || writeDefault === null) {
    if (field.required) {
      problems.push({
        code: 'COLUMN_MISMATCH',
        message: `column ${field.name} of the sink is required, but no column of the result fills it`,
      })
    }
    return `CAST(NULL AS ${type}) AS c${field.id}`
  }
  if (isNested(field.type) || field.type.kind === 'binary' || isNestedDefault(writeDefault)) {
    problems.push({
      code: 'COLUMN_MISMATCH',
      message: `column ${field.name} of the sink has a default that cannot be applied automatically: select a value for it`,
    })
    return `CAST(NULL AS ${type}) AS c${field.id}`
  }
  return `CAST('${textOf(writeDefault).replaceAll("'", "''")}' AS ${type}) AS c${field.id}`
}

/** The check of the sink itself reports a type that the engine cannot write. */
function engineType(field: NestedField, sandbox: SqlSandbox): string {
  try {
    return sandbox.columnsOf([field])[0]?.engineType ?? 'VARCHAR'
  } catch (error) {
    if (isIcebergError(error, 'UNSUPPORTED')) return 'VARCHAR'
    throw error
  }
}

function notStorable({ name, engineType: type }: ResultColumn): string {
  const advice = type === 'HUGEINT' || type === 'UHUGEINT' || type === 'UBIGINT' ? `: CAST(${name} AS BIGINT)?` : ''
  return `column ${name} is ${type}, which tables cannot store${advice}`
}

/** Why values of one type cannot become values of another unchanged; undefined when they can. */
function mismatch(from: Type, to: Type, path: string): string | undefined {
  if (from.kind === 'list' && to.kind === 'list') {
    return requiredInside(path, to.elementRequired) ?? mismatch(from.element, to.element, `${path}.element`)
  }
  if (from.kind === 'map' && to.kind === 'map') {
    return (
      requiredInside(path, to.valueRequired) ??
      mismatch(from.key, to.key, `${path}.key`) ??
      mismatch(from.value, to.value, `${path}.value`)
    )
  }
  if (from.kind === 'struct' && to.kind === 'struct') return structMismatch(from, to, path)
  if (isPromotable(from, to)) return undefined
  return `column ${path} is ${formatType(from)}, in the sink ${formatType(to)}: CAST it`
}

function isPromotable(from: Type, to: Type): boolean {
  return !isNested(from) && !isNested(to) && canPromote(from, to, 3)
}

function structMismatch(from: StructType, to: StructType, path: string): string | undefined {
  const names = to.fields.map(({ name }) => name)
  if (from.fields.length !== names.length || from.fields.some(({ name }, at) => name !== names[at])) {
    return `column ${path} has the fields ${from.fields.map(({ name }) => name).join(', ')}, in the sink ${names.join(', ')}`
  }
  for (const [at, field] of to.fields.entries()) {
    const inner = from.fields[at]
    const why =
      requiredInside(path, field.required) ?? (inner && mismatch(inner.type, field.type, `${path}.${field.name}`))
    if (why !== undefined) return why
  }
  return undefined
}

/** Whether nested values are missing is not known before they are written. */
function requiredInside(path: string, isRequired: boolean): string | undefined {
  return isRequired
    ? `column ${path} of the sink has required nested values, which a query cannot guarantee`
    : undefined
}

/** A single value in the form used in table metadata (Iceberg spec, Appendix D). */
function isNestedDefault(value: unknown): boolean {
  return typeof value === 'object' && !(value instanceof JsonFloat)
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof JsonFloat) return value.toString()
  return typeof value === 'bigint' ? value.toString() : JSON.stringify(value)
}
