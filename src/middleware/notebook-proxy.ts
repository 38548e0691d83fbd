import type { Context, Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { DomainError } from '../domain/errors.ts'
import type { Caller } from '../domain/roles.ts'
import { notebookBasePath } from '../notebooks/notebook-path.ts'
import type { NotebookTarget, NotebookTargets } from '../notebooks/notebook-target.ts'
import type { Isolation } from '../notebooks/proxy/notebook-policy.ts'
import { proxyPath, withoutToken } from '../notebooks/proxy/proxy-path.ts'
import { publicLocation } from '../notebooks/proxy/public-location.ts'
import { upstreamHeaders } from '../notebooks/proxy/request-headers.ts'
import { fetchesServiceWorker, isPlainlyFramed, originRefusal } from '../notebooks/proxy/request-rules.ts'
import { clientHeaders } from '../notebooks/proxy/response-headers.ts'
import type { RelaySettings } from '../notebooks/proxy/socket-relay.ts'
import {
  type NotebookUpstream,
  UpstreamError,
  type UpstreamFailure,
  type UpstreamResponse,
} from '../notebooks/proxy/upstream.ts'
import type { Logger } from '../services/logger.ts'
import type { AppEnv } from './app-env.ts'
import { authenticate, type AuthenticateOptions, isUpgrade } from './authenticate.ts'
import { HttpError } from './http-error.ts'
import { notebookPages } from './notebook-pages.ts'
import { createNotebookSockets, type NotebookSockets } from './notebook-sockets.ts'
import { isLoopbackHost } from './origin-guard.ts'
import { requireRole } from './require-role.ts'

/** Notebooks, where there is a cluster for them; elsewhere their paths do not exist. */
export interface AvailableTargets extends NotebookTargets {
  available(): boolean
}

/** What the proxy reaches notebooks with. */
export interface NotebookProxyDeps {
  readonly targets: AvailableTargets
  readonly upstream: NotebookUpstream
  /** Replaces times of WebSockets in tests. */
  readonly relay?: Partial<RelaySettings>
}

export interface NotebookProxyOptions extends NotebookProxyDeps {
  readonly mode: 'token' | 'off'
  readonly allowedOrigins: readonly string[]
  readonly log: Logger
  readonly isolation: Isolation
}

/** Mounts what stands below `/notebook/`. */
export function mountNotebookProxy(app: Hono<AppEnv>, options: NotebookProxyOptions & AuthenticateOptions): void {
  // JupyterLab finds the token of its server in its page, and shows it with every request; here it is no credential.
  const identify = authenticate({ ...options, foreignScheme: 'token' })
  app.use('/notebook/*', notebookPages(), existing(options.targets), identify, notebookProxy(options))
}

function existing(targets: AvailableTargets) {
  return createMiddleware<AppEnv>(async function requireCluster(c, next) {
    if (!targets.available()) throw new DomainError('NOT_FOUND', `no route ${c.req.path}`)
    await next()
  })
}

/** A request that may reach the caller's notebook. */
export interface AdmittedRequest {
  readonly caller: Caller
  readonly requested: URL
  /** As the client named it; checked to be a host and nothing else. */
  readonly host: string
  readonly secure: boolean
  /** Path and query for the notebook. */
  readonly path: string
}

const HOST = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i
/** Methods that are about the proxy and not about what is behind it (RFC 9110, sections 9.3.6 and 9.3.8). */
const REFUSED_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/**
 * `/notebook/{user_id}/*`: HTTP and WebSockets to the caller's own notebook (spec, sections 5 and 6). Who calls comes
 * first, then whose notebook it is, then where the request comes from; only then is looked whether there is a notebook.
 */
export function notebookProxy(options: NotebookProxyOptions) {
  const allowed = new Set(options.allowedOrigins)
  const sockets = createNotebookSockets(options)
  return createMiddleware<AppEnv>(async function proxyToNotebook(c) {
    const admitted = admit(c, options, allowed)
    if (admitted instanceof Response) return admitted
    const { user } = admitted.caller
    const target = requireReady(await options.targets.targetOf(user, c.req.raw.signal))
    try {
      if (isUpgrade(c)) return await openSocket(c, { admitted, target, sockets, options })
      return await forward(c, { admitted, target, sockets, options })
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      options.log.warn('a notebook failed', { request_id: c.get('requestId'), user, error })
      throw httpErrorOf(error.failure)
    }
  })
}

function admit(
  c: Context<AppEnv>,
  { mode, isolation }: NotebookProxyOptions,
  allowed: ReadonlySet<string>,
): AdmittedRequest | Response {
  const caller = c.get('caller')
  requireRole(caller, 'DataEngineer')
  const { raw, method } = c.req
  const requested = new URL(raw.url)
  const judged = proxyPath(requested.pathname, caller?.user ?? '')
  if (caller === undefined || judged.kind === 'foreign') {
    throw new DomainError('FORBIDDEN', 'the path must name the notebook of its caller')
  }
  const host = requireHost(c, mode)
  const bearer = caller.via !== 'session'
  const refusal = originRefusal({ method, upgrade: isUpgrade(c), headers: raw.headers, host, bearer }, allowed)
  if (refusal !== undefined) throw new DomainError('FORBIDDEN', refusal)
  if (isolation === 'path' && fetchesServiceWorker(raw.headers)) {
    throw new DomainError('FORBIDDEN', 'a service worker of a notebook would answer for the service')
  }
  if (REFUSED_METHODS.has(method)) {
    throw new HttpError(405, 'METHOD_NOT_ALLOWED', 'this is no method for a notebook', { Allow: 'GET, HEAD, POST' })
  }
  if (judged.kind === 'malformed') throw new DomainError('INVALID_REQUEST', 'the path is not plain')
  if (!isPlainlyFramed(raw.headers)) throw new DomainError('INVALID_REQUEST', 'the length of the body is not plain')
  if (judged.kind === 'unfinished') return redirect(notebookBasePath(caller.user) + withoutToken(requested.search))
  return { caller, requested, host, secure: isSecure(c), path: judged.path + withoutToken(requested.search) }
}

function redirect(location: string): Response {
  return new Response(null, { status: 308, headers: { Location: location } })
}

function requireHost(c: Context<AppEnv>, mode: 'token' | 'off'): string {
  const host = c.req.header('host') ?? new URL(c.req.url).host
  if (!HOST.test(host)) throw new DomainError('INVALID_REQUEST', 'the host is not one')
  if (mode === 'off' && !isLoopbackHost(host)) {
    throw new DomainError('FORBIDDEN', 'the service is asked for under a foreign name')
  }
  return host
}

function isSecure(c: Context<AppEnv>): boolean {
  return c.req.url.startsWith('https:') || c.req.header('x-forwarded-proto') === 'https'
}

function requireReady(target: NotebookTarget | undefined): NotebookTarget {
  if (target === undefined) throw new DomainError('NOT_FOUND', 'no notebook runs: start one first')
  if (target.ready) return target
  throw new HttpError(503, 'NOTEBOOK_NOT_READY', 'the notebook is starting', { 'Retry-After': '3' })
}

interface Passage {
  readonly admitted: AdmittedRequest
  readonly target: NotebookTarget
  readonly sockets: NotebookSockets
  readonly options: NotebookProxyOptions
}

async function forward(c: Context<AppEnv>, { admitted, target, options }: Passage): Promise<Response> {
  const { raw, method } = c.req
  if (method !== 'GET' && method !== 'HEAD') options.targets.touched(admitted.caller.user)
  const body = hasBody(raw) ? raw.body : null
  const answer = await options.upstream.request({
    baseUrl: target.baseUrl,
    method,
    path: admitted.path,
    headers: headersFor(raw.headers, { admitted, target }, body !== null),
    body,
    signal: raw.signal,
  })
  return relayed(c, answer, { admitted, target, isolation: options.isolation })
}

/** Both runtimes drop the body of a GET but keep what it said about its length; Node has a stream for every POST. */
function hasBody({ headers, body, method }: Request): boolean {
  if (body === null || method === 'GET' || method === 'HEAD') return false
  return headers.get('content-length') !== '0'
}

async function openSocket(c: Context<AppEnv>, { admitted, target, sockets, options }: Passage): Promise<Response> {
  const upgrade = c.env?.upgrade
  if (upgrade === undefined) {
    const headers = { Upgrade: 'websocket', Connection: 'Upgrade' }
    throw new HttpError(426, 'UPGRADE_REQUIRED', 'a WebSocket needs a GET that asks for an upgrade', headers)
  }
  const opened = await sockets.open({
    request: {
      baseUrl: target.baseUrl,
      method: 'GET',
      path: admitted.path,
      headers: headersFor(c.req.raw.headers, { admitted, target }, false),
      signal: c.req.raw.signal,
    },
    incoming: c.req.raw.headers,
    caller: admitted.caller,
    checkCaller: c.get('checkCaller'),
    upgrade,
  })
  if (opened instanceof Response) return opened
  return relayed(c, opened, { admitted, target, isolation: options.isolation })
}

function headersFor(incoming: Headers, { admitted, target }: Pick<Passage, 'admitted' | 'target'>, withBody: boolean) {
  const { host, secure, caller } = admitted
  const prefix = notebookBasePath(caller.user)
  return upstreamHeaders(incoming, { host, secure, prefix, token: target.token }, withBody)
}

interface RelayedFrom {
  readonly admitted: AdmittedRequest
  readonly target: NotebookTarget
  readonly isolation: Isolation
}

/** A notebook's answer as the client's. */
function relayed(c: Context<AppEnv>, answer: UpstreamResponse, from: RelayedFrom): Response {
  const { admitted, target, isolation } = from
  const { user } = admitted.caller
  const headers = clientHeaders(answer.headers, { isolation, host: admitted.host, prefix: notebookBasePath(user) })
  const location = headers.get('location')
  if (location !== null) {
    const { requested } = admitted
    const leadsTo = publicLocation(location, { user, requested, baseUrl: target.baseUrl, method: c.req.method })
    if (leadsTo === undefined) {
      void answer.body?.cancel()
      throw new HttpError(502, 'NOTEBOOK_FAILED', 'the notebook leads to where it may not')
    }
    headers.set('location', leadsTo)
  }
  c.set('relayed', true)
  return new Response(answer.body, { status: answer.status, headers })
}

function httpErrorOf(failure: UpstreamFailure): HttpError {
  if (failure === 'slow') return new HttpError(504, 'NOTEBOOK_TIMEOUT', 'the notebook does not answer in time')
  const what = failure === 'unreachable' ? 'cannot be reached' : 'broke its answer off'
  return new HttpError(502, 'NOTEBOOK_FAILED', `the notebook ${what}`)
}
