import { quoteSparkName } from '../../../engines/spark/connect/plan/quote-spark-name.ts'
import type { Type } from '../../../iceberg/schema/types.ts'
import { sparkTypeName } from '../column-types.ts'
import { streamName } from '../stream-name.ts'
import { typedNull } from './operators.ts'
import { Refusal } from './refusal.ts'
import { convert, type SparkValue } from './values.ts'
import { commonType, typeText, type ValueType } from './value-types.ts'

/** A column of a relation. */
export interface SparkColumn {
  /** The name that the graph has for it; undefined for an expression without alias. */
  readonly name: string | undefined
  /** Its quoted name in Spark: made up, so that names of users cannot be confused. */
  readonly ref: string
  readonly type: Type
  readonly isNullable: boolean
}

/** Rows in Spark's SQL. */
export interface SparkRelation {
  /** May stand after FROM. */
  readonly from: string
  readonly columns: readonly SparkColumn[]
  /** The sources that it reads, in the order in which they stand in `from`. */
  readonly sources: readonly number[]
  /** The node of a check before them that stops the pipeline for a row; undefined: there is none. */
  readonly failingCheck?: string | undefined
}

/** What a SELECT gives a column. */
export interface SelectedValue {
  readonly name: string | undefined
  readonly value: SparkValue
}

const ROW = 'r'

/** The rows of a source table; `names` are those of the graph. */
export function sourceRows(
  source: number,
  fields: readonly { readonly name: string; readonly type: Type; readonly required: boolean }[],
  names: readonly string[],
): SparkRelation {
  const columns = fields.map(({ name, type, required }, at) => ({
    name: names[at],
    ref: quoteSparkName([name]),
    type,
    isNullable: !required,
  }))
  return { from: streamName(source), columns, sources: [source] }
}

/** A column of the relation after FROM. */
export function columnValue({ ref, type, isNullable }: SparkColumn): SparkValue {
  return { sql: `${ROW}.${ref}`, type, isNullable }
}

/**
 * `SELECT … FROM … WHERE …`, row by row. Refuses a condition after a check that stops the pipeline: Spark need not check rows of which
 * it knows that a later condition leaves them out.
 */
export function selectRows(from: SparkRelation, selected: readonly SelectedValue[], where?: string): SparkRelation {
  if (where !== undefined && from.failingCheck !== undefined) {
    throw new Refusal(
      `it leaves out rows after the check ${from.failingCheck}, which Spark may then not check: put the check after this node`,
    )
  }
  const columns: SparkColumn[] = []
  const items = selected.map(({ name, value }, at) => {
    const { sql, type, isNullable } = value.type.kind === 'null' ? typedNull(value.type) : value
    const ref = `c${at}`
    if (type.kind !== 'null') columns.push({ name, ref, type, isNullable })
    return `${sql} AS ${ref}`
  })
  const condition = where === undefined ? '' : ` WHERE ${where}`
  return {
    from: `(SELECT ${items.join(', ')} FROM ${from.from} AS ${ROW}${condition})`,
    columns,
    sources: from.sources,
    failingCheck: from.failingCheck,
  }
}

/** All rows of relations with their columns in the same order. */
export function unionRows(parts: readonly SparkRelation[], names: readonly (string | undefined)[]): SparkRelation {
  if (parts.some(({ columns }) => columns.length !== names.length)) {
    throw new Refusal('the queries of UNION ALL have different numbers of columns')
  }
  const aligned = names.map((name, at) => ({ name, parts: parts.map(({ columns }) => columns[at]) }))
  return union(parts, aligned)
}

/** All rows of relations, with columns matched by name; `absent` columns are NULL. */
export function unionByName(parts: readonly SparkRelation[]): SparkRelation {
  const names = new Map<string, string>()
  for (const { columns } of parts)
    for (const { name } of columns)
      if (name !== undefined && !names.has(foldName(name))) names.set(foldName(name), name)
  const find = ({ columns }: SparkRelation, folded: string): SparkColumn | undefined =>
    columns.find(({ name }) => name !== undefined && foldName(name) === folded)
  return union(
    parts,
    [...names].map(([folded, name]) => ({ name, parts: parts.map((part) => find(part, folded)) })),
  )
}

/** A column of a union, with the column of each part that fills it. */
interface UnionColumn {
  readonly name: string | undefined
  readonly parts: readonly (SparkColumn | undefined)[]
}

/** The parts stand in the order of their sources: rows have no order, but the offsets in Spark's checkpoint do. */
function union(parts: readonly SparkRelation[], columns: readonly UnionColumn[]): SparkRelation {
  const types = columns.map(typeOfUnion)
  const branches = parts.map((part, at) => {
    const selected = columns.map(({ name, parts: found }, index) => {
      return { name, value: asType(found[at], types[index] ?? { kind: 'null' }) }
    })
    return selectRows(part, selected)
  })
  const ordered = branches.toSorted((a, b) => Math.min(...a.sources) - Math.min(...b.sources))
  const [first] = ordered
  const nullable = (at: number): boolean => ordered.some((branch) => branch.columns[at]?.isNullable !== false)
  return {
    from: `(${ordered.map(({ from }) => from.slice(1, -1)).join(' UNION ALL ')})`,
    columns: (first?.columns ?? []).map((column, at) => ({ ...column, isNullable: nullable(at) })),
    sources: ordered.flatMap(({ sources }) => sources),
    failingCheck: parts.find(({ failingCheck }) => failingCheck !== undefined)?.failingCheck,
  }
}

function typeOfUnion({ name, parts }: UnionColumn): ValueType {
  let type: ValueType = { kind: 'null' }
  for (const part of parts) {
    if (part === undefined) continue
    const common: ValueType | undefined = isSame(type, part.type) ? type : commonType(type, part.type)
    if (common === undefined) {
      const types = `${typeText(type)} and ${typeText(part.type)}`
      throw new Refusal(`column ${name ?? ''} has the types ${types}, which Spark may convert differently: CAST them`)
    }
    type = common
  }
  return type
}

function isSame(a: ValueType, b: ValueType): boolean {
  return typeText(a) === typeText(b)
}

function asType(column: SparkColumn | undefined, type: ValueType): SparkValue {
  if (column === undefined && type.kind !== 'null' && sparkTypeName(type) === undefined) {
    throw new Refusal(`a column of the type ${typeText(type)} that only some inputs have is not translated for Spark`)
  }
  if (column === undefined) return typedNull(type)
  const value = columnValue(column)
  return { sql: convert(value, type), type, isNullable: value.isNullable }
}

/** A name as DuckDB compares it: ignoring the case of ASCII letters. */
export function foldName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}
