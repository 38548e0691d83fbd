import type { Context, Hono } from 'hono'
import type { z } from 'zod'
import { DomainError, type DomainErrorCode } from '../domain/errors.ts'
import type { AppEnv } from '../middleware/app-env.ts'
import { requireRole } from '../middleware/require-role.ts'
import { HttpError } from '../middleware/http-error.ts'
import { isNotModified } from './entity-tag.ts'
import { readJson } from './read-json.ts'
import { createRouteTable, type FoundPath } from './route-table.ts'
import type { Route, RouteAnswer } from './route.ts'

/** Mounts a table of routes: guard, validation, handler; other methods of a known path answer 405 with `Allow`. */
export function mountRoutes(app: Hono<AppEnv>, routes: readonly Route[]): void {
  const find = createRouteTable(routes)
  app.all('/api/*', async (c, next) => {
    const found = find(c.req.path)
    if (!found || found.available?.() === false) return next()
    const { byMethod, params, allowed } = found
    const route = byMethod.get(c.req.method === 'HEAD' ? 'GET' : c.req.method)
    if (!route) throw new HttpError(405, 'METHOD_NOT_ALLOWED', `use ${allowed}`, { Allow: allowed })
    requireRole(c.get('caller'), route.minRole)
    return runRoute(route, params, c)
  })
}

async function runRoute(route: Route, params: FoundPath['params'], c: Context<AppEnv>): Promise<Response> {
  const input = {
    params: parse(route.params, params, 'path'),
    query: parse(route.query, singleValues(c), 'query'),
    body: route.body ? parse(route.body, await readJson(c), 'body') : undefined,
    caller: c.get('caller'),
    checkCaller: c.get('checkCaller'),
    requestId: c.get('requestId'),
    headers: c.req.raw.headers,
    remoteAddress: c.get('clientAddress'),
    secure: isSecure(c),
    get signal() {
      return c.req.raw.signal
    },
    upgrade: c.env?.upgrade,
  }
  const answer = await route.handle(input as never)
  const response = answer instanceof Response ? answer : respond(answer)
  if (
    route.method === 'get' &&
    c.req.header('if-none-match') !== undefined &&
    isNotModified(input.headers, response.headers.get('etag'))
  ) {
    response.headers.delete('content-type')
    return new Response(null, { status: 304, headers: response.headers })
  }
  return response
}

/** Whether the client's connection is encrypted, here or at a proxy before the service. */
function isSecure(c: Context<AppEnv>): boolean {
  return c.req.url.startsWith('https:') || c.req.header('x-forwarded-proto') === 'https'
}

function respond({ status, body, headers }: RouteAnswer): Response {
  if (status === 204) return new Response(null, { status, headers: { ...headers } })
  return Response.json(body, { status, headers: { ...headers } })
}

function parse(schema: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (!schema) return undefined
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { code, issues } = gravest(result.error.issues)
  const fields = issues.flatMap((issue) => {
    const path = issue.path.map(String).join('.')
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    return issue.keys.map((key) => ({ path: path ? `${path}.${key}` : key, message: 'unknown field' }))
  })
  const first = fields[0]
  throw new DomainError(code, `${where}: ${first?.path ? `${first.path}: ` : ''}${first?.message ?? 'invalid'}`, {
    fields,
  })
}

interface Refusal {
  readonly code: DomainErrorCode
  readonly issues: readonly z.core.$ZodIssue[]
}

/** All issues as `INVALID_REQUEST`, unless one names a code of its own: it makes the others meaningless. */
function gravest(issues: readonly z.core.$ZodIssue[]): Refusal {
  for (const issue of issues) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- schemas name codes of the list only
    const code = issue.code === 'custom' ? (issue.params?.['code'] as DomainErrorCode | undefined) : undefined
    if (code !== undefined) return { code, issues: [issue] }
  }
  return { code: 'INVALID_REQUEST', issues }
}

function singleValues(c: Context<AppEnv>): Record<string, string> {
  if (!c.req.url.includes('?')) return {}
  return Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => {
      if (values.length === 1) return [name, values[0] ?? '']
      throw new DomainError('INVALID_REQUEST', `query: ${name}: given more than once`, {
        fields: [{ path: name, message: 'given more than once' }],
      })
    }),
  )
}
