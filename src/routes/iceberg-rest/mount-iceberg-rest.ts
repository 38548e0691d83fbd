import { type Context, Hono } from 'hono'
import { DomainError } from '../../domain/errors.ts'
import type { SignedInUser } from '../../domain/roles.ts'
import type { AppEnv } from '../../middleware/app-env.ts'
import { authenticate } from '../../middleware/authenticate.ts'
import { createErrorHandler } from '../../middleware/error-handler.ts'
import type { Exchange } from '../../middleware/exchange.ts'
import { HttpError } from '../../middleware/http-error.ts'
import { checkLongJsonShape, type JsonShape, JsonShapeError } from '../../middleware/json-shape.ts'
import { originGuard } from '../../middleware/origin-guard.ts'
import { type BodyLimits, requestBody } from '../../middleware/request/request-body.ts'
import { requireRole } from '../../middleware/require-role.ts'
import type { Problem } from '../../schemas/common.ts'
import type { IcebergRestService } from '../../services/iceberg-rest/iceberg-rest-service.ts'
import { MAX_REPORT_BYTES } from '../../services/iceberg-rest/table-reports.ts'
import { requireUnlimited } from '../../services/identity/access/require-access.ts'
import { withoutHiddenTables } from '../../services/identity/access/without-hidden-tables.ts'
import type { IdentityService } from '../../services/identity/identity-service.ts'
import type { IdempotencyService } from '../../services/operations/idempotency-service.ts'
import type { Logger } from '../../services/logger.ts'
import { type Endpoint, ENDPOINTS, levelsOf } from './endpoints.ts'
import { errorModel } from './error-model.ts'
import { answerOnce, KEY_LIFETIME } from './idempotent-answer.ts'
import { issueToken } from './oauth-token.ts'

export interface IcebergRestMount {
  readonly log: Logger
  readonly authMode: 'token' | 'off'
  readonly identity: IdentityService
  readonly allowedOrigins: readonly string[]
  readonly icebergRest: IcebergRestService
  readonly idempotency: IdempotencyService
}

const ROOT = '/iceberg/v1'
const ANY_PATH = '/iceberg/v1/*'
/** A commit names every new snapshot, schema and property of a change. */
const BODY_LIMITS: BodyLimits = { maxBytes: 16 * 2 ** 20, maxMs: 120_000 }
/** Readers may send reports, too. */
const REPORT_LIMITS: BodyLimits = { maxBytes: MAX_REPORT_BYTES, maxMs: 10_000 }
/** A schema of 20,000 columns, which are the most, has 120,000 values with a text for each column. */
const BODY_SHAPE: JsonShape = { maxDepth: 500, maxValues: 250_000, maxValuesInOne: 100_000 }

/**
 * Mounts the catalog at `/iceberg/v1` as an Iceberg REST catalog (docs/iceberg-rest.md), for Spark, Trino, PyIceberg and
 * others. Bearer tokens and roles are those of the service; errors have the model of the specification.
 */
export function mountIcebergRest(app: Hono<AppEnv>, deps: IcebergRestMount): void {
  const { authMode: mode, identity, allowedOrigins, icebergRest: service } = deps
  const rest = new Hono<AppEnv>()
  const describe = createErrorHandler(deps.log)
  rest.onError(async (error, c) => toErrorModel(describe(shownTo(c.env.caller, error, c.req.path), c.env)))
  rest.use(async (c, next) => {
    c.env.route = ANY_PATH
    await next()
  })
  rest.use(requestBody((path) => (path.endsWith('/metrics') ? REPORT_LIMITS : BODY_LIMITS)))
  rest.post('/oauth/tokens', (c) => issueToken(c, { identity, mode }))
  rest.use(authenticate({ mode, identity }))
  rest.use(originGuard({ mode, allowedOrigins }))
  rest.get('/config', async (c) => {
    requireRole(c.env.caller, 'Auditor')
    const prefix = service.catalogOf(c.req.query('warehouse') || undefined)
    const overrides = prefix === undefined ? {} : { prefix }
    const endpoints = ENDPOINTS.map(nameOf)
    return c.json({ defaults: {}, overrides, endpoints, 'idempotency-key-lifetime': KEY_LIFETIME })
  })
  rest.all('*', (c) => answer(c, deps))
  app.route(ROOT, rest)
}

function nameOf({ method, path }: Endpoint): string {
  return `${method} /v1/{prefix}/${path}`
}

