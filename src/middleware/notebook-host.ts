import type { Context, MiddlewareHandler } from 'hono'
import { createMiddleware } from 'hono/factory'
import { serialize } from 'hono/utils/cookie'
import { DomainError } from '../domain/errors.ts'
import { NOTEBOOK_PREFIX, notebookBasePath } from '../notebooks/notebook-path.ts'
import type { NotebookHosts } from '../notebooks/proxy/notebook-hosts.ts'
import { proxyPath, withoutToken } from '../notebooks/proxy/proxy-path.ts'
import { originRefusal, wantsPage } from '../notebooks/proxy/request-rules.ts'
import type { NotebookHandover } from '../services/identity/notebook-handover.ts'
import type { AppEnv } from './app-env.ts'
import { isUpgrade, onlyCookie, SESSION_COOKIE } from './authenticate.ts'
import type { AdmittedRequest } from './notebook-admission.ts'

/** Hosts of notebooks, and how a session gets there. */
export interface NotebookOrigins {
  readonly hosts: NotebookHosts
  readonly handover: NotebookHandover
}

/** Where a ticket is taken; no path of a notebook begins like this. */
const ENTRANCE = '/.lockhouse/enter'

/** Runs a step on the hosts of notebooks only. */
export function onNotebookHosts({ hosts }: NotebookOrigins, step: MiddlewareHandler<AppEnv>) {
  return createMiddleware<AppEnv>(async function onNotebookHost(c, next) {
    return hosts.includes(hostOf(c)) ? step(c, next) : next()
  })
}

/**
 * Establishes who calls on the host of a notebook: by its own cookie and nothing else, for no credential of the service
 * belongs here. A ticket gets its bearer in.
 */
export function identifyOnHost(origins: NotebookOrigins) {
  return createMiddleware<AppEnv>(async function identify(c, next) {
    const { path, method } = c.req
    if (path === ENTRANCE && method === 'GET' && !isUpgrade(c)) return enter(c, origins)
    if (!path.startsWith(NOTEBOOK_PREFIX)) throw new DomainError('NOT_FOUND', `no route ${path}`)
    const host = hostOf(c)
    const secret = onlyCookie(c.req.header('cookie'), cookieName(origins.hosts))
    const checkCaller = async () => (secret === undefined ? undefined : origins.handover.check(secret, host))
    c.set('checkCaller', checkCaller)
    c.set('caller', await checkCaller())
    return next()
  })
}

/**
 * What becomes of a request to the service's own host where notebooks have others: a page is sent there with a ticket,
 * a program with a token passes, for it shows nothing to anybody, and whatever else a browser asks for is refused.
 */
export function elsewhere({ hosts, handover }: NotebookOrigins) {
  return async (c: Context<AppEnv>, { caller, path }: AdmittedRequest): Promise<Response | undefined> => {
    const { headers } = c.req.raw
    const { user, via } = caller
    if (via !== 'session' && !headers.has('sec-fetch-site') && !headers.has('origin')) return undefined
    const secret = onlyCookie(headers.get('cookie') ?? undefined, SESSION_COOKIE)
    if (via !== 'session' || secret === undefined || c.req.method !== 'GET' || isUpgrade(c) || !wantsPage(headers)) {
      throw new DomainError('FORBIDDEN', 'notebooks have hosts of their own')
    }
    const url = new URL(ENTRANCE, hosts.originOf(user))
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
  const arrival = await handover.redeem(searchParams.get('ticket') ?? '', host, c.get('requestId'))
  if (arrival === undefined) throw new DomainError('UNAUTHENTICATED', 'the ticket is not good, or not any more')
  const { caller, secret } = arrival
  c.set('caller', caller)
  const cookie = serialize(cookieName(hosts), secret, {
    path: '/',
    httpOnly: true,
    secure: hosts.secure,
    sameSite: 'Lax', // this answer leads on, and what another site has led to carries no stricter one
  })
  const headers = {
    Location: destination(searchParams.get('to') ?? '', caller.user),
    'Set-Cookie': cookie,
    'Cache-Control': 'no-store',
  }
  return new Response(null, { status: 303, headers })
}

/** A path of the user's notebook; its start when it is none. */
function destination(to: string, user: string): string {
  const url = URL.parse(to, 'http://notebook')
  const judged = url?.host === 'notebook' ? proxyPath(url.pathname, user) : undefined
  return judged?.kind === 'own' ? judged.path + withoutToken(url?.search ?? '') : notebookBasePath(user)
}

/** With the prefix, no other host of the same site can set it (RFC 6265bis, section 4.1.3.2). */
function cookieName({ secure }: NotebookHosts): string {
  return secure ? '__Host-lockhouse_notebook' : 'lockhouse_notebook'
}

function hostOf(c: Context<AppEnv>): string {
  return (c.req.header('host') ?? new URL(c.req.url).host).toLowerCase()
}
