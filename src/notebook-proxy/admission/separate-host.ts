import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { serialize } from 'hono/utils/cookie'
import { DomainError } from '../../domain/errors.ts'
import type { SignedInUser } from '../../domain/roles.ts'
import { NOTEBOOK_PREFIX, notebookBasePath } from '../../notebooks/path.ts'
import type { NotebookHosts } from './hosts.ts'
import { proxyPath, withoutToken } from '../proxy-path.ts'
import { originRefusal, wantsPage } from './request-rules.ts'
import type { NotebookHandover } from '../../services/identity/notebook-handover.ts'
import type { AppEnv } from '../../middleware/app-env.ts'
import { type AuthenticateOptions, identify, onlyCookie, sessionSecret } from '../../middleware/authenticate.ts'
import { HttpError } from '../../middleware/http-error.ts'
import type { AdmittedRequest } from './admit.ts'

/** Notebook hosts, and how a session is handed over to them. */
export interface NotebookOrigins {
  /** Path of the service on each host, also on those of notebooks. */
  readonly basePath: string
  readonly hosts: NotebookHosts
  readonly handover: NotebookHandover
}

/** Path that accepts tickets; no notebook path begins like this. */
const ENTER_PATH = '/.lockhouse/enter'

/**
 * Identifies the caller on a notebook host, by that host's own cookie only: credentials of the service are not accepted
 * here. A ticket starts the session.
 */
export function identifyOnHost(origins: NotebookOrigins, authentication: AuthenticateOptions) {
  return createMiddleware<AppEnv>(async function identifyVisitor(c, next) {
    const { path, method } = c.req
    const isOff = authentication.mode === 'off'
    if (path === ENTER_PATH && method === 'GET' && !c.env.isUpgrade && !isOff) return enter(c, origins)
    if (!path.startsWith(NOTEBOOK_PREFIX)) throw new DomainError('NOT_FOUND', `there is no route ${path}`)
    if (isOff) {
      await identify(c.env, authentication)
      return next()
    }
    const host = hostOf(c)
    const secret = onlyCookie(c.req.header('cookie'), cookieName(isSecureHost(c, origins)))
    const checkCaller = async () => (secret === undefined ? undefined : origins.handover.check(secret, host))
    c.env.checkCaller = checkCaller
    c.env.caller = await checkCaller()
    return next()
  })
}

/**
 * Handles a notebook request on the service's host when notebooks have separate hosts: a page is redirected to the
 * notebook host, with a ticket if there is a session; a program passes because it renders nothing; every other browser
 * request is refused. Throws `UNSUPPORTED` where no notebook host belongs to the host of the request.
 */
export function redirectToNotebookHost({ hosts, handover, basePath }: NotebookOrigins) {
  return async (c: Context<AppEnv>, admitted: AdmittedRequest): Promise<Response | undefined> => {
    const { caller, path } = admitted
    const { headers } = c.req.raw
    if (isProgram(caller, c.env.isUpgrade, headers)) return undefined
    const hasIdentity = caller.via === 'session' || caller.via === 'off'
    if (!hasIdentity || c.req.method !== 'GET' || c.env.isUpgrade || !wantsPage(headers)) {
      throw new DomainError('FORBIDDEN', 'notebooks are served on separate hosts: open the notebook from the service')
    }
    const origin = hosts.originOf(caller.user, admitted)
    if (origin === undefined) throw new HttpError('UNSUPPORTED', noNotebookHost(admitted.host))
    if (caller.via === 'off') return redirect(origin + basePath + path)
    const secret = sessionSecret(headers.get('cookie') ?? undefined, c.env) ?? ''
    const url = new URL(basePath + ENTER_PATH, origin)
    url.searchParams.set('ticket', await handover.issue(secret, url.host))
    url.searchParams.set('to', path)
    return redirect(url.href)
  }
}

/**
 * Whether a request renders nothing on the service's host. Browsers never add a token by themselves, and many programs
 * send an origin with a WebSocket. Without authentication, what asks for no page counts as a program.
 */
function isProgram({ via }: SignedInUser, isUpgrade: boolean, headers: Headers): boolean {
  const hasToken = via === 'token' || via === 'jwt'
  if (hasToken && isUpgrade) return true
  if (via === 'session' || headers.has('sec-fetch-site') || headers.has('origin')) return false
  return hasToken || !wantsPage(headers)
}

function noNotebookHost(host: string): string {
  return (
    `Notebooks need a host of their own, and none is configured for ${host}. Set NOTEBOOK_HOST_TEMPLATE, such as ` +
    'https://{slug}.nb.example, or open Lockhouse at localhost. NOTEBOOK_ISOLATION=path allows notebooks on this host; ' +
    'read about its risk in docs/notebooks-isolation.md first.'
  )
}

function redirect(location: string): Response {
  return new Response(null, { status: 303, headers: { Location: location, 'Cache-Control': 'no-store' } })
}

async function enter(c: Context<AppEnv>, origins: NotebookOrigins): Promise<Response> {
  const { handover } = origins
  const host = hostOf(c)
  const request = { method: 'GET', upgrade: false, headers: c.req.raw.headers, host, bearer: false }
  const refusal = originRefusal(request, new Set())
  if (refusal !== undefined) throw new DomainError('FORBIDDEN', refusal)
  const { searchParams } = new URL(c.req.url)
  const arrival = await handover.redeem(searchParams.get('ticket') ?? '', host, c.env.requestId)
  if (arrival === undefined) throw new DomainError('UNAUTHENTICATED', 'ticket invalid or expired')
  const { caller, secret } = arrival
  c.env.caller = caller
  const secure = isSecureHost(c, origins)
  const cookie = serialize(cookieName(secure), secret, {
    path: '/',
    httpOnly: true,
    secure,
    sameSite: 'Lax', // a `Strict` cookie would not be sent with the redirect, which started on another site
  })
  const headers = {
    Location: destination(searchParams.get('to') ?? '', caller.user),
    'Set-Cookie': cookie,
    'Cache-Control': 'no-store',
  }
  return new Response(null, { status: 303, headers })
}

/** The path when it is inside the user's notebook; otherwise the notebook's base path. */
function destination(to: string, user: string): string {
  const url = URL.parse(to, 'http://notebook')
  const parsed = url?.host === 'notebook' ? proxyPath(url.pathname, user) : undefined
  return parsed?.kind === 'own' ? parsed.path + withoutToken(url?.search ?? '') : notebookBasePath(user)
}

/** The `__Host-` prefix prevents other hosts of the same site from setting it (RFC 6265bis, section 4.1.3.2). */
function cookieName(secure: boolean): string {
  return secure ? '__Host-lockhouse_notebook' : 'lockhouse_notebook'
}

function isSecureHost(c: Context<AppEnv>, { hosts }: NotebookOrigins): boolean {
  return hosts.isSecure({ host: hostOf(c), secure: c.env.isSecure })
}

function hostOf(c: Context<AppEnv>): string {
  return (c.req.header('host') ?? new URL(c.req.url).host).toLowerCase()
}
