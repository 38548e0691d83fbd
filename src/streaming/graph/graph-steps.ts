import type { QueryStep } from '../../engines/row-checks.ts'
import type { ResultColumn } from '../../engines/sql-sandbox.ts'
import {
  duplicateKeysSql,
  inOrder,
  isInSinkSql,
  lookupRelation,
  nodeRelation,
  nodeSql,
  quoted,
  rankSql,
} from './compile-graph.ts'
import type { DivertStamp, NodeCheck } from '../sink/batch-query.ts'
import { divertValues, sqlText } from './divert-columns.ts'
import type { GraphPlan, PlannedNode } from './graph-plan.ts'

type CheckNode = Extract<PlannedNode, { type: 'check' }>
type DeduplicateNode = Extract<PlannedNode, { type: 'deduplicate' }>
type LookupNode = Extract<PlannedNode, { type: 'lookup' }>

/** The rows that a check node diverts. */
export interface DivertedRows {
  readonly nodeId: string
  readonly table: string
  /** A SELECT of `columns`, named by SQL over the columns of the node's input and `DIVERT_COLUMNS`. */
  readonly query: (stamp: DivertStamp, columns: readonly string[]) => string
}

/** A graph as steps that are computed once, and queries over them. */
export interface GraphSteps {
  readonly steps: readonly QueryStep[]
  /** One query of the rows that reach the sink. */
  readonly query: (columns: readonly string[]) => string
  readonly checks: readonly NodeCheck[]
  readonly diverted: readonly DivertedRows[]
}

/** A graph whose nodes have no problems. */
export interface TypedPlan {
  /** With the names and texts that may be shown. */
  readonly plan: GraphPlan
  /** The plan that runs, with parameters in the places of secrets; default: the same. */
  readonly running?: GraphPlan | undefined
  /** The columns of each node. */
  readonly columns: ReadonlyMap<string, readonly ResultColumn[]>
  /** Prefix of the names of steps; queries that run together need different ones. */
  readonly prefix?: string
  /** Whether rows are compared with those of the sink where a node asks for this; default false. */
  readonly hasSink?: boolean
}

/** Most columns in the example of a row. */
const EXAMPLE_COLUMNS = 20

/**
 * Splits a graph into steps, so that rows that pass a check and rows that fail it come from one evaluation. A graph without checks,
 * lookups and deduplication is one query without steps.
 */
export function graphSteps(typed: TypedPlan): GraphSteps {
  const builder = new StepBuilder(typed)
  for (const at of typed.plan.nodes.keys()) builder.add(at)
  return builder.result()
}

class StepBuilder {
  readonly #typed: TypedPlan
  readonly #running: GraphPlan
  readonly #steps: QueryStep[] = []
  readonly #checks: NodeCheck[] = []
  readonly #diverted: DivertedRows[] = []
  /** Queries of nodes whose rows come from steps, by their index; other nodes have queries over their inputs. */
  readonly #kept = new Map<number, string>()
  readonly #keepsShared: boolean

  constructor(typed: TypedPlan) {
    this.#typed = typed
    this.#running = typed.running ?? typed.plan
    this.#keepsShared = typed.plan.nodes.some(({ type }) => type === 'check' || type === 'deduplicate')
  }

  add(at: number): void {
    const node = this.#running.nodes[at]
    if (node === undefined) return
    if (node.type === 'check') this.#check(at, node)
    else if (node.type === 'deduplicate') this.#deduplicate(at, node)
    else {
      if (node.type === 'lookup' && node.config.on_duplicate === 'fail') this.#lookup(node)
      if (this.#keepsShared && this.#isShared(node)) this.#keep(at)
    }
  }

  result(): GraphSteps {
    const last = this.#running.nodes.length - 1
    return {
      steps: this.#steps,
      query: (columns) => this.#over([last], `SELECT ${columns.join(', ')} FROM ${nodeRelation(last)}`),
      checks: this.#checks,
      diverted: this.#diverted,
    }
  }

  /** Rows of several readers are computed once, so that all of them see the same rows. */
  #isShared({ id, type }: PlannedNode): boolean {
    return type !== 'iceberg-source' && this.#running.nodes.filter(({ inputs }) => inputs.includes(id)).length > 1
  }

