import type { QueryColumn, RelationShape } from '../../engines/sql-sandbox.ts'
import { ORDER_COLUMN } from './compile-graph.ts'
import { DIVERT_COLUMNS } from './divert-columns.ts'
import { followsChanges, type GraphPlan, type PlannedNode } from './graph-plan.ts'
import type { ProblemCode } from './graph-problem.ts'

/** Why a node cannot run. */
export class NodeProblem extends Error {
  override readonly name = 'NodeProblem'
  readonly code: ProblemCode

  constructor(code: ProblemCode, message: string) {
    super(message)
    this.code = code
  }
}

/** What a node reads. */
export interface NodeRelations {
  readonly inputs: readonly RelationShape[]
  /** The table of a source or lookup; else none. */
  readonly tables: readonly RelationShape[]
  readonly plan: GraphPlan
  /** Undefined: the sink does not exist. */
  readonly sinkColumns: readonly QueryColumn[] | undefined
}

/** Throws `NodeProblem` when the columns that a node reads do not fit its config; SQL is checked by the engine. */
export function requireFitting(node: PlannedNode, { inputs, tables, plan, sinkColumns }: NodeRelations): void {
  const [{ columns } = { columns: [] }] = inputs
  switch (node.type) {
    case 'union':
      if (node.config.missing_columns === 'fail') requireSameColumns(inputs)
      return
    case 'check':
      if (node.config.divert_to !== undefined) requireFree(STAMPS, columns)
      return
    case 'lookup': {
      const { on: keys, table } = node.config
      requireFree([ORDER_COLUMN], columns)
      if (node.config.kind === 'inner') requireEveryChange(plan, 'kind: use left:')
      requireSameKeys({ keys, table, field: 'on' }, columns, tables[0]?.columns ?? [])
      return
    }
    case 'deduplicate':
      requireFree([ORDER_COLUMN], columns)
      requireEveryChange(plan, 'the merge keeps the last change of each key itself:')
      if (node.config.against_sink === true) requireComparable(node, columns, { plan, sinkColumns })
      return
    default:
  }
}

const STAMPS = DIVERT_COLUMNS.map(({ name }) => name)

function requireComparable(
  { config }: Extract<PlannedNode, { type: 'deduplicate' }>,
  columns: readonly QueryColumn[],
  { plan, sinkColumns }: Pick<NodeRelations, 'plan' | 'sinkColumns'>,
): void {
  requireAppended(plan)
  if (sinkColumns === undefined) return
  const keys = config.key.map((column) => ({ column, lookup_column: column }))
  requireSameKeys({ keys, table: plan.sink, field: 'key' }, columns, sinkColumns)
}

/** A change that is left out would leave a row in the sink that the source does not have, or take one away. */
function requireEveryChange(plan: GraphPlan, advice: string): void {
  if (plan.write.mode === 'append' || !followsChanges(plan)) return
  throw new NodeProblem('INVALID_CONFIG', `${advice} changes must all reach a sink that merges rows by key`)
}

/** A merge compares its rows with the sink itself. */
function requireAppended({ write }: GraphPlan): void {
  if (write.mode === 'append') return
  const message = `against_sink: is for sinks that append; the sink of this version merges rows by key (${write.mode})`
  throw new NodeProblem('INVALID_CONFIG', message)
}

/** Comparing values of different types would convert one of them, and may fail on a value. */
function requireSameKeys(
  { keys, table, field }: ComparedKeys,
  rows: readonly QueryColumn[],
  others: readonly QueryColumn[],
): void {
  for (const { column, lookup_column: partner } of keys) {
    const left = typeOf(rows, column)
    const right = typeOf(others, partner)
    if (left === undefined) throw new NodeProblem('INVALID_CONFIG', `${field}: the input has no column ${column}`)
    if (right === undefined) throw new NodeProblem('INVALID_CONFIG', `${field}: ${table} has no column ${partner}`)
    if (left === right || (WHOLE.has(left) && WHOLE.has(right))) continue
    const message = `column ${column} is ${left}, but ${partner} of ${table} is ${right}: CAST it before this node`
    throw new NodeProblem('TYPE_MISMATCH', message)
  }
}

