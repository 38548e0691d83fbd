import type { PipelineGraph, PipelineNode } from '../../domain/graph.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { check, fieldErrors } from '../../schemas/issues.ts'
import { isNodeType, nodeConfigs } from '../../schemas/node-types.ts'
import type { GraphProblem, ProblemCode } from './graph-problem.ts'
import {
  type ParameterValue,
  type ParameterValues,
  secretName,
  sqlLiteral,
  type TextPart,
  textParts,
  valueProblem,
} from './parameter-text.ts'
import { MARK, type SqlPlace, sqlPlaces } from './sql-places.ts'

export interface ParameterSource {
  /** As configured: secrets as `env:NAME`. */
  readonly parameters: ParameterValues
  /** The value of an environment variable; undefined when it is not set. Throws `INVALID_ARGUMENT` for a forbidden name. */
  readonly secretOf: (name: string) => string | undefined
}

/** Values of secrets by the names of the parameters (`$name`) that stand for them in SQL. Never show them. */
export type SecretValues = Readonly<Record<string, string>>

export interface ResolvedGraph {
  /** The graph with the values, and with `env:NAME` as the values of secrets; a text with a problem stays as it was. */
  readonly graph: PipelineGraph
  /** The same graph with parameters of {@link secrets} in the places of secrets. */
  readonly bound: PipelineGraph
  readonly problems: readonly GraphProblem[]
  readonly secrets: SecretValues
  /** The secrets as they are shown: `env:NAME`. */
  readonly secretNames: readonly string[]
}

/** The name of the parameter that stands for the n-th secret of a graph. */
function secretParameter(at: number): string {
  return `lockhouse_secret_${at}`
}

/** Maximum number of characters that parameters may add to a graph. */
const MAX_ADDED = 1_000_000

/**
 * Replaces `${name}` in every string of the nodes' configs. In SQL (`filter.condition`, `select.columns[].expression`,
 * `sql.query`, `check.expectations[].condition`) the value becomes a literal in parentheses, and a parameter in a string, name or comment is a problem.
 * Elsewhere the value is text, and the result must be valid for the node. Values are not resolved again. `$${` stands
 * for `${`. Secrets are allowed in SQL only, because other strings are shown, and their values are in none of the graphs.
 */
export function resolveParameters(graph: PipelineGraph, source: ParameterSource): ResolvedGraph {
  const { edges } = graph
  const resolution = new Resolution(source, (variable) => sqlLiteral(`env:${variable}`))
  const shown = { nodes: graph.nodes.map((node) => resolution.node(node)), edges }
  const { problems, secrets } = resolution
  const variables = [...secrets.keys()]
  const values = Object.fromEntries([...secrets.values()].map((value, at) => [secretParameter(at), value]))
  const found = { graph: shown, problems, secrets: values, secretNames: variables.map((variable) => `env:${variable}`) }
  if (variables.length === 0) return { ...found, bound: shown }
  const binding = new Resolution(source, (variable) => `($${secretParameter(variables.indexOf(variable))})`)
  return { ...found, bound: { nodes: graph.nodes.map((node) => binding.node(node)), edges } }
}

interface Place {
  readonly node: PipelineNode
  /** Dotted, as in messages about configs. */
  readonly path: string
}

class ParameterProblem extends Error {
  override readonly name = 'ParameterProblem'
  readonly code: ProblemCode
  readonly parameter: string

  constructor(code: ProblemCode, parameter: string, message: string) {
    super(message)
    this.code = code
    this.parameter = parameter
  }
}

class Resolution {
  readonly problems: GraphProblem[] = []
  /** Values by the names of their variables. */
  readonly secrets = new Map<string, string>()
  readonly #source: ParameterSource
  readonly #sqlOfSecret: (variable: string) => string
  #added = 0

  /** `sqlOfSecret`: what stands for a secret in SQL, by the name of its variable. */
  constructor(source: ParameterSource, sqlOfSecret: (variable: string) => string) {
    this.#source = source
    this.#sqlOfSecret = sqlOfSecret
  }

