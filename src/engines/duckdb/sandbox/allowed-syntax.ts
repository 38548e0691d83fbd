import { isCollation, NAMED_TYPES, TYPE_IDS } from './allowed-types.ts'

/** A text, number, flag or nothing, or a list of them. */
export interface PlainPart {
  readonly holds: 'plain'
  /** The values that are allowed; undefined: all. */
  readonly allows?: (value: unknown) => boolean
  /** What the values are, for messages; default: the name of the field. */
  readonly what?: string
  /** Nodes that may stand in the place of a plain value. */
  readonly or?: NodeFamily
}

/** Nothing that is said: only the value of a tree in which the feature is not used. */
export interface AbsentPart {
  readonly holds: 'nothing'
  /** The feature, as a message names it. */
  readonly feature: string
}

/** What a field of a node may hold: plain values, nothing, or nodes of one family, alone or in a list. */
export type FieldRule = PlainPart | AbsentPart | NodeFamily

/** The fields that a kind of node may have; any other field is refused. */
export type NodeRule = Readonly<Record<string, FieldRule>>

/** Nodes of several kinds: expressions have their kind in `class`, the others in `type`. */
type KindFamily = 'expression' | 'query' | 'relation' | 'modifier' | 'type info'

/** Nodes of one kind. */
type RecordFamily =
  | 'call'
  | 'case'
  | 'compound value'
  | 'member'
  | 'named queries'
  | 'named query'
  | 'named query entry'
  | 'order'
  | 'parameter'
  | 'pivot'
  | 'pivot entry'
  | 'qualified column'
  | 'renamed column'
  | 'replaced column'
  | 'sample'
  | 'statement'
  | 'type'
  | 'value'

/** Nodes that may stand in the same places. */
export type NodeFamily = KindFamily | RecordFamily

const plain: PlainPart = { holds: 'plain' }

function oneOf(...values: readonly unknown[]): PlainPart {
  const allowed = new Set(values)
  return { holds: 'plain', allows: (value) => allowed.has(value) }
}

function no(feature: string): AbsentPart {
  return { holds: 'nothing', feature }
}

const COMPARISONS = [
  'COMPARE_EQUAL',
  'COMPARE_NOTEQUAL',
  'COMPARE_LESSTHAN',
  'COMPARE_GREATERTHAN',
  'COMPARE_LESSTHANOREQUALTO',
  'COMPARE_GREATERTHANOREQUALTO',
  'COMPARE_DISTINCT_FROM',
  'COMPARE_NOT_DISTINCT_FROM',
]
const OPERATORS = [
  'OPERATOR_NOT',
  'OPERATOR_IS_NULL',
  'OPERATOR_IS_NOT_NULL',
  'OPERATOR_COALESCE',
  'OPERATOR_TRY',
  'OPERATOR_UNPACK',
  'COMPARE_IN',
  'COMPARE_NOT_IN',
  'ARRAY_EXTRACT',
  'ARRAY_SLICE',
  'ARRAY_CONSTRUCTOR',
  'STRUCT_EXTRACT',
  'GROUPING_FUNCTION',
]
const FRAME_UNITS = ['ROWS', 'RANGE', 'GROUPS']
const FRAME_ENDS = [
  'UNBOUNDED_PRECEDING',
  'UNBOUNDED_FOLLOWING',
  ...FRAME_UNITS.flatMap((unit) => [`CURRENT_ROW_${unit}`, `EXPR_PRECEDING_${unit}`, `EXPR_FOLLOWING_${unit}`]),
]

const common = { alias: plain, query_location: plain }

function expression(types: readonly string[], fields: NodeRule): NodeRule {
  return { ...common, class: plain, type: oneOf(...types), ...fields }
}

const FUNCTION_CALL: NodeRule = expression(['FUNCTION'], {
  function_name: plain,
  schema: plain,
  catalog: plain,
  children: 'expression',
  filter: 'expression',
  order_bys: 'modifier',
  distinct: plain,
  is_operator: plain,
  export_state: no('EXPORT_STATE'),
})