/** Columns of the input, and the columns of a table that they are compared with. */
interface ComparedKeys {
  readonly keys: readonly { readonly column: string; readonly lookup_column: string }[]
  readonly table: string
  /** The field of the config, for messages. */
  readonly field: string
}

/** Integers, which compare exactly whatever their sizes. */
const WHOLE: ReadonlySet<string> = new Set(['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT'])

function typeOf(columns: readonly QueryColumn[], name: string): string | undefined {
  return columns.find((column) => column.name.toLowerCase() === name.toLowerCase())?.engineType
}

/** The rows get columns of these names, so they cannot have them already. */
function requireFree(names: readonly string[], columns: readonly QueryColumn[]): void {
  const taken = columns.find(({ name }) => names.includes(name.toLowerCase()))
  if (taken === undefined) return
  throw new NodeProblem(
    'DUPLICATE_COLUMN',
    `the input has a column ${taken.name}, a name that this node uses: rename it`,
  )
}

function requireSameColumns(relations: readonly RelationShape[]): void {
  const [first, ...others] = relations.map(({ columns }) => new Set(columns.map(({ name }) => name.toLowerCase())))
  for (const other of others) {
    const odd = [...(first ?? [])]
      .filter((name) => !other.has(name))
      .concat([...other].filter((name) => !first?.has(name)))
    if (odd.length === 0) continue
    const message = `not all inputs have the column ${odd.join(', ')}; allow it with missing_columns: "null"`
    throw new NodeProblem('COLUMN_MISMATCH', message)
  }
}

/** Types whose values are all values of a floating-point type, too. */
const EXACT: Readonly<Record<string, ReadonlySet<string>>> = {
  FLOAT: new Set(['FLOAT', 'TINYINT', 'UTINYINT', 'SMALLINT', 'USMALLINT']),
  DOUBLE: new Set(['DOUBLE', 'FLOAT', 'TINYINT', 'UTINYINT', 'SMALLINT', 'USMALLINT', 'INTEGER', 'UINTEGER']),
}

/** A union of an integer or decimal with a floating-point number would round it without a word. */
export function requireUnrounded(relations: readonly RelationShape[], columns: readonly QueryColumn[]): void {
  const byName = columnsByName(relations)
  for (const { name, engineType } of columns) {
    const exact = EXACT[engineType]
    if (exact === undefined) continue
    const rounded = byName.get(name.toLowerCase())?.find((column) => !exact.has(column.engineType))
    if (rounded === undefined) continue
    const message = `column ${name} is ${rounded.engineType} in one input and would be rounded to ${engineType}: CAST it`
    throw new NodeProblem('TYPE_MISMATCH', message)
  }
}

/** The columns of all relations by their names in lower case. */
function columnsByName(relations: readonly RelationShape[]): ReadonlyMap<string, readonly QueryColumn[]> {
  const byName = new Map<string, QueryColumn[]>()
  for (const column of relations.flatMap(({ columns }) => columns)) {
    const name = column.name.toLowerCase()
    const known = byName.get(name)
    if (known === undefined) byName.set(name, [column])
    else known.push(column)
  }
  return byName
}

/** DuckDB compares names case-insensitively, and later nodes could not distinguish two columns with the same name. */
export function requireDistinct(columns: readonly QueryColumn[]): void {
  const seen = new Set<string>()
  for (const { name } of columns) {
    if (seen.has(name.toLowerCase())) {
      throw new NodeProblem('DUPLICATE_COLUMN', `the result has two columns named ${name}: rename one with AS`)
    }
    seen.add(name.toLowerCase())
  }
}
