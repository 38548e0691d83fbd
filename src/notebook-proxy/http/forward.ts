import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { DomainError } from '../../domain/errors.ts'
import { hostedNotebookPath } from '../../notebooks/path.ts'
import type { NotebookTarget, NotebookTargets } from '../../notebooks/target.ts'
import { publicLocation } from '../headers/public-location.ts'
import { upstreamHeaders } from '../headers/request-headers.ts'
import { clientHeaders } from '../headers/response-headers.ts'
import type { RelaySettings } from '../socket/relay.ts'
import { type NotebookUpstream, UpstreamError, type UpstreamFailure, type UpstreamResponse } from '../upstream.ts'
import type { Logger } from '../../services/logger.ts'
import type { AppEnv } from '../../middleware/app-env.ts'
import { HttpError } from '../../middleware/http-error.ts'
import { type AdmissionRules, admit, type AdmittedRequest } from '../admission/admit.ts'
import { createNotebookSockets, type NotebookSockets } from '../socket/upgrade.ts'

/** Notebook targets; without a cluster the notebook paths do not exist. */
export interface AvailableTargets extends NotebookTargets {
  available(): boolean
}

/** Dependencies of the notebook proxy. */
export interface NotebookProxyDeps {
  readonly targets: AvailableTargets
  readonly upstream: NotebookUpstream
  /** Path of the service on its host, such as `/lake`; empty for the whole host. The app itself sees paths without it. */
  readonly basePath: string
  /** WebSocket timeouts; tests shorten them. */
  readonly relay?: Partial<RelaySettings>
}

export interface NotebookProxyOptions extends NotebookProxyDeps, AdmissionRules {
  readonly log: Logger
}

/**
 * `/notebook/{user_id}/*`: HTTP and WebSockets to the caller's own notebook (docs/api.md#notebooks). Checks the caller,
 * then the notebook's owner, then the request's origin, and only then whether there is a notebook.
 */
export function notebookProxy(options: NotebookProxyOptions) {
  const sockets = createNotebookSockets(options)
  return createMiddleware<AppEnv>(async function proxyToNotebook(c) {
    const admitted = await admit(c, options)
    if (admitted instanceof Response) return admitted
    const { user } = admitted.caller
    const target = requireReady(await options.targets.targetOf(user, c.req.raw.signal))
    try {
      if (c.env.isUpgrade) return await openSocket(c, { admitted, target, sockets, options })
      return await forward(c, { admitted, target, sockets, options })
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      options.log.warn('a notebook request failed', { request_id: c.env.requestId, user, error })
      throw httpErrorOf(error.failure)
    }
  })
}

function requireReady(target: NotebookTarget | undefined): NotebookTarget {
  if (target === undefined) throw new DomainError('NOT_FOUND', 'no notebook is running: start one first')
  if (target.ready) return target
  throw new HttpError('NOTEBOOK_NOT_READY', 'the notebook is starting', { 'Retry-After': '3' })
}

interface ProxyRequest {
  readonly admitted: AdmittedRequest
  readonly target: NotebookTarget
  readonly sockets: NotebookSockets
  readonly options: NotebookProxyOptions
}

async function forward(c: Context<AppEnv>, { admitted, target, options }: ProxyRequest): Promise<Response> {
  const { raw, method } = c.req
  if (method !== 'GET' && method !== 'HEAD') options.targets.touched(admitted.caller.user)
  const body = hasBody(raw) ? raw.body : null
  const answer = await options.upstream.request({
    baseUrl: target.baseUrl,
    method,
    path: options.basePath + admitted.path,
    headers: headersFor(raw.headers, { admitted, target, options }, body !== null),
    body,
    signal: raw.signal,
  })
  return toClientResponse(c, answer, { admitted, target, options })
}

/** Both runtimes drop the body of a GET but keep its length headers; Node has a stream for every POST. */
function hasBody({ headers, body, method }: Request): boolean {
  if (body === null || method === 'GET' || method === 'HEAD') return false
  return headers.has('transfer-encoding') || Number(headers.get('content-length')) > 0
}

async function openSocket(c: Context<AppEnv>, { admitted, target, sockets, options }: ProxyRequest): Promise<Response> {
  const upgrade = c.env.upgrade
  if (upgrade === undefined) {
    const headers = { Upgrade: 'websocket', Connection: 'Upgrade' }
    throw new HttpError('UPGRADE_REQUIRED', 'a WebSocket needs a GET request with an Upgrade header', headers)
  }
  const opened = await sockets.open({
    request: {
      baseUrl: target.baseUrl,
      method: 'GET',
      path: options.basePath + admitted.path,
      headers: headersFor(c.req.raw.headers, { admitted, target, options }, false),
      signal: c.req.raw.signal,
    },
    incoming: c.req.raw.headers,
    caller: admitted.caller,
    checkCaller: c.env.checkCaller,
    upgrade,
  })
  if (opened instanceof Response) return opened
  return toClientResponse(c, opened, { admitted, target, options })
}

function headersFor(
  incoming: Headers,
  { admitted, target, options }: Omit<ProxyRequest, 'sockets'>,
  withBody: boolean,
) {
  const { host, secure, caller } = admitted
  const prefix = hostedNotebookPath(options.basePath, caller.user)
  return upstreamHeaders(incoming, { host, secure, prefix, token: target.token }, withBody)
}

/** The notebook's response, adapted for the client. */
function toClientResponse(c: Context<AppEnv>, answer: UpstreamResponse, from: Omit<ProxyRequest, 'sockets'>): Response {
  const { admitted, target, options } = from
  const { isolation, basePath } = options
  const { user } = admitted.caller
  const headers = clientHeaders(answer.headers, {
    isolation,
    host: admitted.host,
    basePath,
    prefix: hostedNotebookPath(basePath, user),
  })
  const location = headers.get('location')
  if (location !== null) {
    const { requested } = admitted
    const clientLocation = publicLocation(location, {
      user,
      requested,
      basePath,
      baseUrl: target.baseUrl,
      method: c.req.method,
    })
    if (clientLocation === undefined) {
      void answer.body?.cancel()
      throw new HttpError('NOTEBOOK_FAILED', 'the notebook sent a redirect that is not allowed')
    }
    headers.set('location', clientLocation)
  }
  c.env.relayed = true
  return new Response(answer.body, { status: answer.status, headers })
}

function httpErrorOf(failure: UpstreamFailure): HttpError {
  if (failure === 'slow') return new HttpError('NOTEBOOK_TIMEOUT', 'the notebook did not respond in time')
  const what = failure === 'unreachable' ? 'cannot be reached' : 'closed the connection early'
  return new HttpError('NOTEBOOK_FAILED', `the notebook ${what}`)
}
