import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { DomainError } from '../domain/errors.ts'
import { notebookBasePath } from '../notebooks/notebook-path.ts'
import type { NotebookTarget, NotebookTargets } from '../notebooks/notebook-target.ts'
import type { Isolation } from '../notebooks/proxy/notebook-policy.ts'
import { publicLocation } from '../notebooks/proxy/public-location.ts'
import { upstreamHeaders } from '../notebooks/proxy/request-headers.ts'
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
import { isUpgrade } from './authenticate.ts'
import { HttpError } from './http-error.ts'
import { type AdmissionRules, admit, type AdmittedRequest } from './notebook-admission.ts'
import { createNotebookSockets, type NotebookSockets } from './notebook-sockets.ts'

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

export interface NotebookProxyOptions extends NotebookProxyDeps, AdmissionRules {
  readonly log: Logger
}

/**
 * `/notebook/{user_id}/*`: HTTP and WebSockets to the caller's own notebook (spec, sections 5 and 6). Who calls comes
 * first, then whose notebook it is, then where the request comes from; only then is looked whether there is a notebook.
 */
export function notebookProxy(options: NotebookProxyOptions) {
  const sockets = createNotebookSockets(options)
  return createMiddleware<AppEnv>(async function proxyToNotebook(c) {
    const admitted = await admit(c, options)
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
  return headers.has('transfer-encoding') || Number(headers.get('content-length')) > 0
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