  #keep(at: number): void {
    const step = this.#step(`kept_${at}`, this.#over([at], `SELECT * FROM ${nodeRelation(at)}`))
    this.#kept.set(at, `SELECT * FROM ${step}`)
  }

  #check(at: number, node: CheckNode): void {
    const columns = this.#columnsOf(node.inputs[0])
    const verdict = freeName('lockhouse_verdict', columns)
    const tests = node.config.expectations.map(
      ({ condition }) => `CASE WHEN (\n${condition}\n) THEN false ELSE true END`,
    )
    const input = this.#indexOf(node.inputs[0])
    const rows = `SELECT *, [${tests.join(', ')}] AS ${quoted(verdict)} FROM ${nodeRelation(input)}`
    const step = this.#step(`checked_${at}`, this.#over([input], rows))
    const parts = verdictSql(node, quoted(verdict))
    const example = exampleSql(columns)
    const shared = { nodeId: node.id, step, example }
    for (const [index, { on_failure: action, max_ratio: ratio = 1 }] of node.config.expectations.entries()) {
      const failed = `${quoted(verdict)}[${index + 1}]`
      const { name } = this.#shownCheck(at)?.config.expectations[index] ?? { name: '' }
      this.#checks.push({ ...shared, counts: 'expectation', name, failed, maxRatio: action === 'fail' ? 0 : ratio })
    }
    this.#checks.push({ ...shared, counts: 'dropped', name: node.id, failed: parts.dropped, maxRatio: 1 })
    const names = namesSql(columns)
    this.#kept.set(at, `SELECT ${names} FROM ${step} WHERE NOT (${parts.failed})`)
    if (node.config.divert_to === undefined) return
    this.#checks.push({ ...shared, counts: 'diverted', name: node.id, failed: parts.diverted, maxRatio: 1 })
    this.#divert({ at, node, columns, step, where: parts.diverted, verdict })
  }

  #divert({ at, node, columns, step, where, verdict }: Diverting): void {
    const expectations = this.#shownCheck(at)?.config.expectations ?? []
    const reasons = expectations.map(
      ({ name }, index) => `CASE WHEN ${quoted(verdict)}[${index + 1}] THEN ${sqlText(name)} END`,
    )
    const reason = `concat_ws(', ', ${reasons.join(', ')})`
    const names = namesSql(columns)
    const from = `FROM ${step} WHERE ${where}`
    this.#diverted.push({
      nodeId: node.id,
      table: node.config.divert_to ?? '',
      query: (stamp, selected) => {
        const own = Object.entries(divertValues(reason, stamp)).map(([name, sql]) => `${sql} AS ${quoted(name)}`)
        return `SELECT ${selected.join(', ')} FROM (SELECT ${names}, ${own.join(', ')} ${from})`
      },
    })
  }

  #deduplicate(at: number, node: DeduplicateNode): void {
    const columns = this.#columnsOf(node.inputs[0])
    const rank = freeName('lockhouse_rank', columns)
    const input = this.#indexOf(node.inputs[0])
    const isCompared = this.#typed.hasSink === true && node.config.against_sink === true
    const number = isCompared ? `CASE WHEN ${isInSinkSql(node)} THEN 0 ELSE ${rankSql(node)} END` : rankSql(node)
    const rows = inOrder(
      this.#running,
      nodeRelation(input),
      (from) => `SELECT *, ${number} AS ${quoted(rank)} FROM ${from} AS lockhouse_row`,
    )
    const step = this.#step(`ranked_${at}`, this.#over([input], rows))
    const failed = `${quoted(rank)} <> 1`
    const example = exampleSql(columns)
    this.#checks.push({ nodeId: node.id, step, example, counts: 'dropped', name: node.id, failed, maxRatio: 1 })
    this.#kept.set(at, `SELECT ${namesSql(columns)} FROM ${step} WHERE ${quoted(rank)} = 1`)
  }

  #lookup(node: LookupNode): void {
    const { table, on } = node.config
    const at = this.#running.lookups.indexOf(table)
    const nodeAt = this.#running.nodes.indexOf(node)
    const step = this.#step(`duplicates_${nodeAt}`, duplicateKeysSql(node, lookupRelation(at)))
    const example = exampleSql(on.map(({ lookup_column: name }) => ({ name })))
    this.#checks.push({
      nodeId: node.id,
      step,
      example,
      counts: 'duplicates',
      name: table,
      failed: 'true',
      maxRatio: 0,
    })
  }

  #step(name: string, query: string): string {
    const step = `lockhouse_${this.#typed.prefix ?? ''}${name}`
    this.#steps.push({ name: step, query })
    return step
  }

  /** A query over the rows of nodes, with the nodes that they need. */
  #over(ends: readonly number[], query: string): string {
    const needed = new Set<number>()
    const waiting = [...ends]
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (needed.has(at)) continue
      needed.add(at)
      if (!this.#kept.has(at)) waiting.push(...(this.#running.nodes[at]?.inputs ?? []).map((id) => this.#indexOf(id)))
    }
    const named = [...needed]
      .toSorted((a, b) => a - b)
      .map((at) => `${nodeRelation(at)}${this.#names(at)} AS (${this.#sqlOf(at)})`)
    return `WITH ${named.join(',\n')}\n${query}`
  }

  #sqlOf(at: number): string {
    const node = this.#running.nodes[at]
    return this.#kept.get(at) ?? (node === undefined ? '' : nodeSql(node, this.#running))
  }

  /** The names of a node's columns, where the engine would name them after the parameters of secrets. */
  #names(at: number): string {
    const node = this.#running.nodes[at]
    if (this.#running === this.#typed.plan || node === undefined) return ''
    return `(${namesSql(this.#columnsOf(node.id))})`
  }

  #columnsOf(id: string | undefined): readonly ResultColumn[] {
    return this.#typed.columns.get(id ?? '') ?? []
  }

  #indexOf(id: string | undefined): number {
    return this.#running.nodes.findIndex((node) => node.id === id)
  }

  /** The check as it may be shown; its names never contain secrets. */
  #shownCheck(at: number): CheckNode | undefined {
    const node = this.#typed.plan.nodes[at]
    return node?.type === 'check' ? node : undefined
  }
}

