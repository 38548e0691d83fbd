import type { Context, MiddlewareHandler } from 'hono'
import { createMiddleware } from 'hono/factory'
import { serialize } from 'hono/utils/cookie'
import { DomainError } from '../../domain/errors.ts'
import { NOTEBOOK_PREFIX, notebookBasePath } from '../../notebooks/path.ts'
import type { NotebookHosts } from './hosts.ts'
import { proxyPath, withoutToken } from '../http/proxy-path.ts'
import { originRefusal, wantsPage } from './request-rules.ts'
import type { NotebookHandover } from '../../services/identity/notebook-handover.ts'
import type { AppEnv } from '../../middleware/app-env.ts'
import { onlyCookie, SESSION_COOKIE } from '../../middleware/authenticate.ts'
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

/** Runs a middleware on notebook hosts only. */
export function onNotebookHosts({ hosts }: NotebookOrigins, step: MiddlewareHandler<AppEnv>) {
  return createMiddleware<AppEnv>(async function onNotebookHost(c, next) {
    return hosts.includes(hostOf(c)) ? step(c, next) : next()
  })
}

/**
 * Identifies the caller on a notebook host, by that host's own cookie only: credentials of the service are not accepted
 * here. A ticket starts the session.
 */
export function identifyOnHost(origins: NotebookOrigins) {
  return createMiddleware<AppEnv>(async function identify(c, next) {
    const { path, method } = c.req
    if (path === ENTER_PATH && method === 'GET' && !c.env.isUpgrade) return enter(c, origins)
    if (!path.startsWith(NOTEBOOK_PREFIX)) throw new DomainError('NOT_FOUND', `there is no route ${path}`)
    const host = hostOf(c)
    const secret = onlyCookie(c.req.header('cookie'), cookieName(origins.hosts))
    const checkCaller = async () => (secret === undefined ? undefined : origins.handover.check(secret, host))
    c.env.checkCaller = checkCaller
    c.env.caller = await checkCaller()
    return next()
  })
}

/**
 * Handles a notebook request on the service's host when notebooks have separate hosts: a page is redirected to the
 * notebook host with a ticket, a program with a token passes because it renders nothing, and every other browser request
 * is refused.
 */
export function redirectToNotebookHost({ hosts, handover, basePath }: NotebookOrigins) {
  return async (c: Context<AppEnv>, { caller, path }: AdmittedRequest): Promise<Response | undefined> => {
    const { headers } = c.req.raw
    const { user, via } = caller
    if (via !== 'session' && !headers.has('sec-fetch-site') && !headers.has('origin')) return undefined
    const secret = onlyCookie(headers.get('cookie') ?? undefined, SESSION_COOKIE)
    if (via !== 'session' || secret === undefined || c.req.method !== 'GET' || c.env.isUpgrade || !wantsPage(headers)) {
      throw new DomainError('FORBIDDEN', 'notebooks are served on separate hosts: open the notebook from the service')
    }
    const url = new URL(basePath + ENTER_PATH, hosts.originOf(user))
    url.searchParams.set('ticket', await handover.issue(secret, hosts.hostOf(user)))
    url.searchParams.set('to', path)
    return new Response(null, { status: 303, headers: { Location: url.href, 'Cache-Control': 'no-store' } })
  }
}

async function enter(c: Context<AppEnv>, { hosts, handover }: NotebookOrigins): Promise<Response> {
  const host = hostOf(c)
  const request = { method: 'GET', upgrade: false, headers: c.req.raw.headers, host, bearer: false }
  const refusal = originRefusal(request, new Set())
  if (refusal !== undefined) throw new DomainError('FORBIDDEN', refusal)
  const { searchParams } = new URL(c.req.url)
  const arrival = await handover.redeem(searchParams.get('ticket') ?? '', host, c.env.requestId)
  if (arrival === undefined) throw new DomainError('UNAUTHENTICATED', 'ticket invalid or expired')
  const { caller, secret } = arrival
  c.env.caller = caller
  const cookie = serialize(cookieName(hosts), secret, {
    path: '/',
    httpOnly: true,
    secure: hosts.secure,
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
function cookieName({ secure }: NotebookHosts): string {
  return secure ? '__Host-lockhouse_notebook' : 'lockhouse_notebook'
}

function hostOf(c: Context<AppEnv>): string {
  return (c.req.header('host') ?? new URL(c.req.url).host).toLowerCase()
}