async function answer(c: Context<AppEnv>, { icebergRest: service, idempotency }: IcebergRestMount): Promise<Response> {
  const url = new URL(c.req.url)
  const { prefix, found } = findEndpoints(url.pathname.slice(ROOT.length + 1))
  const call = found.find(({ endpoint }) => endpoint.method === c.req.method)
  if (call === undefined) throw notOffered(c, found)
  const { endpoint, parameters } = call
  const caller = requireRole(c.env.caller, endpoint.minRole)
  const served = prefix === undefined ? service : service.ofCatalog(prefix)
  await requireEndpoint(endpoint, { parameters, served }, caller)
  const request = {
    service: served,
    namespace: levelsOf(parameters.get('namespace') ?? ''),
    table: parameters.get('table') ?? '',
    query: url.searchParams,
    headers: c.req.raw.headers,
    context: { caller, requestId: c.env.requestId },
    body: () => readShapedBody(c.env),
  }
  const key = c.req.header('idempotency-key')
  if (key === undefined || c.req.method === 'GET' || c.req.method === 'HEAD') return endpoint.handle(request)
  return answerOnce({
    idempotency,
    endpoint,
    call: request,
    key,
    method: c.req.method,
    path: url.pathname + url.search,
  })
}

/** Requires the endpoint's role on the table of its path, for callers whom grants limit. */
async function requireEndpoint(
  { path, minRole, filtered }: Endpoint,
  { parameters, served }: { readonly parameters: PathParameters; readonly served: IcebergRestService },
  caller: SignedInUser,
): Promise<void> {
  if (path.includes('{table}')) {
    const table = { namespace: levelsOf(parameters.get('namespace') ?? ''), name: parameters.get('table') ?? '' }
    await served.requireAccess(table, caller, minRole)
  } else if (filtered !== true) requireUnlimited(caller)
}

/** Without the names of hidden tables, such as one whose files are in the way. */
function shownTo(caller: SignedInUser | undefined, error: Error, path: string): Error {
  if (caller === undefined) return error
  const named = [
    path
      .replaceAll(/%1F/gi, '.')
      .replaceAll('/tables/', '.')
      .replace(/(?<!v1)\/namespaces\//, ':'),
  ]
  const shown = withoutHiddenTables(error, { caller, named })
  return shown instanceof Error ? shown : error
}

/** The body, unless it has too many values: these take much longer to read than their bytes to arrive. */
async function readShapedBody({ readBody }: Exchange): Promise<Uint8Array> {
  const bytes = await readBody()
  try {
    await checkLongJsonShape(bytes, BODY_SHAPE)
  } catch (error) {
    if (!(error instanceof JsonShapeError)) throw error
    throw new DomainError('INVALID_REQUEST', `the body ${error.message}`, { cause: error })
  }
  return bytes
}

function notOffered(c: Context<AppEnv>, found: readonly { readonly endpoint: Endpoint }[]): Error {
  if (/\/views(\/|$)/.test(c.req.path)) return new HttpError('UNSUPPORTED', 'this catalog has no views')
  if (found.length === 0) return new DomainError('NOT_FOUND', `no endpoint ${c.req.path}`)
  const allowed = found.map(({ endpoint }) => endpoint.method).join(', ')
  return new HttpError('METHOD_NOT_ALLOWED', `use ${allowed}`, { Allow: allowed })
}

interface FoundEndpoints {
  /** The name of a catalog before the path; undefined: the default one. */
  readonly prefix: string | undefined
  readonly found: readonly { readonly endpoint: Endpoint; readonly parameters: PathParameters }[]
}

/** The endpoints of a path, and the prefix of the protocol, which is the name of a catalog here. */
function findEndpoints(path: string): FoundEndpoints {
  const own = endpointsOf(path)
  const end = path.indexOf('/')
  if (own.length > 0 || end < 0) return { prefix: undefined, found: own }
  const found = endpointsOf(path.slice(end + 1))
  return found.length === 0 ? { prefix: undefined, found } : { prefix: decode(path.slice(0, end)), found }
}

function endpointsOf(path: string): FoundEndpoints['found'] {
  return ENDPOINTS.flatMap((endpoint) => {
    const parameters = match(endpoint.path, path)
    return parameters === undefined ? [] : [{ endpoint, parameters }]
  })
}

type PathParameters = ReadonlyMap<string, string>

/** The parameters of a path that has the form of a pattern. Java's client writes a space as a plus sign. */
function match(pattern: string, path: string): ReadonlyMap<string, string> | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const parameters = new Map<string, string>()
  for (const [at, part] of wanted.entries()) {
    const text = given[at] ?? ''
    if (part.startsWith('{')) parameters.set(part.slice(1, -1), decode(text))
    else if (part !== text) return undefined
  }
  return parameters
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new DomainError('INVALID_REQUEST', 'the path has a % that is not part of an escape')
  }
}

async function toErrorModel(response: Response): Promise<Response> {
  const problem = (await response.json()) as Problem
  const { status, body } = errorModel(problem)
  const headers = new Headers(response.headers)
  headers.set('Content-Type', 'application/json')
  return new Response(body, { status, headers })
}
