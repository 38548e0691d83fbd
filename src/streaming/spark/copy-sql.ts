import { quoteSparkName } from '../../engines/spark/connect/plan/quote-spark-name.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { isNested, type NestedField, type Type } from '../../iceberg/schema/types.ts'
import { mapColumns } from '../sink/column-mapping.ts'
import type { BatchSchemas, SparkBatch } from '../sink/batch-query.ts'
import { streamName } from './stream-name.ts'

/** How a type that a CAST may name is written in Spark's SQL (Iceberg for Spark, "Type compatibility"). */
const CASTS: Readonly<Record<string, string>> = {
  long: 'BIGINT',
  double: 'DOUBLE',
  timestamp: 'TIMESTAMP_NTZ',
  timestamptz: 'TIMESTAMP',
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

/** The columns of a copy as Spark's SQL, matched as the embedded engine matches them; what Spark cannot match is a problem. */
export function sparkCopy({ sources: [source], sink, known }: BatchSchemas): SparkBatch {
  if (source === undefined) return { query: '', problems: ['a copy has one source'] }
  const { reads } = mapColumns(source, sink, known)
  const problems = [...ambiguous(source), ...ambiguous(sink)]
  const columns = reads.flatMap((read, at) => {
    const from = source.fields.find(({ id }) => id === read.id)
    const to = sink.fields[at]
    if (to === undefined) return []
    if (from === undefined) return problems.push(...absentProblem(to)) > 0 ? [] : [] // Spark writes NULL
    const problem = [from, to].flatMap(({ name, type }) => typeProblem(name, type))[0]
    if (problem !== undefined) problems.push(problem)
    const value = `${streamName(0)}.${quoteSparkName([from.name])}`
    const cast = castOf(from.type, to.type)
    if (cast === undefined) problems.push(`column ${to.name}: Spark cannot convert it; use the embedded engine`)
    return [`${cast ? `CAST(${value} AS ${cast})` : value} AS ${quoteSparkName([to.name])}`]
  })
  return { query: `SELECT ${columns.join(', ')} FROM ${streamName(0)}`, problems }
}

/** Spark ignores the case of names, so two columns that differ only in case are one to it. */
function ambiguous({ fields }: Schema): string[] {
  const names = fields.map(({ name }) => name.toLowerCase())
  const twice = fields.filter(({ name }, at) => names.indexOf(name.toLowerCase()) !== at)
  return twice.map(({ name }) => `two columns are named ${name} when case is ignored, as Spark does`)
}

function absentProblem({ name, writeDefault }: NestedField): string[] {
  if (writeDefault === undefined || writeDefault === null) return []
  return [`column ${name} has a default, which Spark does not write; use the embedded engine`]
}

/** Why Spark cannot read or write a type. */
function typeProblem(name: string, type: Type): string[] {
  if (type.kind === 'struct') return type.fields.flatMap((field) => typeProblem(`${name}.${field.name}`, field.type))
  if (type.kind === 'list') return typeProblem(`${name}.element`, type.element)
  if (type.kind === 'map') return [...typeProblem(`${name}.key`, type.key), ...typeProblem(`${name}.value`, type.value)]
  if (!UNREADABLE.has(type.kind)) return []
  return [`column ${name} is ${formatType(type)}, which Spark cannot copy; use the embedded engine`]
}

/** What a value must be cast to; empty when it has the type, undefined when Spark's cast would not match by name. */
function castOf(from: Type, to: Type): string | undefined {
  if (isAlike(from, to)) return ''
  if (isNested(from) || isNested(to)) return undefined
  return to.kind === 'decimal' ? `DECIMAL(${to.precision}, ${to.scale})` : CASTS[to.kind]
}

/** Whether two types are the same apart from field ids; fields of structs have the same names in the same order. */
function isAlike(from: Type, to: Type): boolean {
  if (from.kind === 'struct' && to.kind === 'struct') {
    const isSame = (field: NestedField, at: number): boolean =>
      field.name === to.fields[at]?.name && isAlike(field.type, to.fields[at].type)
    return from.fields.length === to.fields.length && from.fields.every(isSame)
  }
  if (from.kind === 'list' && to.kind === 'list') return isAlike(from.element, to.element)
  if (from.kind === 'map' && to.kind === 'map') return isAlike(from.key, to.key) && isAlike(from.value, to.value)
  return !isNested(from) && !isNested(to) && formatType(from) === formatType(to)
}