/** Expressions by class. Parameters are allowed only under the names that the service binds; see `UserSql`. */
const EXPRESSIONS: Readonly<Record<string, NodeRule>> = {
  BETWEEN: expression(['COMPARE_BETWEEN', 'COMPARE_NOT_BETWEEN'], {
    input: 'expression',
    lower: 'expression',
    upper: 'expression',
  }),
  CASE: expression(['CASE_EXPR'], { case_checks: 'case', else_expr: 'expression' }),
  CAST: expression(['OPERATOR_CAST'], { child: 'expression', cast_type: 'type', try_cast: plain }),
  COLLATE: expression(['COLLATE'], {
    child: 'expression',
    collation: { holds: 'plain', what: 'collation', allows: (value) => isCollation(String(value)) },
  }),
  COLUMN_REF: expression(['COLUMN_REF'], { column_names: plain }),
  COMPARISON: expression(COMPARISONS, { left: 'expression', right: 'expression' }),
  CONJUNCTION: expression(['CONJUNCTION_AND', 'CONJUNCTION_OR'], { children: 'expression' }),
  CONSTANT: expression(['VALUE_CONSTANT'], { value: 'value' }),
  FUNCTION: FUNCTION_CALL,
  LAMBDA: expression(['LAMBDA'], { lhs: 'expression', expr: 'expression' }),
  OPERATOR: expression(OPERATORS, { children: 'expression' }),
  PARAMETER: expression(['VALUE_PARAMETER'], { identifier: plain }),
  POSITIONAL_REFERENCE: expression(['POSITIONAL_REFERENCE'], { index: plain }),
  STAR: expression(['STAR'], {
    relation_name: plain,
    exclude_list: plain,
    replace_list: 'replaced column',
    columns: plain,
    expr: 'expression',
    qualified_exclude_list: 'qualified column',
    rename_list: 'renamed column',
  }),
  SUBQUERY: expression(['SUBQUERY'], {
    subquery_type: oneOf('SCALAR', 'EXISTS', 'NOT_EXISTS', 'ANY'),
    subquery: 'statement',
    child: 'expression',
    comparison_type: oneOf('INVALID', ...COMPARISONS),
  }),
  WINDOW: expression(
    [
      'WINDOW_AGGREGATE',
      'WINDOW_CUME_DIST',
      'WINDOW_FILL',
      'WINDOW_FIRST_VALUE',
      'WINDOW_LAG',
      'WINDOW_LAST_VALUE',
      'WINDOW_LEAD',
      'WINDOW_NTH_VALUE',
      'WINDOW_NTILE',
      'WINDOW_PERCENT_RANK',
      'WINDOW_RANK',
      'WINDOW_RANK_DENSE',
      'WINDOW_ROW_NUMBER',
    ],
    {
      function_name: plain,
      schema: plain,
      catalog: plain,
      children: 'expression',
      partitions: 'expression',
      orders: 'order',
      start: oneOf(...FRAME_ENDS),
      end: oneOf(...FRAME_ENDS),
      start_expr: 'expression',
      end_expr: 'expression',
      offset_expr: 'expression',
      default_expr: 'expression',
      ignore_nulls: plain,
      filter_expr: 'expression',
      exclude_clause: oneOf('NO_OTHER', 'CURRENT_ROW', 'GROUP', 'TIES'),
      distinct: plain,
      arg_orders: 'order',
    },
  ),
}

const QUERY = { type: plain, modifiers: 'modifier', cte_map: 'named queries' } as const

const QUERIES: Readonly<Record<string, NodeRule>> = {
  SELECT_NODE: {
    ...QUERY,
    select_list: 'expression',
    from_table: 'relation',
    where_clause: 'expression',
    group_expressions: 'expression',
    group_sets: plain,
    aggregate_handling: oneOf('STANDARD_HANDLING', 'FORCE_AGGREGATES', 'NO_AGGREGATES_ALLOWED'),
    having: 'expression',
    sample: 'sample',
    qualify: 'expression',
  },
  SET_OPERATION_NODE: {
    ...QUERY,
    setop_type: oneOf('UNION', 'UNION_BY_NAME', 'INTERSECT', 'EXCEPT'),
    left: 'query',
    right: 'query',
    setop_all: plain,
  },
  RECURSIVE_CTE_NODE: {
    ...QUERY,
    cte_name: plain,
    union_all: plain,
    left: 'query',
    right: 'query',
    aliases: plain,
    key_targets: 'expression',
  },
}

const RELATION = { ...common, type: plain, sample: 'sample' } as const

const RELATIONS: Readonly<Record<string, NodeRule>> = {
  BASE_TABLE: {
    ...RELATION,
    schema_name: plain,
    table_name: plain,
    catalog_name: plain,
    column_name_alias: plain,
    at_clause: no('AT (time travel)'),
  },
  EMPTY: RELATION,
  EXPRESSION_LIST: {
    ...RELATION,
    expected_names: plain,
    expected_types: no('a list with types'),
    values: 'expression',
  },
  JOIN: {
    ...RELATION,
    left: 'relation',
    right: 'relation',
    condition: 'expression',
    join_type: oneOf('INNER', 'LEFT', 'RIGHT', 'FULL', 'OUTER', 'SEMI', 'ANTI'),
    ref_type: oneOf('REGULAR', 'CROSS', 'NATURAL', 'ASOF', 'POSITIONAL'),
    using_columns: plain,
    delim_flipped: no('a join of this kind'),
    duplicate_eliminated_columns: no('a join of this kind'),
  },
  PIVOT: {
    ...RELATION,
    source: 'relation',
    aggregates: 'expression',
    unpivot_names: plain,
    pivots: 'pivot',
    groups: plain,
    column_name_alias: plain,
    include_nulls: plain,
  },
  SUBQUERY: { ...RELATION, subquery: 'statement', column_name_alias: plain },
  TABLE_FUNCTION: {
    ...RELATION,
    function: 'call',
    column_name_alias: plain,
    with_ordinality: oneOf('WITHOUT_ORDINALITY', 'WITH_ORDINALITY'),
  },
}

