import { z } from 'zod'
import { problem } from '../../schemas/common.ts'
import type { ResponseSpec } from '../routing/answer.ts'
import type { RequestHeader, Route } from '../routing/route.ts'
import { codesOf, refusalStatuses } from './refusals.ts'

type Json = Record<string, unknown>

/** Shared components of the document. */
interface Components {
  readonly schemas: Json
  readonly responses: Json
}

/** What the document says of the service itself. */
export interface DocumentedService {
  readonly version: string
  /** Path below which it is served; empty: the whole host. */
  readonly basePath: string
}

/** The OpenAPI 3.1 document of a table of routes; schemas are those that validate the requests. */
export function createOpenApiDocument(routes: readonly Route[], { version, basePath }: DocumentedService): Json {
  const components: Components = { schemas: {}, responses: {} }
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: describeRoute(route, components) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Lockhouse',
      version,
      description: 'Table management and pipeline lifecycle service for Apache Iceberg lakehouses.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${basePath}/` }],
    paths,
    components: { ...components, securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  }
}

function describeRoute(route: Route, components: Components): Json {
  const role = route.minRole === 'none' ? {} : { security: [{ bearer: [] }] }
  const body = route.body && {
    requestBody: {
      required: !route.body.safeParse({}).success,
      content: { 'application/json': { schema: reference(route.body, components, 'input') } },
    },
  }
  return {
    operationId: route.operationId,
    summary: route.summary,
    'x-minimum-role': route.minRole,
    ...role,
    parameters: [
      ...parameters(route.params, 'path', components),
      ...parameters(route.query, 'query', components),
      ...requestHeaders(route),
    ],
    ...body,
    responses: { ...describeResponses(route, components), ...describeRefusals(route, components) },
  }
}

function describeResponses(route: Route, components: Components): Json {
  const entries = Object.entries<ResponseSpec>(route.responses).map(
    ([status, { description, schema, contentType, links }]) => {
      const content = schema && {
        content: { [contentType ?? 'application/json']: { schema: reference(schema, components) } },
      }
      return [status, { description, ...content, ...(links && { links: describeLinks(links) }) }]
    },
  )
  return Object.fromEntries(entries)
}

function describeLinks(links: NonNullable<ResponseSpec['links']>): Json {
  const entries = Object.entries(links).map(([operationId, pointers]) => {
    const parameters = Object.entries(pointers).map(([name, pointer]) => [name, `$response.body#${pointer}`])
    return [operationId, { operationId, parameters: Object.fromEntries(parameters) }]
  })
  return Object.fromEntries(entries)
}

/** A `$ref` for each status of an error; a status that the route describes itself keeps that description. */
function describeRefusals(route: Route, components: Components): Json {
  const statuses = refusalStatuses(route).filter((status) => !(status in route.responses))
  return Object.fromEntries(
    statuses.map((status) => {
      components.responses[`Problem${status}`] ??= describeRefusal(status, components)
      return [status, { $ref: `#/components/responses/Problem${status}` }]
    }),
  )
}

function describeRefusal(status: number, components: Components): Json {
  return {
    description: `Refused (RFC 9457): ${codesOf(status).join(', ')}`,
    content: { 'application/problem+json': { schema: reference(problem, components) } },
  }
}

const HEADERS: Readonly<Record<RequestHeader | 'Idempotency-Key', Json>> = {
  'Idempotency-Key': {
    description: 'Repeating the request with this key returns the first answer; kept for 24 hours, per user',
    schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
  },
  'If-Match': {
    description: 'Refused with 412 when the resource has another `ETag`',
    schema: { type: 'string', examples: ['"3"'] },
  },
  Prefer: {
    description: '`respond-async` (RFC 7240): return 202 immediately and continue in the background',
    schema: { type: 'string', examples: ['respond-async'] },
  },
  'Operation-Group': {
    description: 'A name that operations started together have in common: `GET /api/operations?group=` lists them',
    schema: { type: 'string', maxLength: 100, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', examples: ['nightly-7'] },
  },
}

function requestHeaders(route: Route): Json[] {
  const repeatable = route.method === 'post' && route.minRole !== 'none' ? (['Idempotency-Key'] as const) : []
  return [...repeatable, ...(route.headers ?? [])].map((name) => ({
    name,
    in: 'header',
    required: false,
    ...HEADERS[name],
  }))
}

function parameters(schema: z.ZodType | undefined, where: 'path' | 'query', components: Components): Json[] {
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape).map(([name, shape]) => ({
    name,
    in: where,
    required: where === 'path' || !z.safeParse(shape, undefined).success,
    schema: reference(shape, components, 'input'),
  }))
}

/** A schema, or a `$ref` to it when it has an id; definitions with ids move to `components`. */
function reference(schema: z.core.$ZodType, components: Components, io: 'input' | 'output' = 'output'): Json {
  const {
    $schema: _,
    $defs,
    ...shape
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.pattern !== undefined) jsonSchema.pattern = portablePattern(jsonSchema.pattern)
    },
  })
  for (const [name, definition] of Object.entries($defs ?? {})) addComponent(components, name, relocate(definition))
  return relocate(shape)
}

/** Adds a schema with an id; one that a request and a response see differently needs two ids. */
function addComponent({ schemas }: Components, name: string, definition: Json): void {
  const before = schemas[name]
  if (before !== undefined && JSON.stringify(before) !== JSON.stringify(definition))
    throw new Error(`two schemas of the OpenAPI document are named ${name}`)
  schemas[name] = definition
}

/** `\d` means ASCII digits in JavaScript only; other languages match the digits of all scripts. */
function portablePattern(pattern: string): string {
  return pattern.replaceAll(/\\d/g, '[0-9]')
}

function relocate(shape: object): Json {
  return JSON.parse(JSON.stringify(shape).replaceAll('"#/$defs/', '"#/components/schemas/'))
}
