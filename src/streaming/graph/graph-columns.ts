import type { SqlSandbox, UserSql } from '../../engines/sql-sandbox.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { inputNames } from './compile-graph.ts'
import type { GraphPlan, PlannedNode } from './graph-plan.ts'
import {
  type ColumnOrigin,
  findColumn,
  joinOrigins,
  type Origins,
  type TracedColumn,
  traceQuery,
} from './query-origins.ts'
import { pairColumns } from './sink-columns.ts'
import { typeGraph, type TypedGraph } from './type-graph.ts'

/** The columns that a graph reads and writes, as far as they are known. */
export interface GraphColumns {
  /** By source table: every column that may reach the sink or that a condition may need; null: unknown. */
  readonly reads: ReadonlyMap<string, readonly string[] | null>
  /** The columns of the sink that the graph fills, with their origins; null: unknown. */
  readonly writes: readonly TracedColumn[] | null
}

export interface ColumnsRequest {
  readonly plan: GraphPlan
  /** One per source of the plan; undefined: the table could not be loaded. */
  readonly schemas: readonly (Schema | undefined)[]
  /** The schemas of lookup tables, by name. */
  readonly lookups?: ReadonlyMap<string, Schema>
  /** Undefined: the sink does not exist. */
  readonly sink: Schema | undefined
  readonly sandbox: SqlSandbox
}

/**
 * Finds the columns that a graph reads, and those that it writes with their origins. Nothing runs. An answer that the graph and
 * the syntax of its SQL do not show is null.
 */
export async function graphColumns(request: ColumnsRequest): Promise<GraphColumns> {
  const { plan, schemas, lookups, sandbox } = request
  const typed = await typeGraph({ plan, schemas, lookups, sandbox })
  if (typed.columns === undefined) {
    return { reads: new Map([...plan.sources, ...plan.lookups].map((table) => [table, null])), writes: null }
  }
  const tracer = new ColumnTracer(request, typed)
  for (const node of plan.nodes) await tracer.trace(node)
  return tracer.result()
}

class ColumnTracer {
  readonly #request: ColumnsRequest
  readonly #typed: TypedGraph
  readonly #columns = new Map<string, readonly TracedColumn[]>()
  /** The source tables behind each node. */
  readonly #tables = new Map<string, ReadonlySet<string>>()
  readonly #read: ColumnOrigin[] = []
  readonly #unknown = new Set<string>()
  #written: readonly TracedColumn[] = []

  constructor(request: ColumnsRequest, typed: TypedGraph) {
    this.#request = request
    this.#typed = typed
  }