const MODIFIERS: Readonly<Record<string, NodeRule>> = {
  ORDER_MODIFIER: { type: plain, orders: 'order' },
  LIMIT_MODIFIER: { type: plain, limit: 'expression', offset: 'expression' },
  LIMIT_PERCENT_MODIFIER: { type: plain, limit: 'expression', offset: 'expression' },
  DISTINCT_MODIFIER: { type: plain, distinct_on_targets: 'expression' },
}

const TYPE_INFO = { type: plain, alias: oneOf(''), extension_info: no('a type with modifiers') } as const

const TYPE_INFOS: Readonly<Record<string, NodeRule>> = {
  ARRAY_TYPE_INFO: { ...TYPE_INFO, child_type: 'type', size: plain },
  DECIMAL_TYPE_INFO: { ...TYPE_INFO, width: plain, scale: plain },
  LIST_TYPE_INFO: { ...TYPE_INFO, child_type: 'type' },
  STRUCT_TYPE_INFO: { ...TYPE_INFO, child_types: 'member' },
  UNBOUND_TYPE_INFO: {
    ...TYPE_INFO,
    name: { holds: 'plain', what: 'type', allows: (value) => NAMED_TYPES.has(String(value).toUpperCase()) },
    catalog: oneOf(''),
    schema: oneOf(''),
    user_type_modifiers: no('a type with modifiers'),
  },
}

/** Families whose nodes have no kind. */
const RECORDS: Readonly<Record<RecordFamily, NodeRule>> = {
  'compound value': { upper: plain, lower: plain, children: 'value' },
  call: { ...FUNCTION_CALL, class: oneOf('FUNCTION') },
  case: { when_expr: 'expression', then_expr: 'expression' },
  member: { first: plain, second: 'type' },
  'named queries': { map: 'named query entry' },
  'named query': {
    aliases: plain,
    query: 'statement',
    materialized: oneOf('CTE_MATERIALIZE_DEFAULT', 'CTE_MATERIALIZE_ALWAYS', 'CTE_MATERIALIZE_NEVER'),
    key_targets: 'expression',
  },
  'named query entry': { key: plain, value: 'named query' },
  order: {
    type: oneOf('ASCENDING', 'DESCENDING', 'ORDER_DEFAULT'),
    null_order: oneOf('NULLS FIRST', 'NULLS LAST', 'ORDER_DEFAULT'),
    expression: 'expression',
  },
  parameter: { key: plain, value: plain },
  pivot: {
    pivot_expressions: 'expression',
    unpivot_names: plain,
    entries: 'pivot entry',
    pivot_enum: no('PIVOT with an enum'),
  },
  'pivot entry': { values: 'value', star_expr: 'expression', alias: plain },
  'qualified column': { catalog: plain, schema: plain, table: plain, column: plain },
  'renamed column': { key: 'qualified column', value: plain },
  'replaced column': { key: plain, value: 'expression' },
  sample: {
    sample_size: 'value',
    is_percentage: plain,
    method: oneOf('System', 'Bernoulli', 'Reservoir'),
    seed: plain,
  },
  statement: { node: 'query', named_param_map: 'parameter' },
  type: {
    id: { holds: 'plain', what: 'type', allows: (value) => TYPE_IDS.has(String(value)) },
    type_info: 'type info',
  },
  value: { type: 'type', is_null: plain, value: { holds: 'plain', or: 'compound value' } },
}

/** Kinds of nodes by family. */
const KINDS: Readonly<Record<KindFamily, Readonly<Record<string, NodeRule>>>> = {
  expression: EXPRESSIONS,
  query: QUERIES,
  relation: RELATIONS,
  modifier: MODIFIERS,
  'type info': TYPE_INFOS,
}

/** The fields that a node of a family may have; undefined when its kind is not known. */
export function ruleOf(family: NodeFamily, node: Readonly<Record<string, unknown>>): NodeRule | undefined {
  if (!isKindFamily(family)) return RECORDS[family]
  const kinds = KINDS[family]
  const kind = kindOf(family, node)
  return Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
}

/** What a node is, as the engine names it. */
export function kindOf(family: NodeFamily, node: Readonly<Record<string, unknown>>): string {
  const kind = family === 'expression' ? node['class'] : isKindFamily(family) ? node['type'] : family
  return typeof kind === 'string' ? kind : ''
}

function isKindFamily(family: NodeFamily): family is KindFamily {
  return Object.hasOwn(KINDS, family)
}