  node(node: PipelineNode): PipelineNode {
    const used = new Map<string, string>()
    const before = this.problems.length
    const config = Object.fromEntries(
      Object.entries(node.config).map(([key, value]) => [key, this.#value(value, { node, path: key }, used)]),
    )
    const resolved = { ...node, config }
    if (used.size > 0 && this.problems.length === before) this.#requireValid(resolved, used)
    return resolved
  }

  #value(value: unknown, place: Place, used: Map<string, string>): unknown {
    const at = (key: string | number): Place => ({ ...place, path: `${place.path}.${key}` })
    if (typeof value === 'string') return this.#text(value, place, used)
    if (Array.isArray(value)) return value.map((item: unknown, key) => this.#value(item, at(key), used))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#value(item, at(key), used)]))
  }

  #text(text: string, place: Place, used: Map<string, string>): string {
    if (!text.includes('${')) return text
    try {
      const parts = textParts(text)
      const [first] = namesIn(parts)
      const made = isSql(place) ? this.#sql(parts) : this.#plain(parts)
      if (first !== undefined) used.set(place.path, first)
      return made
    } catch (error) {
      if (!(error instanceof ParameterProblem)) throw error
      this.#report(place, error)
      return text
    }
  }

  #plain(parts: readonly TextPart[]): string {
    return this.#joined(parts, (name) => {
      const { value, variable } = this.#lookUp(name)
      if (variable !== undefined) {
        const message = `parameter ${name} is a secret; secrets can be used only in SQL, because other texts are shown`
        throw new ParameterProblem('INVALID_PARAMETER', name, message)
      }
      return String(value)
    })
  }

  #sql(parts: readonly TextPart[]): string {
    const marked = parts.map((part) => (part.kind === 'text' ? part.text : MARK)).join('')
    const names = namesIn(parts)
    const places = sqlPlaces(marked)
    if (names.length > 0 && places.length !== names.length) {
      const message = `the SQL with parameter ${names[0]} contains a NUL character`
      throw new ParameterProblem('INVALID_PARAMETER', names[0] ?? '', message)
    }
    for (const [at, name] of names.entries()) {
      const problem = PLACE_PROBLEMS[places[at] ?? 'unclear']
      if (problem === undefined) continue
      throw new ParameterProblem('INVALID_PARAMETER', name, `parameter ${name} ${problem}`)
    }
    return this.#joined(parts, (name) => {
      const { value, variable } = this.#lookUp(name)
      return variable === undefined ? sqlLiteral(value) : this.#sqlOfSecret(variable)
    })
  }

  #joined(parts: readonly TextPart[], textOf: (name: string) => string): string {
    return parts.map((part) => (part.kind === 'parameter' ? this.#counted(part.name, textOf) : part.text)).join('')
  }

  #counted(name: string, textOf: (name: string) => string): string {
    const text = textOf(name)
    this.#added += text.length
    if (this.#added <= MAX_ADDED) return text
    const message = `parameter ${name}: the parameters add more than ${MAX_ADDED} characters to the graph`
    throw new ParameterProblem('INVALID_PARAMETER', name, message)
  }

  /** The value of a parameter; `variable` is the name of the variable of a secret. */
  #lookUp(name: string): { readonly value: ParameterValue; readonly variable: string | undefined } {
    const { parameters } = this.#source
    const configured = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    if (configured === undefined) {
      throw new ParameterProblem('UNKNOWN_PARAMETER', name, `the environment has no parameter ${name}`)
    }
    const variable = secretName(configured)
    const value = variable === undefined ? configured : this.#secret(name, variable)
    const problem = valueProblem(value)
    if (problem !== undefined) throw new ParameterProblem('INVALID_PARAMETER', name, `parameter ${name}: ${problem}`)
    return { value, variable }
  }

  #secret(name: string, variable: string): string {
    const refused = (why: string): ParameterProblem =>
      new ParameterProblem('MISSING_SECRET', name, `parameter ${name}: env:${variable} ${why}`)
    let value: string | undefined
    try {
      value = this.#source.secretOf(variable)
    } catch (error) {
      if (!isIcebergError(error, 'INVALID_ARGUMENT')) throw error
      throw refused('is not a variable that this server allows')
    }
    if (value === undefined) throw refused('is not set on this server')
    this.secrets.set(variable, value)
    return value
  }

  /** Reports each resolved text that the node's type does not allow, under the name of its parameter. */
  #requireValid(node: PipelineNode, used: ReadonlyMap<string, string>): void {
    if (!isNodeType(node.type)) return
    const errors = fieldErrors(check(nodeConfigs[node.type], node.config).error?.issues ?? [])
    const seen = new Set<string>()
    for (const { path: at, message } of errors) {
      const name = used.get(at)
      if (name === undefined || seen.has(at)) continue
      seen.add(at)
      const why = new ParameterProblem('INVALID_PARAMETER', name, `${at}: with parameter ${name}: ${message}`)
      this.#report({ node, path: at }, why)
    }
  }

  #report({ node }: Place, { code, parameter, message }: ParameterProblem): void {
    this.problems.push({ nodeId: node.id, code, message, severity: 'error', parameter })
  }
}

const PLACE_PROBLEMS: Readonly<Record<SqlPlace, string | undefined>> = {
  value: undefined,
  string: 'is inside a string: write the parameter alone, without quotes, and join texts with ||',
  name: 'is inside a quoted name: a parameter is a value, not a name',
  'dollar-quoted': 'is inside dollar-quoted text: write the parameter alone',
  comment: 'is inside a comment',
  adjacent: 'needs a space between it and the word, quote or dot next to it',
  unclear: 'follows SQL that can be read in two ways: write strings without E, and a space after numbers',
}

/** Throws for a part that is no parameter and no text. */
function namesIn(parts: readonly TextPart[]): readonly string[] {
  return parts.flatMap((part) => {
    if (part.kind === 'malformed') {
      const rule = 'a parameter is ${name}: a letter or _, then letters, digits or _, at most 63; $${ stands for ${'
      throw new ParameterProblem('INVALID_PARAMETER', part.text, `${JSON.stringify(part.text)} is not valid: ${rule}`)
    }
    return part.kind === 'parameter' ? [part.name] : []
  })
}

/** Whether a string is SQL, by the type of its node and its path in the config. */
function isSql({ node: { type }, path }: Place): boolean {
  switch (type) {
    case 'filter':
      return path === 'condition'
    case 'sql':
      return path === 'query'
    case 'select':
      return /^columns\.\d+\.expression$/.test(path)
    case 'check':
      return /^expectations\.\d+\.condition$/.test(path)
    default:
      return false
  }
}