interface Diverting {
  readonly at: number
  readonly node: CheckNode
  readonly columns: readonly ResultColumn[]
  readonly step: string
  readonly where: string
  readonly verdict: string
}

/** Conditions over the verdicts of a row; the strictest action of its failed expectations wins. */
function verdictSql(
  { config }: CheckNode,
  verdict: string,
): { readonly failed: string; readonly diverted: string; readonly dropped: string } {
  const failed = `list_contains(${verdict}, true)`
  const places = config.expectations.flatMap(({ on_failure: action }, at) =>
    action === 'divert' ? [`${verdict}[${at + 1}]`] : [],
  )
  const diverted = places.length === 0 ? 'false' : `(${places.join(' OR ')})`
  return { failed, diverted, dropped: `${failed} AND NOT ${diverted}` }
}

function exampleSql(columns: readonly { readonly name: string }[]): string {
  const members = columns.slice(0, EXAMPLE_COLUMNS).map(({ name }) => `${quoted(name)} := ${quoted(name)}`)
  return members.length === 0 ? "''" : `struct_pack(${members.join(', ')})`
}

function namesSql(columns: readonly { readonly name: string }[]): string {
  return columns.map(({ name }) => quoted(name)).join(', ')
}

/** A name that no column has in any case. */
function freeName(wanted: string, columns: readonly { readonly name: string }[]): string {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()))
  let name = wanted
  while (taken.has(name)) name += '_'
  return name
}