  async trace(node: PlannedNode): Promise<void> {
    const behind = node.inputs.flatMap((id) => [...(this.#tables.get(id) ?? [])])
    const own = node.type === 'iceberg-source' || node.type === 'lookup' ? [node.config.table] : []
    this.#tables.set(node.id, new Set([...own, ...behind]))
    this.#columns.set(node.id, await this.#columnsOf(node))
  }

  result(): GraphColumns {
    const { plan, schemas, lookups } = this.#request
    for (const { origins } of this.#written) this.#read.push(...(origins ?? []))
    const read = [
      ...plan.sources.map((table, at) => ({ table, schema: schemas[at] })),
      ...plan.lookups.map((table) => ({ table, schema: lookups?.get(table) })),
    ]
    const reads = read.map(({ table, schema }) => {
      const named = new Set(this.#read.filter((origin) => origin.table === table).map(({ column }) => column))
      const inOrder = schema?.fields.map(({ name }) => name).filter((name) => named.has(name))
      return [table, this.#unknown.has(table) ? null : (inOrder ?? null)] as const
    })
    return { reads: new Map(reads), writes: this.#written }
  }

  async #columnsOf(node: PlannedNode): Promise<readonly TracedColumn[]> {
    const input = this.#columns.get(node.inputs[0] ?? '') ?? []
    switch (node.type) {
      case 'iceberg-source':
        return this.#tableColumns(node.config.table)
      case 'filter':
        this.#need(node, await this.#expression(node.config.condition, input))
        return input
      case 'select':
        return this.#selected(node, input)
      case 'sql':
        return this.#queried(node)
      case 'union':
        return this.#joined(node)
      case 'check':
        for (const { condition } of node.config.expectations) this.#need(node, await this.#expression(condition, input))
        if (node.config.divert_to !== undefined) for (const { origins } of input) this.#need(node, origins)
        return input
      case 'deduplicate':
        for (const name of [...node.config.key, ...(node.config.order_by ?? [])])
          this.#need(node, findColumn(input, name)?.origins ?? null)
        return input
      case 'lookup':
        return this.#lookedUp(node, input)
      case 'iceberg-sink':
        this.#written = this.#filled(input)
        return input
      default:
        return node satisfies never
    }
  }

  #tableColumns(table: string): readonly TracedColumn[] {
    const { plan, schemas, lookups, sandbox } = this.#request
    const schema = schemas[plan.sources.indexOf(table)] ?? lookups?.get(table)
    const fields = schema?.fields ?? []
    // queries see some columns under other names
    return sandbox.columnsOf(fields).map(({ name }, at) => {
      const column = fields[at]?.name
      return { name, origins: column === undefined ? null : [{ table, column }] }
    })
  }

  async #selected(
    node: Extract<PlannedNode, { type: 'select' }>,
    input: readonly TracedColumn[],
  ): Promise<readonly TracedColumn[]> {
    const columns: TracedColumn[] = []
    for (const { name, expression } of node.config.columns) {
      const origins =
        expression === undefined
          ? (findColumn(input, name)?.origins ?? null)
          : await this.#expression(expression, input)
      // a later node may drop the column, and still the graph fails without it
      if (expression !== undefined || origins !== null) this.#need(node, origins)
      columns.push({ name, origins })
    }
    return columns
  }

  #lookedUp(node: Extract<PlannedNode, { type: 'lookup' }>, input: readonly TracedColumn[]): readonly TracedColumn[] {
    const { table, on, columns } = node.config
    const found = this.#tableColumns(table)
    for (const { column, lookup_column: partner } of on) {
      this.#need(node, findColumn(input, column)?.origins ?? null)
      this.#need(node, findColumn(found, partner)?.origins ?? null)
    }
    const added = columns.map(({ column, name = column }) => ({
      name,
      origins: findColumn(found, column)?.origins ?? null,
    }))
    // a later node may drop the column, and still the graph fails without it
    for (const { origins } of added) this.#need(node, origins)
    return [...input, ...added]
  }

  async #queried(node: Extract<PlannedNode, { type: 'sql' }>): Promise<readonly TracedColumn[]> {
    const inputs = inputNames(node).map(({ name, nodeId }) => ({ name, columns: this.#columns.get(nodeId) ?? [] }))
    const relations = new Map(inputs.map(({ name, columns }) => [name.toLowerCase(), columns]))
    const sql: UserSql = { kind: 'query', text: node.config.query, relations: inputs.map(({ name }) => name) }
    const shown = this.#typed.byNode.get(node.id) ?? []
    const traced = traceQuery(await this.#request.sandbox.syntax(sql), relations)
    const columns = traced?.columns.length === shown.length ? traced.columns : undefined
    if (columns !== undefined) for (const origins of traced?.conditions ?? []) this.#need(node, origins)
    // also columns that the query names and does not show: without them it fails
    const { names, all } = await this.#request.sandbox.references(sql)
    if (all && (columns === undefined || columns.some(({ origins }) => origins === null))) this.#need(node, null)
    for (const path of names) this.#need(node, referenceIn(path, inputs))
    return shown.map(({ name }, at) => ({ name, origins: columns?.[at]?.origins ?? null }))
  }

  #joined(node: PlannedNode): readonly TracedColumn[] {
    const inputs = node.inputs.map((id) => this.#columns.get(id) ?? [])
    return (this.#typed.byNode.get(node.id) ?? []).map(({ name }) => {
      const same = inputs.flatMap((columns) => findColumn(columns, name) ?? [])
      return { name, origins: joinOrigins(same.map(({ origins }) => origins)) }
    })
  }

  #filled(input: readonly TracedColumn[]): readonly TracedColumn[] {
    const { sink } = this.#request
    if (sink === undefined) return input
    return pairColumns(input, sink).pairs.flatMap(({ field, partner }) =>
      partner === undefined ? [] : [{ name: field.name, origins: partner.origins }],
    )
  }

  /** The origins of an expression; null for one of which the syntax shows too little. */
  async #expression(text: string, columns: readonly TracedColumn[]): Promise<Origins> {
    try {
      const { names, all } = await this.#request.sandbox.references({ kind: 'expression', text, relations: [] })
      return all ? null : joinOrigins(names.map((path) => referenceIn(path, [{ name: '', columns }])))
    } catch (error) {
      if (isIcebergError(error, 'INVALID_ARGUMENT')) return null
      throw error
    }
  }

  /** Notes columns that a node needs, whether or not they reach the sink. */
  #need(node: PlannedNode, origins: Origins): void {
    if (origins !== null) this.#read.push(...origins)
    else for (const table of this.#tables.get(node.id) ?? []) this.#unknown.add(table)
  }
}

interface NamedInput {
  readonly name: string
  readonly columns: readonly TracedColumn[]
}

/**
 * The origins of every column of the inputs that a reference may name. A reference that names none of them names a column that the
 * query itself made, whose own references are in the same text.
 */
function referenceIn(path: readonly string[], inputs: readonly NamedInput[]): Origins {
  const [first = '', second] = path
  const isAlias = inputs.every(({ name }) => name.toLowerCase() !== first.toLowerCase())
  const found = inputs.flatMap(({ name, columns }) => {
    const mayBeInside = second !== undefined && (isAlias || name.toLowerCase() === first.toLowerCase())
    return [findColumn(columns, first), mayBeInside ? findColumn(columns, second) : undefined]
  })
  return joinOrigins(found.flatMap((column) => (column === undefined ? [] : [column.origins])))
}
