import { z } from 'zod'
import { allRoutes, type RouteDeps } from '../../src/routes/all-routes.ts'
import type { Route } from '../../src/routes/routing/route.ts'

type Schema = Readonly<Record<string, unknown>>

const HEADING = '// Generated from the table of routes by `npm run api-docs`; do not edit.'

/**
 * The text of src/cli/generated/endpoints.ts: what the command line has to know of each route, without the schemas. It is
 * JSON inside, because a runtime reads a text faster than the literal of an object.
 */
export function cliEndpoints(): string {
  const lines = routes().map((route) => `  ${route.operationId}: ${quoted(JSON.stringify(endpoint(route)))},`)
  return `${HEADING}

/** JSON of each route, by its name in the API's document: method, path, summary, and the fields that a caller can give. */
export const ENDPOINTS = {
${lines.join('\n')}
} as const
`
}

/** The text of src/cli/generated/fields.ts: names of fields of each route, so that the compiler checks arguments and columns. */
export function cliFields(): string {
  const bodies = routes().map((route) => `  readonly ${route.operationId}: ${union(Object.keys(fields(route.body)))}`)
  const answers = routes().map((route) => `  readonly ${route.operationId}: ${union(answerPaths(answerOf(route)))}`)
  return `${HEADING}

/** Fields of bodies. */
export interface BodyFields {
${bodies.join('\n')}
}

/** Fields of answers as paths; \`[]\` stands for the elements of a list. */
export interface AnswerFields {
${answers.join('\n')}
}
`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function union(names: readonly string[]): string {
  return names.length === 0 ? 'never' : [...new Set(names)].map((name) => `'${name}'`).join(' | ')
}

/** The table of routes, of which no handler runs. */
function routes(): readonly Route[] {
  return allRoutes({ version: '' } as RouteDeps)
}

function endpoint(route: Route): object {
  const { method, path, summary } = route
  const query = fields(route.query)
  const body = fields(route.body)
  const paged = 'page_token' in query ? pagedList(answerOf(route)) : undefined
  return {
    method: method.toUpperCase(),
    path,
    summary,
    query: Object.fromEntries(Object.entries(query).filter(([name]) => !name.startsWith('page_'))),
    body,
    ...(paged === undefined ? {} : { paged }),
  }
}

/** Fields of an input by name: their kind, choices, description, and whether they are required. */
function fields(schema: z.ZodType | undefined): Readonly<Record<string, object>> {
  if (schema === undefined) return {}
  const root = jsonSchema(schema, 'input')
  const all = branches(root, root)
  const entries = all.flatMap((branch) => Object.entries((branch['properties'] ?? {}) as Record<string, Schema>))
  const required = (name: string): boolean =>
    all.every(({ required: names }) => Array.isArray(names) && names.includes(name))
  return Object.fromEntries(
    entries.map(([name, shape]) => {
      const value = resolved(shape, root)
      const { description = value['description'] } = shape
      return [
        name,
        {
          ...kindOf(value, root),
          ...(typeof description === 'string' ? { help: firstSentence(description) } : {}),
          ...(required(name) ? { required: true } : {}),
        },
      ]
    }),
  )
}

/** The first sentence of a description, as the help of an option. */
function firstSentence(description: string): string {
  const first = (description.split(/(?<=\w)\.\s/, 1)[0] ?? '').replaceAll('`', '')
  return `${first.charAt(0).toLowerCase()}${first.slice(1)}`
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'flag',
}

function kindOf(shape: Schema, root: Schema): object {
  if (Array.isArray(shape['enum'])) return { kind: 'text', choices: shape['enum'] }
  if (shape['type'] === 'array') {
    const items = resolved((shape['items'] ?? {}) as Schema, root)
    return { kind: items['type'] === 'string' ? 'list' : 'json' }
  }
  const parts = Array.isArray(shape['anyOf']) ? branches(shape, root) : []
  if (parts.some((part) => Array.isArray(part['enum']))) return { kind: 'word' }
  return { kind: KINDS[String(shape['type'])] ?? 'json' }
}

/** The objects that a value may be. */
function branches(schema: Schema, root: Schema): readonly Schema[] {
  const shape = resolved(schema, root)
  const parts = (shape['anyOf'] ?? shape['oneOf'] ?? shape['allOf']) as readonly Schema[] | undefined
  return parts === undefined ? [shape] : parts.flatMap((part) => branches(part, root))
}

/** A schema behind its reference, and without `null`. */
function resolved(shape: Schema, root: Schema): Schema {
  const { $ref: reference, anyOf } = shape
  if (typeof reference === 'string') {
    const definitions = root['$defs'] as Readonly<Record<string, Schema>>
    return resolved(definitions[reference.split('/').at(-1) ?? ''] ?? {}, root)
  }
  const [first, second, ...others] = Array.isArray(anyOf) ? (anyOf as readonly Schema[]) : []
  const isOptional = first !== undefined && second?.['type'] === 'null' && others.length === 0
  return isOptional ? resolved(first, root) : shape
}

interface AnswerSchema {
  readonly shape: Schema
  readonly root: Schema
}

function answerOf({ responses }: Route): AnswerSchema | undefined {
  const schema = (responses[200] ?? responses[201])?.schema
  if (schema === undefined) return undefined
  const root = jsonSchema(schema, 'output')
  return { shape: resolved(root, root), root }
}

/** The member that has the entries of a page; empty: the answer is the list itself. */
function pagedList(answer: AnswerSchema | undefined): string {
  if (answer === undefined || answer.shape['type'] === 'array') return ''
  const lists = Object.entries((answer.shape['properties'] ?? {}) as Record<string, Schema>).filter(
    ([, shape]) => resolved(shape, answer.root)['type'] === 'array',
  )
  return lists[0]?.[0] ?? ''
}

const MAX_DEPTH = 4

function answerPaths(answer: AnswerSchema | undefined, depth = 0): readonly string[] {
  if (answer === undefined || depth > MAX_DEPTH) return []
  const { root } = answer
  const shape = resolved(answer.shape, root)
  if (shape['type'] === 'array') {
    const inner = answerPaths({ shape: (shape['items'] ?? {}) as Schema, root }, depth)
    return inner.map((path) => `[]${path === '' ? '' : `.${path}`}`)
  }
  return branches(shape, root).flatMap((branch) =>
    Object.entries({ ...namedEntries(branch, root), ...(branch['properties'] as object) }).flatMap(([name, value]) => {
      const inner = answerPaths({ shape: value, root }, depth + 1)
      return [name, ...inner.map((path) => (path.startsWith('[]') ? `${name}${path}` : `${name}.${path}`))]
    }),
  )
}

/** Members of a record whose names are known, such as environments. */
function namedEntries({ propertyNames, additionalProperties }: Schema, root: Schema): Readonly<Record<string, Schema>> {
  const names = resolved((propertyNames ?? {}) as Schema, root)['enum']
  return Array.isArray(names) ? Object.fromEntries(names.map((name) => [name, additionalProperties])) : {}
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Schema {
  return z.toJSONSchema(schema, { io, unrepresentable: 'any' })
}
