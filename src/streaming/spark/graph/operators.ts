import { arithmetic, negation, remainder } from './arithmetic.ts'
import { Refusal } from './refusal.ts'
import { characterOf, concatenation, like, lengthOf, textTest } from './text-functions.ts'
import { constantValue, convert, isSmallestInteger, type SparkValue } from './values.ts'
import { commonType, isComparable, typeText, type ValueType } from './value-types.ts'

/** Writes a call in Spark's SQL, or throws a `Refusal`. */
export type Operator = (args: readonly SparkValue[]) => SparkValue

const BOOLEAN: ValueType = { kind: 'boolean' }

/**
 * The operators and functions of which Spark in ANSI mode gives the same values as DuckDB, by their names in `SqlExpression`;
 * `test/interop/spark-connect/graph-values.test.ts` compares them over boundary values.
 */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ...['=', '<>', '<', '<=', '>', '>='].map((sign) => [sign, comparison(sign)] as const),
  ['is distinct from', distinct('NOT ')],
  ['is not distinct from', distinct('')],
  ['in', membership('IN')],
  ['not in', membership('NOT IN')],
  ['between', between],
  ['and', conjunction('AND')],
  ['or', conjunction('OR')],
  ['not', ([value]) => truth(`(NOT ${condition(value)})`, [value])],
  ['is null', nullTest('IS NULL')],
  ['is not null', nullTest('IS NOT NULL')],
  ['coalesce', coalesce],
  ['nullif', nullif],
  ['case', caseOf],
  ['+', (args) => arithmetic('+', args)],
  ['-', (args) => (args.length === 1 ? negation(first(args)) : arithmetic('-', args))],
  ['*', (args) => arithmetic('*', args)],
  ['%', remainder],
  ['||', concatenation],
  ['~~', like('LIKE')],
  ['!~~', like('NOT LIKE')],
  ['starts_with', textTest('startswith')],
  ['prefix', textTest('startswith')],
  ['ends_with', textTest('endswith')],
  ['suffix', textTest('endswith')],
  ['contains', textTest('contains')],
  ['length', lengthOf],
  ['chr', characterOf],
])

function first([value]: readonly SparkValue[]): SparkValue {
  if (value === undefined || value.type.kind === 'null') throw new Refusal('NULL has no type here: CAST it')
  return value
}

function truth(sql: string, args: readonly (SparkValue | undefined)[]): SparkValue {
  return { sql, type: BOOLEAN, isNullable: args.some((arg) => arg?.isNullable !== false) }
}

/** A value that stands where a condition must; other types would be cast implicitly. */
export function condition(value: SparkValue | undefined): string {
  if (value?.type.kind === 'boolean') return value.sql
  if (value?.type.kind === 'null') return convert(value, BOOLEAN)
  throw new Refusal(`a condition is ${value ? typeText(value.type) : 'missing'}, not boolean: compare it`)
}

/** The values of an expression that gives one of them, in the type that DuckDB would give it. */
function results(values: readonly SparkValue[], what: string): ReturnType<typeof alike> {
  if (values.some(isSmallestInteger)) throw new Refusal(`Spark may give ${what} with -2147483648 another type: CAST it`)
  return alike(values, what)
}

/** The values as values of the type that DuckDB would give them together. */
function alike(
  values: readonly SparkValue[],
  what: string,
): { readonly type: ValueType; readonly sqls: readonly string[] } {
  let type: ValueType = { kind: 'null' }
  for (const value of values) {
    const common = commonType(type, value.type)
    if (common === undefined) {
      const types = `${typeText(type)} and ${typeText(value.type)}`
      throw new Refusal(`${what} has values of the types ${types}, which Spark may convert differently: CAST them`)
    }
    type = common
  }
  if (type.kind === 'null') throw new Refusal(`${what} has no value but NULL: CAST it`)
  return { type, sqls: values.map((value) => convert(value, type)) }
}

function compared(values: readonly SparkValue[], what: string): readonly string[] {
  const { type, sqls } = alike(values, what)
  if (isComparable(type)) return sqls
  throw new Refusal(`${what} compares values of the type ${typeText(type)}, which Spark may do differently`)
}

function comparison(sign: string): Operator {
  return (args) => {
    const [left, right] = compared(args, `the operator ${sign}`)
    return truth(`(${left} ${sign} ${right})`, args)
  }
}

function distinct(not: string): Operator {
  return (args) => {
    const [left, right] = compared(args, 'IS DISTINCT FROM')
    return truth(`(${not}(${left} <=> ${right}))`, [])
  }
}

function membership(word: string): Operator {
  return (args) => {
    const [value, ...elements] = compared(args, 'IN')
    const isFloating = args.some(({ type }) => type.kind === 'float' || type.kind === 'double')
    if (isFloating) throw new Refusal('Spark may compute IN differently for floating-point numbers: use = and OR')
    return truth(`(${value} ${word} (${elements.join(', ')}))`, args)
  }
}

function between(args: readonly SparkValue[]): SparkValue {
  const [value, low, high] = compared(args, 'BETWEEN')
  return truth(`((${value} >= ${low}) AND (${value} <= ${high}))`, args)
}

function conjunction(word: string): Operator {
  return (args) => truth(`(${args.map(condition).join(` ${word} `)})`, args)
}

function nullTest(words: string): Operator {
  return (args) => truth(`(${first(args).sql} ${words})`, [])
}

function coalesce(args: readonly SparkValue[]): SparkValue {
  const { type, sqls } = results(args, 'coalesce()')
  return { sql: `coalesce(${sqls.join(', ')})`, type, isNullable: args.every(({ isNullable }) => isNullable) }
}

function nullif(args: readonly SparkValue[]): SparkValue {
  const [left, right] = compared(args, 'nullif()')
  const value = first(args)
  return { sql: `(CASE WHEN (${left} = ${right}) THEN NULL ELSE ${value.sql} END)`, type: value.type, isNullable: true }
}

/** Conditions and results in turn, then the value of ELSE. */
function caseOf(args: readonly SparkValue[]): SparkValue {
  const given = args.filter((_, at) => at % 2 === 1 || at === args.length - 1)
  const { type, sqls } = results(given, 'CASE')
  const branches = sqls.slice(0, -1).map((sql, at) => `WHEN ${condition(args[at * 2])} THEN ${sql}`)
  const sql = `(CASE ${branches.join(' ')} ELSE ${sqls.at(-1)} END)`
  return { sql, type, isNullable: given.some(({ isNullable }) => isNullable) }
}

/** NULL of a type that a column can have: DuckDB gives NULL alone the type of an integer. */
export function typedNull(type: ValueType): SparkValue {
  const target: ValueType = type.kind === 'null' ? { kind: 'int' } : type
  return { sql: convert(constantValue({ type: 'null' }), target), type: target, isNullable: true }
}
