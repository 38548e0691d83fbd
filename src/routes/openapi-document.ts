import { z } from 'zod'
import { problem } from '../schemas/common.ts'
import type { Route } from './route.ts'

type Json = Record<string, unknown>

/** The OpenAPI 3.1 document of a table of routes; shapes come from the same schemas that check the requests. */
export function createOpenApiDocument(routes: readonly Route[], version: string): Json {
  const components: Json = {}
  const paths: Record<string, Json> = {}
  reference(problem, components)
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
    servers: [{ url: '/' }],
    paths,
    components: { schemas: components, securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  }
}

function describeRoute(route: Route, components: Json): Json {
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
    parameters: [...parameters(route.params, 'path'), ...parameters(route.query, 'query')],
    ...body,
    responses: { ...describeResponses(route, components), default: problemResponse(components) },
  }
}

function describeResponses(route: Route, components: Json): Json {
  const entries = Object.entries(route.responses).map(([status, { description, schema, contentType }]) => {
    const content = schema && {
      content: { [contentType ?? 'application/json']: { schema: reference(schema, components) } },
    }
    return [status, { description, ...content }]
  })
  return Object.fromEntries(entries)
}

function problemResponse(components: Json): Json {
  return {
    description: 'A refusal (RFC 9457)',
    content: { 'application/problem+json': { schema: reference(problem, components) } },
  }
}

function parameters(schema: z.ZodType | undefined, where: 'path' | 'query'): Json[] {
  if (!(schema instanceof z.ZodObject)) return []
  const { properties, required } = z.toJSONSchema(schema, { io: 'input' })
  return Object.entries(properties ?? {}).map(([name, shape]) => ({
    name,
    in: where,
    required: required?.includes(name) ?? false,
    schema: shape,
  }))
}

/** A schema, or a `$ref` to it when it has an id; definitions with ids move to `components`. */
function reference(schema: z.ZodType, components: Json, io: 'input' | 'output' = 'output'): Json {
  const { $schema: _, $defs, ...shape } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  for (const [name, definition] of Object.entries($defs ?? {})) components[name] = relocate(definition)
  return relocate(shape)
}

function relocate(shape: object): Json {
  return JSON.parse(JSON.stringify(shape).replaceAll('"#/$defs/', '"#/components/schemas/'))
}
